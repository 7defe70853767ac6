//! What a controller wants done: data, so that every decision can be tested without a server.

use std::time::Duration;

use k8s_openapi::Metadata;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use serde::Serialize;
use serde_json::Value;

/// One request to the API.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Write {
    /// POST.
    Create(Value),
    /// PUT.
    Update(Value),
    /// PUT to `/status`.
    UpdateStatus(Value),
    /// DELETE of this very object.
    Delete {
        object: ObjectReference,
        /// The object's own grace period if none.
        grace: Option<u32>,
        /// Whether dependents go first.
        foreground: bool,
    },
    /// An Event.
    Event(Event),
}

/// An Event to be told about an object.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Event {
    pub(super) about: ObjectReference,
    pub(super) warning: bool,
    pub(super) reason: &'static str,
    pub(super) message: String,
    pub(super) component: &'static str,
}

/// Writes in order, and when to look again whatever happens.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Plan {
    pub(super) writes: Vec<Write>,
    pub(super) again: Option<Duration>,
}

impl Plan {
    pub(super) fn create(&mut self, object: &impl Serialize) {
        self.writes.push(Write::Create(json(object)));
    }

    pub(super) fn update(&mut self, object: &impl Serialize) {
        self.writes.push(Write::Update(json(object)));
    }

    pub(super) fn update_status(&mut self, object: &impl Serialize) {
        self.writes.push(Write::UpdateStatus(json(object)));
    }

    pub(super) fn delete<K: Metadata<Ty = ObjectMeta>>(&mut self, object: &K) {
        self.writes.push(Write::Delete { object: reference(object), grace: None, foreground: false });
    }

    pub(super) fn event<K: Metadata<Ty = ObjectMeta>>(
        &mut self,
        component: &'static str,
        about: &K,
        reason: &'static str,
        message: String,
    ) {
        self.tell(Event { about: reference(about), warning: false, reason, message, component });
    }

    pub(super) fn warn<K: Metadata<Ty = ObjectMeta>>(
        &mut self,
        component: &'static str,
        about: &K,
        reason: &'static str,
        message: String,
    ) {
        self.tell(Event { about: reference(about), warning: true, reason, message, component });
    }

    fn tell(&mut self, event: Event) {
        self.writes.push(Write::Event(event));
    }

    /// Looks again after `delay`, or sooner if that was already wanted.
    pub(super) fn again_in(&mut self, delay: Duration) {
        self.again = Some(self.again.map_or(delay, |known| known.min(delay)));
    }
}

/// Kubernetes types always become JSON.
fn json(object: &impl Serialize) -> Value {
    serde_json::to_value(object).unwrap_or_default()
}

/// A reference to this very object.
pub(super) fn reference<K: Metadata<Ty = ObjectMeta>>(object: &K) -> ObjectReference {
    let meta = object.metadata();
    ObjectReference {
        api_version: Some(K::API_VERSION.into()),
        kind: Some(K::KIND.into()),
        namespace: meta.namespace.clone(),
        name: meta.name.clone(),
        uid: meta.uid.clone(),
        ..ObjectReference::default()
    }
}

/// The reference by which a controller owns its children.
pub(super) fn owner<K: Metadata<Ty = ObjectMeta>>(object: &K) -> OwnerReference {
    let meta = object.metadata();
    OwnerReference {
        api_version: K::API_VERSION.into(),
        kind: K::KIND.into(),
        name: meta.name.clone().unwrap_or_default(),
        uid: meta.uid.clone().unwrap_or_default(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}

/// Whether the object with this uid is the controller of another.
pub(super) fn is_controlled_by(child: &ObjectMeta, uid: Option<&String>) -> bool {
    let owners = child.owner_references.iter().flatten();
    uid.is_some()
        && owners.filter(|owner| owner.controller == Some(true)).any(|owner| Some(&owner.uid) == uid)
}
