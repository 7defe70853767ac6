//! What a Kubernetes API does, one behaviour per test, over plain HTTP.
//!
//! Runs against a plane in this process; with `PLANE_CONFORMANCE=real` against a real control plane (see hack/kube); with
//! `PLANE_CONFORMANCE_KUBECONFIG=path` against any cluster. Where the two disagree, the plane is wrong: such a test is
//! `#[ignore]`d with the reason, and the real tier runs it too (`--include-ignored`).

#[path = "../support/mod.rs"]
#[allow(dead_code, reason = "shared with the recorded truths, which use the rest")]
mod support;

mod apply;
mod custom;
mod discovery;
mod lists;
mod objects;
mod openapi;
mod patches;
mod requests;
mod rights;
mod tables;
mod watches;
mod workloads;
