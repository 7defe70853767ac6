//! The model registry: `modelregistry.opendatahub.io`. Stored and reconciled is [`v1beta1`]; [`v1alpha1`] is served for
//! old clients, and [`convert`] turns the one into the other.
//!
//! The types are read as the original's are: what its definition requires and a client leaves out is as if nothing had
//! been set. Its webhook is asked before the definition, fills such fields in, and says what is wrong with the rest.

#[macro_use]
mod absent;
pub mod convert;
mod parts;
pub mod v1alpha1;
pub mod v1beta1;

pub use parts::*;
pub use v1beta1::{ModelRegistry, ModelRegistrySpec, Postgres};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::core::crd::merge_crds;

use crate::crd;

/// The definitions of this system.
pub fn crds() -> Vec<CustomResourceDefinition> {
    let versions = vec![crd::of::<v1alpha1::ModelRegistry>(), crd::of::<v1beta1::ModelRegistry>()];
    let mut merged = merge_crds(versions, "v1beta1").expect("versions of one kind");
    // The original lets an object without a specification in, to be refused by its webhook.
    let schemas = merged.spec.versions.iter_mut().filter_map(|version| version.schema.as_mut());
    for root in schemas.filter_map(|schema| schema.open_api_v3_schema.as_mut()) {
        root.required = None;
        root.properties.iter_mut().flatten().for_each(|(_, property)| property.default = None);
    }
    vec![merged]
}
