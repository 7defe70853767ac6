//! The specification's acceptance scenarios, through the API and under the rights that follow from the wiring: one test
//! each, named after its number, and those that follow from the specification's rules beside them.
//!
//! They run on a plane in this process, and, with `QUINTET_SCENARIOS=real` (`hack/tiers/mlflow`), on a real control plane.
//! After every step what was applied is compared with what `quintet render` gives.
//!
//! | file | about |
//! |---|---|
//! | `objects.rs` | what a resource becomes |
//! | `status.rs` | what is said about it |
//! | `bundles.rs` | CA bundles that come, go and cannot be read |
//! | `garbage_collection.rs` | the garbage collection that is switched on and off |
//! | `platform.rs` | route, console link, metrics: APIs that a cluster may lack |
//! | `others.rs` | what other people and programs do to the objects |
//! | `lifetime.rs` | how it begins and ends |
//! | `admission.rs` | what the API server refuses |
//! | `rights.rs` | what the operator may do, and none of the others had it do |

#[path = "../support/mod.rs"]
mod support;

mod admission;
mod bundles;
mod garbage_collection;
mod lifetime;
mod objects;
mod others;
mod platform;
mod rights;
mod status;

/// A condition as [`support::stage::Stage::condition`] gives it.
fn condition(status: &str, reason: &str, message: &str) -> Option<(String, String, String)> {
    Some((status.into(), reason.into(), message.into()))
}

fn ready() -> Option<(String, String, String)> {
    condition("True", "DeploymentReady", "MLflow deployment is ready and available")
}

fn complete() -> Option<(String, String, String)> {
    condition("False", "ReconcileComplete", "MLflow reconciliation completed successfully")
}

fn not_ready(ready: i32, desired: i32) -> Option<(String, String, String)> {
    let message = format!("MLflow deployment not ready: {ready}/{desired} replicas ready");
    condition("False", "DeploymentNotReady", &message)
}
