//! The API types of Quintet's five systems, one module per group; [`foreign`] holds the kinds of others that we only
//! use, with just the fields we use.
//!
//! A custom resource is written once, as a Rust type. [`crd::of`] turns it into the CustomResourceDefinition that
//! `quintet crds` prints and that tests install; `tests/parity.rs` holds every definition against the facts of the
//! original's (`facts/`).

#![allow(unreachable_pub)] // KubeSchema copies each type, `pub` and all, into a function
#![allow(clippy::duplicated_attributes)] // one `printcolumn` or `validation` per line

pub mod crd;
pub mod foreign;
pub mod maas;
pub mod mlflow;
pub mod model_registry;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

/// Every CustomResourceDefinition that Quintet installs, in a fixed order.
pub fn crds() -> Vec<CustomResourceDefinition> {
    [mlflow::crds(), model_registry::crds(), maas::crds()].concat()
}
