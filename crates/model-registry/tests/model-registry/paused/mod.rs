//! Scenarios in which the test says what time it is, or what the cluster's own controllers found out. On a real control
//! plane they speak for themselves, so these run on the plane only (`hack/tiers/model-registry` leaves them out).

mod claims;
mod migration;
mod status;
