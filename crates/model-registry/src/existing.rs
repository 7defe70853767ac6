//! What exists of that which may have to go: only what was seen is deleted.

use std::collections::BTreeSet;

use quintet_kit::{Hubs, Kind, ObjectKey};

/// Objects that exist, by kind and name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Existing(BTreeSet<(String, String)>);

impl Existing {
    /// This one, too.
    #[must_use]
    pub fn with<K: Kind>(mut self, name: impl Into<String>) -> Self {
        self.0.insert((K::gvk().to_string(), name.into()));
        self
    }

    /// This one, if the caches show it.
    #[must_use]
    pub(crate) fn seen<K: Kind>(self, hubs: &Hubs, key: &ObjectKey) -> Self {
        if hubs.get::<K>(key).is_some() { self.with::<K>(&key.name) } else { self }
    }

    /// True if it exists.
    #[must_use]
    pub fn has<K: Kind>(&self, name: &str) -> bool {
        self.0.contains(&(K::gvk().to_string(), name.to_owned()))
    }
}
