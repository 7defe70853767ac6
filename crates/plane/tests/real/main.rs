//! What needs the real control plane, or programs built with it: run by hack/tiers/kubernetes.

mod kubectl;
mod openapi;
