//! One desired object, with how to write it.

use super::policy::{Adopt, OnImmutable, WritePolicy};
use crate::hub::{Found, Hubs};
use crate::key::ObjectKey;
use crate::kind::{Gvk, Kind, Meta};
use futures::FutureExt;
use futures::future::BoxFuture;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::discovery::ApiResource;
use serde_json::Value;
use std::any::Any;
use std::fmt;
use std::hash::{DefaultHasher, Hasher};
use std::io;

/// Metadata that the server fills in. An intent built from a live object would carry it, and apply refuses some.
const SERVERS_OWN: [&str; 6] =
    ["creationTimestamp", "deletionTimestamp", "generation", "managedFields", "resourceVersion", "uid"];

/// One desired object, with how to write it.
pub struct Child {
    object: Box<dyn Erased>,
    pub(crate) policy: WritePolicy,
    pub(crate) adopt: Adopt,
    pub(crate) on_immutable: OnImmutable,
}

impl Child {
    /// A child that is applied, and never taken over from somebody else.
    #[must_use]
    pub fn new<K: Kind>(object: K) -> Self {
        Child {
            object: Box::new(object),
            policy: WritePolicy::Apply,
            adopt: Adopt::Never,
            on_immutable: OnImmutable::Report,
        }
    }

    /// Written in this way.
    #[must_use]
    pub fn policy(mut self, policy: WritePolicy) -> Self {
        self.policy = policy;
        self
    }

    /// An existing object of others may be taken over.
    #[must_use]
    pub fn adopt(mut self, adopt: Adopt) -> Self {
        self.adopt = adopt;
        self
    }

    /// What to do when the server refuses to change an immutable field.
    #[must_use]
    pub fn on_immutable(mut self, on_immutable: OnImmutable) -> Self {
        self.on_immutable = on_immutable;
        self
    }

    /// How it is written.
    #[must_use]
    pub fn write_policy(&self) -> &WritePolicy {
        &self.policy
    }

    /// The object, if it is of this type.
    #[must_use]
    pub fn object<K: Kind>(&self) -> Option<&K> {
        (&*self.object as &dyn Any).downcast_ref()
    }

    /// Namespace and name.
    #[must_use]
    pub fn key(&self) -> ObjectKey {
        let meta = self.object.metadata();
        ObjectKey { namespace: meta.namespace.clone(), name: meta.name.clone().unwrap_or_default() }
    }

    /// The kind.
    #[must_use]
    pub fn kind(&self) -> Gvk {
        self.object.gvk()
    }

    /// The metadata.
    #[must_use]
    pub fn metadata(&self) -> &ObjectMeta {
        self.object.metadata()
    }

    /// The object as it goes over the wire: no status, nothing that the server fills in.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let mut value = self.object.value();
        if let Some(object) = value.as_object_mut() {
            object.remove("status");
            if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
                SERVERS_OWN.iter().for_each(|field| drop(metadata.remove(*field)));
            }
        }
        value
    }

    pub(crate) fn resource(&self) -> ApiResource {
        self.object.resource()
    }

    pub(crate) fn type_id(&self) -> std::any::TypeId {
        (&*self.object as &dyn Any).type_id()
    }

    /// Tells this intent from any other in this process, without building it.
    pub(crate) fn hash(&self) -> u64 {
        self.object.hash()
    }

    pub(crate) fn live(&self, hubs: &Hubs, key: &ObjectKey) -> Live {
        self.object.live(hubs, key)
    }

    /// The metadata of the object there is, if the caches cannot tell.
    pub(crate) async fn fetch_metadata(
        &self,
        hubs: &Hubs,
        key: &ObjectKey,
    ) -> kube::Result<Option<ObjectMeta>> {
        self.object.fetch_metadata(hubs, key).await
    }
}

impl<K: Kind> From<K> for Child {
    fn from(object: K) -> Self {
        Child::new(object)
    }
}

impl fmt::Debug for Child {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({} {})", self.policy, self.kind().kind, self.key())
    }
}

/// What the caches know of a child.
pub(crate) enum Live {
    /// The kind is not watched, or not there where the child is.
    Unwatched,
    /// The watch has not seen this object; it has come as far as this version.
    Missing {
        /// The newest resourceVersion that the watch has seen.
        seen: u64,
        /// The cache would show any object of that name.
        complete: bool,
        /// The watch shows only what its selector matches.
        narrowed: bool,
    },
    /// It exists.
    Present(Box<dyn LiveObject>),
}

/// A cached object, its type forgotten.
pub(crate) trait LiveObject: Send + Sync {
    fn metadata(&self) -> &ObjectMeta;
    fn metadata_only(&self) -> bool;
    fn value(&self) -> Value;
}

impl<K: Kind> LiveObject for std::sync::Arc<K> {
    fn metadata(&self) -> &ObjectMeta {
        self.meta()
    }
    fn metadata_only(&self) -> bool {
        K::metadata_api()
    }
    fn value(&self) -> Value {
        serde_json::to_value(&**self).unwrap_or_default()
    }
}

trait Erased: Any + Send + Sync {
    fn gvk(&self) -> Gvk;
    fn resource(&self) -> ApiResource;
    fn metadata(&self) -> &ObjectMeta;
    fn value(&self) -> Value;
    fn hash(&self) -> u64;
    fn live(&self, hubs: &Hubs, key: &ObjectKey) -> Live;
    fn fetch_metadata<'a>(
        &self,
        hubs: &'a Hubs,
        key: &'a ObjectKey,
    ) -> BoxFuture<'a, kube::Result<Option<ObjectMeta>>>;
}

impl<K: Kind> Erased for K {
    fn gvk(&self) -> Gvk {
        K::gvk()
    }
    fn resource(&self) -> ApiResource {
        K::api_resource()
    }
    fn metadata(&self) -> &ObjectMeta {
        self.meta()
    }
    fn value(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
    fn hash(&self) -> u64 {
        let mut hashing = Hashing(DefaultHasher::new());
        // Cannot fail: the writer does not, and what cannot be serialised has no other hash than its beginning.
        let _ = serde_json::to_writer(&mut hashing, self);
        hashing.0.finish()
    }
    fn live(&self, hubs: &Hubs, key: &ObjectKey) -> Live {
        match hubs.locate::<K>(key) {
            Found::Unwatched => match hubs.locate::<Meta<K>>(key) {
                Found::Unwatched => Live::Unwatched,
                Found::Missing { seen, complete, narrowed } => Live::Missing { seen, complete, narrowed },
                Found::Present(object) => Live::Present(Box::new(object)),
            },
            Found::Missing { seen, complete, narrowed } => Live::Missing { seen, complete, narrowed },
            Found::Present(object) => Live::Present(Box::new(object)),
        }
    }
    fn fetch_metadata<'a>(
        &self,
        hubs: &'a Hubs,
        key: &'a ObjectKey,
    ) -> BoxFuture<'a, kube::Result<Option<ObjectMeta>>> {
        async move {
            Ok(if hubs.watches::<K>() {
                hubs.fetch::<K>(key).await?.map(|object| object.meta().clone())
            } else {
                hubs.fetch::<Meta<K>>(key).await?.map(|object| object.metadata.clone())
            })
        }
        .boxed()
    }
}

/// Feeds what is written into a hash: an intent is told from another without being built in memory.
struct Hashing(DefaultHasher);

impl io::Write for Hashing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
