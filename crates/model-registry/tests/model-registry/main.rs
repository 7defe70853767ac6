//! The operator's tests: objects against the specification's cases, then the whole operator on an API server in this
//! process, under just the rights that follow from its wiring.

mod admission;
mod catalog;
mod faults;
mod migration;
mod rendered;
mod scenarios;
mod status;
mod support;
mod takeover;
