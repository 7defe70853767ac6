//! MLflow's groups: `mlflow.opendatahub.io` (the server) and `mlflow.kubeflow.org` (a namespace's own artifact store).

mod config;
mod server;

pub use config::*;
pub use server::*;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use crate::crd;

/// The definitions of this system.
pub fn crds() -> Vec<CustomResourceDefinition> {
    vec![crd::of::<MLflow>(), crd::of::<MLflowConfig>()]
}
