//! What needs the real control plane, or programs built with it: run by hack/tiers/kubernetes.

#![allow(clippy::print_stdout, reason = "counts, for whoever judges other samples")]

#[path = "../support/mod.rs"]
#[allow(dead_code, reason = "shared with the conformance suite, which uses the rest")]
mod support;

mod kubectl;
mod openapi;
mod python;
mod samples;
