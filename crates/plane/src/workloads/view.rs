//! Reading: typed objects straight from the store, always as of now.

use std::sync::Arc;

use k8s_openapi::Metadata;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::de::DeserializeOwned;

use super::plan::is_controlled_by;
use crate::store::{Object, Store, TableId, key};

/// A kind that controllers read.
pub(super) trait Kind: Metadata<Ty = ObjectMeta> + DeserializeOwned {}
impl<K: Metadata<Ty = ObjectMeta> + DeserializeOwned> Kind for K {}

/// The store, read by type. What cannot be read as its own kind is as good as absent.
#[derive(Clone)]
pub(super) struct View(pub(super) Arc<Store>);

impl View {
    pub(super) fn get<K: Kind>(&self, namespace: &str, name: &str) -> Option<K> {
        let object = self.0.get(&table::<K>(), &key(namespace, name))?;
        typed(&object)
    }

    /// All objects of a namespace, or of all when it is empty.
    pub(super) fn list<K: Kind>(&self, namespace: &str) -> Vec<K> {
        self.0.all(&table::<K>(), namespace).iter().filter_map(|object| typed(object)).collect()
    }

    /// The objects that this one controls.
    pub(super) fn controlled<K: Kind>(&self, uid: Option<&String>) -> Vec<K> {
        let table = table::<K>();
        let owned = uid.map(|uid| self.0.dependents(uid)).unwrap_or_default();
        let objects = owned
            .iter()
            .filter(|location| location.table == table)
            .filter_map(|location| self.0.at(location));
        objects
            .filter_map(|object| typed::<K>(&object))
            .filter(|child| is_controlled_by(child.metadata(), uid))
            .collect()
    }
}

pub(super) fn table<K: Kind>() -> TableId {
    TableId::new(K::GROUP, K::URL_PATH_SEGMENT)
}

fn typed<K: Kind>(object: &Object) -> Option<K> {
    match serde_json::from_slice(object.body()) {
        Ok(typed) => Some(typed),
        Err(error) => {
            tracing::warn!(kind = K::KIND, name = %object.facts.name, %error, "an object cannot be read as its kind");
            None
        }
    }
}
