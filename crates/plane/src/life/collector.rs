//! The garbage collector: dependents follow their owners, by the policy the owner was deleted with.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use serde_json::{Value, json};

use crate::Plane;
use crate::hooks::User;
use crate::resource::{GroupVersionKind, Resource};
use crate::server::Warnings;
use crate::status::Result;
use crate::store::{Change, Location, Object, Owner, TableId, key};
use crate::write::{DeleteOptions, Edit, Propagation, Source, Write};

const ORPHAN: &str = "orphan";
const FOREGROUND: &str = "foregroundDeletion";

/// What is still to be looked at.
#[derive(Debug, Default)]
pub(super) struct Collector {
    queue: VecDeque<Location>,
    queued: BTreeSet<Location>,
    /// Objects with an owner of a kind nobody serves (yet).
    parked: BTreeSet<Location>,
}

/// How an owner stands.
enum Standing {
    /// It is there, or we cannot know.
    Solid,
    /// Its kind is not served.
    Unknown,
    /// It is gone, or never was.
    Dangling,
    /// It waits for its dependents to go.
    Waiting,
}

impl Collector {
    /// Takes note of a change.
    pub(super) fn observe(&mut self, plane: &Plane, change: &Change) {
        let here = Location { table: change.table.clone(), key: change.key.clone() };
        if change.removed {
            self.parked.remove(&here);
            plane.store().dependents(&change.object.facts.uid).into_iter().for_each(|d| self.add(d));
        } else {
            let facts = &change.object.facts;
            let collecting =
                facts.deleting && (facts.has_finalizer(ORPHAN) || facts.has_finalizer(FOREGROUND));
            if collecting || !facts.owners.is_empty() {
                self.add(here);
            }
            if facts.deleting && facts.has_finalizer(FOREGROUND) {
                plane.store().dependents(&facts.uid).into_iter().for_each(|d| self.add(d));
            }
        }
        // An owner may have waited for this very object, or for its reference to go.
        for owner in change.old.iter().flat_map(|old| &old.facts.owners) {
            self.owner_waiting(plane, owner);
        }
        if change.table == TableId::new("apiextensions.k8s.io", "customresourcedefinitions") {
            std::mem::take(&mut self.parked).into_iter().for_each(|location| self.add(location));
        }
    }

    fn owner_waiting(&mut self, plane: &Plane, owner: &Owner) {
        if let Some(location) = plane.store().find_uid(&owner.uid)
            && plane
                .store()
                .at(&location)
                .is_some_and(|o| o.facts.deleting && o.facts.has_finalizer(FOREGROUND))
        {
            self.add(location);
        }
    }

    pub(super) fn add(&mut self, location: Location) {
        if self.queued.insert(location.clone()) {
            self.queue.push_back(location);
        }
    }

    /// Looks at everything queued; returns what must be tried again later.
    pub(super) async fn work(&mut self, plane: &Plane) -> Vec<Location> {
        let mut again = Vec::new();
        while let Some(location) = self.queue.pop_front() {
            self.queued.remove(&location);
            if let Err(error) = self.process(plane, &location).await
                && error.code != 404
            {
                tracing::debug!(%error, key = %location.key, "garbage collection will be tried again");
                again.push(location);
            }
        }
        again
    }

    async fn process(&mut self, plane: &Plane, location: &Location) -> Result<()> {
        let Some(object) = plane.store().at(location) else { return Ok(()) };
        let Some(resource) = stored_resource(plane, &location.table) else { return Ok(()) };
        let facts = &object.facts;
        if facts.deleting && facts.has_finalizer(ORPHAN) {
            return self.orphan(plane, &resource, &object).await;
        }
        if facts.deleting && facts.has_finalizer(FOREGROUND) {
            return self.finish_foreground(plane, &resource, &object).await;
        }
        if facts.deleting || facts.owners.is_empty() {
            return Ok(());
        }
        let (mut solid, mut leaving, mut waiting) = (false, Vec::new(), false);
        for owner in &facts.owners {
            match standing(plane, &resource, &object, owner) {
                Standing::Solid => solid = true,
                Standing::Unknown => {
                    self.parked.insert(location.clone());
                    return Ok(());
                }
                Standing::Dangling => leaving.push(owner.uid.clone()),
                Standing::Waiting => {
                    waiting = true;
                    leaving.push(owner.uid.clone());
                }
            }
        }
        match (solid, leaving.is_empty()) {
            (_, true) => Ok(()),
            (true, false) => drop_owners(plane, &resource, &object, &leaving).await,
            (false, false) => {
                let has_dependents = !plane.store().dependents(&facts.uid).is_empty();
                let propagation = if waiting && has_dependents {
                    Some(Propagation::Foreground)
                } else if facts.has_finalizer(ORPHAN) || facts.has_finalizer(FOREGROUND) {
                    None
                } else {
                    Some(Propagation::Background)
                };
                delete(plane, &resource, &object, propagation).await
            }
        }
    }

