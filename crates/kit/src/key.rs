//! What a reconcile is about: a key, which need not be an object.

use kube::{Resource, ResourceExt};
use serde::{Deserialize, Serialize};
use std::{fmt, hash::Hash};

/// A key of the work queue: an object, a pair such as runtime and namespace, or the one key of a singleton.
pub trait Key: Clone + Eq + Ord + Hash + fmt::Debug + fmt::Display + Send + Sync + 'static {}
impl<T: Clone + Eq + Ord + Hash + fmt::Debug + fmt::Display + Send + Sync + 'static> Key for T {}

/// Namespace and name of an object; whether it exists is for the reconcile to find out.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ObjectKey {
    /// The namespace, none for a cluster-scoped object.
    pub namespace: Option<String>,
    /// The name.
    pub name: String,
}

impl ObjectKey {
    /// The key of a namespaced object.
    pub fn namespaced(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        ObjectKey { namespace: Some(namespace.into()), name: name.into() }
    }

    /// The key of a cluster-scoped object.
    pub fn cluster(name: impl Into<String>) -> Self {
        ObjectKey { namespace: None, name: name.into() }
    }

    /// The key of an object.
    pub fn of<K: Resource>(object: &K) -> Self {
        ObjectKey { namespace: object.namespace(), name: object.name_any() }
    }

    /// The namespace, empty for a cluster-scoped object.
    #[must_use]
    pub fn namespace(&self) -> &str {
        self.namespace.as_deref().unwrap_or_default()
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{namespace}/{}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// The only key of a controller that has no object of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Singleton;

impl fmt::Display for Singleton {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("singleton")
    }
}
