//! Names, labels and owners of children.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::Resource;
use std::collections::BTreeMap;

/// The controller reference to an object that the server has stored, as Go's `SetControllerReference` writes it: the
/// children are deleted with it, and its deletion in the foreground waits for them.
#[must_use]
pub fn controller_of<K: Resource<DynamicType = ()>>(object: &K) -> OwnerReference {
    OwnerReference { controller: Some(true), block_owner_deletion: Some(true), ..owner_of(object) }
}

/// A reference to one of several owners, none of which controls the child.
#[must_use]
pub fn owner_of<K: Resource<DynamicType = ()>>(object: &K) -> OwnerReference {
    OwnerReference {
        api_version: K::api_version(&()).into_owned(),
        kind: K::kind(&()).into_owned(),
        name: object.meta().name.clone().unwrap_or_default(),
        uid: object.meta().uid.clone().unwrap_or_default(),
        controller: None,
        block_owner_deletion: None,
    }
}

/// Labels from pairs.
#[must_use]
pub fn labels<K: Into<String>, V: Into<String>>(
    pairs: impl IntoIterator<Item = (K, V)>,
) -> BTreeMap<String, String> {
    pairs.into_iter().map(|(key, value)| (key.into(), value.into())).collect()
}

/// Metadata of a child. A cluster-scoped one has no namespace.
#[must_use]
pub fn child(
    name: impl Into<String>,
    namespace: Option<&str>,
    labels: BTreeMap<String, String>,
    owner: OwnerReference,
) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.into()),
        namespace: namespace.map(Into::into),
        labels: Some(labels),
        owner_references: Some(vec![owner]),
        ..ObjectMeta::default()
    }
}
