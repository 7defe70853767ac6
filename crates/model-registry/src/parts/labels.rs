//! Labels of the objects that the operator makes.

use std::collections::BTreeMap;

use quintet_kit::{Kind, Select, Watch, parts::meta};

use crate::Config;

/// What every object that the operator makes, but one Secret, carries.
pub(crate) const CREATED_BY: (&str, &str) = ("app.kubernetes.io/created-by", OPERATOR);
/// The namespace of the registry that a cluster-scoped object is for.
pub(crate) const NAMESPACE: &str = "modelregistry.opendatahub.io/namespace";
const OPERATOR: &str = "model-registry-operator";
const INSTANCE: &str = "app.kubernetes.io/instance";

/// Labels of a family of objects: those of a registry, of its database, of the catalog.
#[derive(Clone, Debug)]
pub(crate) struct Family {
    /// Of which server.
    pub(crate) app: String,
    /// `model-registry`, for one.
    pub(crate) component: &'static str,
    /// The application's name.
    pub(crate) name: String,
    /// Its part in the whole.
    pub(crate) role: &'static str,
    /// The whole.
    pub(crate) part_of: &'static str,
}

impl Family {
    /// Labels of one object of the family.
    pub(crate) fn labels(&self, instance: &str) -> BTreeMap<String, String> {
        let mut labels = self.without_instance();
        labels.insert(INSTANCE.into(), instance.into());
        labels
    }

    /// The same, for objects that the original gives no instance.
    pub(crate) fn without_instance(&self) -> BTreeMap<String, String> {
        meta::labels([
            ("app", self.app.as_str()),
            ("component", self.component),
            ("app.kubernetes.io/name", &self.name),
            ("app.kubernetes.io/component", self.role),
            CREATED_BY,
            ("app.kubernetes.io/part-of", self.part_of),
            ("app.kubernetes.io/managed-by", OPERATOR),
        ])
    }
}

/// What selects the pods of a server or database.
pub(crate) fn selector(app: &str, component: &str, name: &str) -> BTreeMap<String, String> {
    meta::labels([("app", app), ("component", component), ("app.kubernetes.io/name", name)])
}

/// A watch on what the operator made. Registries and catalog share it.
pub(crate) fn ours<K: Kind>(config: &Config) -> Watch<K> {
    let select = match &config.namespace {
        Some(namespace) if K::is_namespaced() => Select::namespace(namespace),
        _ => Select::all(),
    };
    Watch::within(select.labels(format!("{}={}", CREATED_BY.0, CREATED_BY.1)))
}
