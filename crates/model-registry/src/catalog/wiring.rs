//! What the catalog's controller makes and watches: every event is about the one catalog.

use k8s_openapi::api::core::v1::{ConfigMap, ServiceAccount};
use quintet_kit::{Kind, Mapping, Select, Singleton, Watch, Wiring, Write, WritePolicy};

use super::desired::{COMPONENTS, CREATED_BY};
use crate::Config;

/// The controller's wiring. There is no object that it is for: its one key is there from the start.
pub fn wiring(config: &Config) -> Wiring<Singleton> {
    let namespace = config.namespace.as_str();
    Wiring::new(super::NAME)
        .starts_with(|_| vec![Singleton])
        .owns_by::<ServiceAccount>(ours(namespace), Mapping::always(Singleton))
        .owns_by::<ConfigMap>(ours(namespace), Mapping::always(Singleton))
        .writes(Write::of::<ServiceAccount>(WritePolicy::Apply).namespace(namespace))
        .writes(Write::of::<ConfigMap>(WritePolicy::CreateOnly).namespace(namespace))
}

/// What the operator made for the catalog.
fn ours<K: Kind>(namespace: &str) -> Watch<K> {
    let (label, value) = CREATED_BY;
    Watch::within(Select::namespace(namespace).labels(format!("component in ({COMPONENTS}),{label}={value}")))
}
