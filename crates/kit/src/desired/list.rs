//! The ordered list of children, and what must not be.

use super::child::Child;
use crate::hub::Hubs;
use crate::key::ObjectKey;
use crate::kind::{Gvk, Kind, Meta};
use futures::FutureExt;
use futures::future::BoxFuture;
use kube::discovery::ApiResource;
use kube::{Resource, ResourceExt};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// All that should exist, in the order to apply it, and what should not.
#[derive(Debug, Default)]
pub struct Desired {
    children: Vec<Child>,
    prunes: Vec<Prune>,
}

impl Desired {
    /// Nothing.
    #[must_use]
    pub fn new() -> Self {
        Desired::default()
    }

    /// This child too, applied after those before it.
    #[must_use]
    pub fn with(mut self, child: impl Into<Child>) -> Self {
        self.push(child);
        self
    }

    /// This child too, if there is one.
    #[must_use]
    pub fn with_some(mut self, child: Option<impl Into<Child>>) -> Self {
        self.children.extend(child.map(Into::into));
        self
    }

    /// Adds a child, applied after those before it.
    pub fn push(&mut self, child: impl Into<Child>) {
        self.children.push(child.into());
    }

    /// What should not exist. Prunes come after all children.
    #[must_use]
    pub fn without(mut self, prune: Prune) -> Self {
        self.prunes.push(prune);
        self
    }

    /// Adds all of another list.
    pub fn extend(&mut self, other: Desired) {
        self.children.extend(other.children);
        self.prunes.extend(other.prunes);
    }

    /// The children, in order.
    #[must_use]
    pub fn children(&self) -> &[Child] {
        &self.children
    }

    /// What should not exist.
    #[must_use]
    pub fn prunes(&self) -> &[Prune] {
        &self.prunes
    }

    /// The child of this type and name, if it is desired.
    #[must_use]
    pub fn get<K: Kind>(&self, name: &str) -> Option<&K> {
        self.all::<K>().find(|object| object.meta().name.as_deref() == Some(name))
    }

    /// The children of this type, in order.
    pub fn all<K: Kind>(&self) -> impl Iterator<Item = &K> {
        self.children.iter().filter_map(Child::object::<K>)
    }

    /// The children as they go over the wire, for printing and for snapshots.
    #[must_use]
    pub fn to_values(&self) -> Vec<Value> {
        self.children.iter().map(Child::to_value).collect()
    }
}

impl<C: Into<Child>> FromIterator<C> for Desired {
    fn from_iter<I: IntoIterator<Item = C>>(children: I) -> Self {
        Desired { children: children.into_iter().map(Into::into).collect(), prunes: vec![] }
    }
}

/// Which of the objects found may be deleted. Nothing else is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Guard {
    /// Those with this owner.
    Owner(String),
    /// Those that carry all these labels.
    Labels(BTreeMap<String, String>),
    /// Whatever is found: only for a name that nobody else can have meant.
    Any,
}

impl Guard {
    /// True if the guard lets the object be deleted.
    #[must_use]
    pub fn allows(&self, object: &impl Resource) -> bool {
        match self {
            Guard::Owner(uid) => object.owner_references().iter().any(|owner| owner.uid == *uid),
            Guard::Labels(wanted) => {
                wanted.iter().all(|(label, value)| object.labels().get(label) == Some(value))
            }
            Guard::Any => true,
        }
    }
}

/// Something that should not exist.
pub struct Prune {
    pub(crate) gvk: Gvk,
    pub(crate) resource: ApiResource,
    pub(crate) target: PruneTarget,
    pub(crate) guard: Guard,
    pub(crate) look: Look,
}

/// What a prune is aimed at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PruneTarget {
    /// The object of this name.
    Named(ObjectKey),
    /// Every cached object that the guard allows and that is not desired.
    Others {
        /// Only in this namespace.
        namespace: Option<String>,
    },
}

/// Finds the objects of a prune.
type Look = for<'a> fn(&'a Hubs, &'a PruneTarget, &'a Guard) -> BoxFuture<'a, kube::Result<Vec<Doomed>>>;

/// An object to be deleted, and the uid that it must still have.
#[derive(Clone, Debug)]
pub(crate) struct Doomed {
    pub(crate) key: ObjectKey,
    pub(crate) uid: Option<String>,
}

impl Prune {
    /// The object of this name, if the guard allows it.
    #[must_use]
    pub fn named<K: Kind>(key: ObjectKey, guard: Guard) -> Self {
        Prune::new::<K>(PruneTarget::Named(key), guard)
    }

    /// Every other object of the kind that has this owner and is not desired. The kind must be watched.
    pub fn owned_by<K: Kind>(owner_uid: impl Into<String>) -> Self {
        Prune::new::<K>(PruneTarget::Others { namespace: None }, Guard::Owner(owner_uid.into()))
    }

    /// Every other object of the kind in the namespace with these labels that is not desired. The kind must be watched.
    #[must_use]
    pub fn labelled<K: Kind>(namespace: Option<String>, labels: BTreeMap<String, String>) -> Self {
        Prune::new::<K>(PruneTarget::Others { namespace }, Guard::Labels(labels))
    }

    fn new<K: Kind>(target: PruneTarget, guard: Guard) -> Self {
        Prune { gvk: K::gvk(), resource: K::api_resource(), target, guard, look: look::<K> }
    }

    /// The kind.
    #[must_use]
    pub fn kind(&self) -> &Gvk {
        &self.gvk
    }

    /// The name, if the prune is aimed at one.
    #[must_use]
    pub fn key(&self) -> Option<&ObjectKey> {
        match &self.target {
            PruneTarget::Named(key) => Some(key),
            PruneTarget::Others { .. } => None,
        }
    }

    /// What guards it.
    #[must_use]
    pub fn guard(&self) -> &Guard {
        &self.guard
    }
}

impl fmt::Debug for Prune {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Prune({} {:?} {:?})", self.gvk.kind, self.target, self.guard)
    }
}

fn look<'a, K: Kind>(
    hubs: &'a Hubs,
    target: &'a PruneTarget,
    guard: &'a Guard,
) -> BoxFuture<'a, kube::Result<Vec<Doomed>>> {
    async move {
        Ok(match (target, guard) {
            (PruneTarget::Named(key), _) if hubs.watches::<K>() => {
                doomed(hubs.fetch::<K>(key).await?.as_slice(), target, guard)
            }
            (PruneTarget::Named(key), _) => {
                doomed(hubs.fetch::<Meta<K>>(key).await?.as_slice(), target, guard)
            }
            (PruneTarget::Others { .. }, Guard::Owner(uid)) => {
                doomed(&hubs.owned_by::<K>(uid), target, guard)
            }
            (PruneTarget::Others { .. }, _) => doomed(&hubs.all::<K>(), target, guard),
        })
    }
    .boxed()
}

/// Those that the target means and the guard allows; what is being deleted already needs no further word.
fn doomed<K: Kind>(found: &[Arc<K>], target: &PruneTarget, guard: &Guard) -> Vec<Doomed> {
    let meant = |object: &K| match target {
        PruneTarget::Others { namespace: Some(namespace) } => {
            object.meta().namespace.as_ref() == Some(namespace)
        }
        PruneTarget::Others { namespace: None } | PruneTarget::Named(_) => true,
    };
    let deleting = |object: &K| object.meta().deletion_timestamp.is_some();
    let found = found.iter().filter(|object| meant(object) && guard.allows(&***object) && !deleting(object));
    found.map(|object| Doomed { key: ObjectKey::of(&**object), uid: object.uid() }).collect()
}