    /// Dependents lose their reference, then the owner its finalizer.
    async fn orphan(&mut self, plane: &Plane, resource: &Arc<Resource>, object: &Object) -> Result<()> {
        let uid = [object.facts.uid.clone()];
        for dependent in plane.store().dependents(&object.facts.uid) {
            if let (Some(dependent_object), Some(dependent_resource)) =
                (plane.store().at(&dependent), stored_resource(plane, &dependent.table))
            {
                ignore_missing(drop_owners(plane, &dependent_resource, &dependent_object, &uid).await)?;
            }
        }
        drop_finalizer(plane, resource, object, ORPHAN).await
    }

    /// Dependents are deleted on their own; when none blocks any more, the finalizer goes.
    async fn finish_foreground(
        &mut self,
        plane: &Plane,
        resource: &Arc<Resource>,
        object: &Object,
    ) -> Result<()> {
        let mut blocked = false;
        for dependent in plane.store().dependents(&object.facts.uid) {
            let Some(found) = plane.store().at(&dependent) else { continue };
            blocked |= found.facts.owners.iter().any(|o| o.uid == object.facts.uid && o.blocks);
            if !found.facts.deleting {
                self.add(dependent);
            }
        }
        if blocked { Ok(()) } else { drop_finalizer(plane, resource, object, FOREGROUND).await }
    }
}

/// The resource in the version its objects are stored in.
pub(super) fn stored_resource(plane: &Plane, table: &TableId) -> Option<Arc<Resource>> {
    let catalog = plane.catalog();
    let mut versions = catalog.all().filter(|r| r.table == *table && r.traits.stored);
    let first = versions.next()?;
    if first.gvk.version == first.stored_version {
        return Some(first.clone());
    }
    Some(versions.find(|r| r.gvk.version == r.stored_version).unwrap_or(first).clone())
}

fn standing(plane: &Plane, resource: &Resource, object: &Object, owner: &Owner) -> Standing {
    let gvk = GroupVersionKind::from_api_version(&owner.api_version, &owner.kind);
    let catalog = plane.catalog();
    let Some(owner_resource) = catalog.kind(&gvk) else { return Standing::Unknown };
    let namespace = match (owner_resource.namespaced(), resource.namespaced()) {
        (false, _) => "",
        (true, true) => &object.facts.namespace,
        // A cluster-scoped object cannot have a namespaced owner: never resolved, so kept.
        (true, false) => return Standing::Solid,
    };
    match plane.store().get(&owner_resource.table, &key(namespace, &owner.name)) {
        Some(found) if found.facts.uid != owner.uid => Standing::Dangling,
        Some(found) if found.facts.deleting && found.facts.has_finalizer(FOREGROUND) => Standing::Waiting,
        Some(_) => Standing::Solid,
        None => Standing::Dangling,
    }
}

fn user() -> User {
    User::new(
        "system:serviceaccount:kube-system:generic-garbage-collector",
        ["system:serviceaccounts", "system:serviceaccounts:kube-system", "system:masters"],
    )
}

async fn delete(
    plane: &Plane,
    resource: &Arc<Resource>,
    object: &Object,
    propagation: Option<Propagation>,
) -> Result<()> {
    let (user, warnings) = (user(), Warnings::default());
    let options = DeleteOptions {
        propagation,
        uid: Some(object.facts.uid.to_string()),
        // Written meanwhile: then it is looked at again anyway.
        resource_version: Some(object.revision.to_string()),
        ..DeleteOptions::default()
    };
    let write = Write::internal(plane, resource, &object.facts.namespace, &user, &warnings);
    ignore_missing(write.delete(&object.facts.name, &options).await.map(drop))
}

async fn drop_owners(
    plane: &Plane,
    resource: &Arc<Resource>,
    object: &Object,
    uids: &[Box<str>],
) -> Result<()> {
    change(plane, resource, object, |metadata| {
        let owners = metadata["ownerReferences"].as_array().cloned().unwrap_or_default();
        let kept: Vec<Value> = owners
            .into_iter()
            .filter(|o| !uids.iter().any(|uid| o["uid"].as_str() == Some(uid.as_ref())))
            .collect();
        metadata["ownerReferences"] = json!(kept);
    })
    .await
}

pub(super) async fn drop_finalizer(
    plane: &Plane,
    resource: &Arc<Resource>,
    object: &Object,
    finalizer: &str,
) -> Result<()> {
    change(plane, resource, object, |metadata| {
        let finalizers = metadata["finalizers"].as_array().cloned().unwrap_or_default();
        let kept: Vec<Value> = finalizers.into_iter().filter(|f| f != finalizer).collect();
        metadata["finalizers"] = json!(kept);
    })
    .await
}

async fn change(
    plane: &Plane,
    resource: &Arc<Resource>,
    object: &Object,
    edit: impl Fn(&mut Value) + Send + Sync,
) -> Result<()> {
    let (user, warnings) = (user(), Warnings::default());
    let write = Write::internal(plane, resource, &object.facts.namespace, &user, &warnings);
    let changed = write
        .update(&object.facts.name, false, |live| {
            let mut object = live.clone();
            edit(&mut object["metadata"]);
            Ok(Edit { object, source: Source::default() })
        })
        .await;
    ignore_missing(changed.map(drop))
}

/// What is gone already, or has changed and will be looked at again, is no failure.
fn ignore_missing(result: Result<()>) -> Result<()> {
    match result {
        Err(error) if matches!(error.code, 404 | 409) => Ok(()),
        other => other,
    }
}
