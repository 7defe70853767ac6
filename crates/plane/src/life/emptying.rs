//! Emptying what goes: a namespace of its content, a definition of its objects.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value, json};

use super::collector::stored_resource;
use super::crd;
use crate::Plane;
use crate::clock;
use crate::hooks::User;
use crate::resource::Resource;
use crate::server::Warnings;
use crate::status::Result;
use crate::store::{Change, Object, TableId};
use crate::write::{DeleteOptions, Edit, Propagation, Source, Write};

/// Namespaces and definitions being deleted that must be looked at.
#[derive(Debug, Default)]
pub(super) struct Emptying {
    namespaces: BTreeSet<String>,
    definitions: BTreeSet<String>,
}

fn namespaces() -> TableId {
    TableId::new("", "namespaces")
}

fn definitions() -> TableId {
    TableId::new("apiextensions.k8s.io", "customresourcedefinitions")
}

impl Emptying {
    /// Takes note of a change.
    pub(super) fn observe(&mut self, plane: &Plane, change: &Change) {
        let facts = &change.object.facts;
        if !change.removed && facts.deleting {
            if change.table == namespaces() {
                self.namespaces.insert(facts.name.to_string());
            } else if change.table == definitions() {
                self.definitions.insert(facts.name.to_string());
            }
        }
        let content_changed = change.removed || facts.deleting;
        if !facts.namespace.is_empty()
            && content_changed
            && plane.store().get(&namespaces(), &facts.namespace).is_some_and(|n| n.facts.deleting)
        {
            self.namespaces.insert(facts.namespace.to_string());
        }
        if change.removed
            && let Some((group, plural)) = change.table.0.split_once('/')
        {
            let name = format!("{plural}.{group}");
            if plane.store().get(&definitions(), &name).is_some_and(|d| d.facts.deleting) {
                self.definitions.insert(name);
            }
        }
    }

    /// Takes up everything again: after a gap in the feed.
    pub(super) fn all(&mut self, plane: &Plane) {
        for (table, into) in [(namespaces(), &mut self.namespaces), (definitions(), &mut self.definitions)] {
            for object in plane.store().all(&table, "") {
                if object.facts.deleting {
                    into.insert(object.facts.name.to_string());
                }
            }
        }
    }

    /// Does what can be done now; whether something failed and must be tried again.
    pub(super) async fn work(&mut self, plane: &Plane) -> bool {
        let mut failed = false;
        for name in std::mem::take(&mut self.namespaces) {
            if let Err(error) = empty_namespace(plane, &name).await {
                tracing::debug!(%error, namespace = %name, "emptying will be tried again");
                self.namespaces.insert(name);
                failed = true;
            }
        }
        for name in std::mem::take(&mut self.definitions) {
            if let Err(error) = empty_definition(plane, &name).await {
                tracing::debug!(%error, definition = %name, "emptying will be tried again");
                self.definitions.insert(name);
                failed = true;
            }
        }
        failed
    }
}

fn user(controller: &str) -> User {
    User::new(
        format!("system:serviceaccount:kube-system:{controller}"),
        ["system:serviceaccounts", "system:serviceaccounts:kube-system", "system:masters"],
    )
}

async fn delete_all(
    plane: &Plane,
    resource: &Arc<Resource>,
    objects: &[Arc<Object>],
    user: &User,
) -> Result<()> {
    let warnings = Warnings::default();
    let options = DeleteOptions { propagation: Some(Propagation::Background), ..DeleteOptions::default() };
    for object in objects.iter().filter(|o| !o.facts.deleting) {
        let write = Write::internal(plane, resource, &object.facts.namespace, user, &warnings);
        match write.delete(&object.facts.name, &options).await {
            Err(error) if error.code != 404 => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

async fn empty_namespace(plane: &Plane, name: &str) -> Result<()> {
    let Some(namespace) = plane.store().get(&namespaces(), name).filter(|n| n.facts.deleting) else {
        return Ok(());
    };
    let Some(resource) = stored_resource(plane, &namespaces()) else { return Ok(()) };
    let user = user("namespace-controller");
    let mut failure = None;
    let mut remaining: BTreeMap<String, usize> = BTreeMap::new();
    let mut finalizers: BTreeMap<String, usize> = BTreeMap::new();
    let tables: BTreeSet<TableId> = plane
        .catalog()
        .all()
        .filter(|r| r.namespaced() && r.traits.stored)
        .map(|r| r.table.clone())
        .collect();
    for table in tables {
        let Some(content) = stored_resource(plane, &table) else { continue };
        if let Err(error) = delete_all(plane, &content, &plane.store().all(&table, name), &user).await {
            failure = Some(error);
        }
        for object in plane.store().all(&table, name) {
            *remaining.entry(format!("{}.{}", content.names.plural, content.names.group)).or_default() += 1;
            for finalizer in &object.facts.finalizers {
                *finalizers.entry(finalizer.to_string()).or_default() += 1;
            }
        }
    }
    let warnings = Warnings::default();
    let mut write = Write::internal(plane, &resource, "", &user, &warnings);
    if remaining.is_empty() && failure.is_none() {
        write.subresource = "finalize";
        let finalized = write.update(&namespace.facts.name, false, |live| {
            let mut object = live.clone();
            let left: Vec<Value> = object["spec"]["finalizers"]
                .as_array()
                .into_iter()
                .flatten()
                .filter(|f| *f != "kubernetes")
                .cloned()
                .collect();
            object["spec"]["finalizers"] = json!(left);
            Ok(Edit { object, source: Source::default() })
        });
        return match finalized.await {
            Err(error) if error.code != 404 => Err(error),
            _ => Ok(()),
        };
    }
    write.subresource = "status";
    let told = write
        .update(&namespace.facts.name, false, |live| {
            let mut object = live.clone();
            let failed = failure.as_ref().map(|e| e.message.as_str());
            conditions(plane, &mut object, &remaining, &finalizers, failed);
            Ok(Edit { object, source: Source::default() })
        })
        .await;
    match (failure, told) {
        (Some(error), _) => Err(error),
        (None, Err(error)) if error.code != 404 => Err(error),
        _ => Ok(()),
    }
}

/// The five conditions of a namespace that something keeps.
fn conditions(
    plane: &Plane,
    namespace: &mut Value,
    remaining: &BTreeMap<String, usize>,
    finalizers: &BTreeMap<String, usize>,
    failure: Option<&str>,
) {
    let instances = |all: &BTreeMap<String, usize>, verb: &str| {
        all.iter()
            .map(|(name, n)| format!("{name} {verb} {n} resource instances"))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let failed = failure.map(|why| format!("Failed to delete all resource types, 1 remaining: {why}"));
    let rows = [
        (
            "NamespaceDeletionDiscoveryFailure",
            false,
            "ResourcesDiscovered",
            "All resources successfully discovered".to_string(),
        ),
        (
            "NamespaceDeletionGroupVersionParsingFailure",
            false,
            "ParsedGroupVersions",
            "All legacy kube types successfully parsed".to_string(),
        ),
        (
            "NamespaceDeletionContentFailure",
            failed.is_some(),
            if failed.is_some() { "ContentDeletionFailed" } else { "ContentDeleted" },
            failed
                .unwrap_or_else(|| "All content successfully deleted, may be waiting on finalization".into()),
        ),
        (
            "NamespaceContentRemaining",
            !remaining.is_empty(),
            if remaining.is_empty() { "ContentRemoved" } else { "SomeResourcesRemain" },
            if remaining.is_empty() {
                "All content successfully removed".into()
            } else {
                format!("Some resources are remaining: {}", instances(remaining, "has"))
            },
        ),
        (
            "NamespaceFinalizersRemaining",
            !finalizers.is_empty(),
            if finalizers.is_empty() { "ContentHasNoFinalizers" } else { "SomeFinalizersRemain" },
            if finalizers.is_empty() {
                "All content-preserving finalizers finished".into()
            } else {
                format!(
                    "Some content in the namespace has finalizers remaining: {}",
                    instances(finalizers, "in")
                )
            },
        ),
    ];
    let mut all = namespace["status"]["conditions"].as_array().cloned().unwrap_or_default();
    for (kind, yes, reason, message) in rows {
        let status = if yes { "True" } else { "False" };
        let mut new = json!({"type": kind, "status": status, "reason": reason, "message": message,
            "lastTransitionTime": clock::seconds(plane.clock().now())});
        match all.iter_mut().find(|c| c["type"] == kind) {
            Some(old) => {
                if old["status"] == new["status"] {
                    new["lastTransitionTime"] = old["lastTransitionTime"].clone();
                }
                *old = new;
            }
            None => all.push(new),
        }
    }
    namespace["status"]["conditions"] = all.into();
}

async fn empty_definition(plane: &Plane, name: &str) -> Result<()> {
    let Some(definition) = plane.store().get(&definitions(), name).filter(|d| d.facts.deleting) else {
        return Ok(());
    };
    if !definition.facts.has_finalizer(crd::FINALIZER) {
        return Ok(());
    }
    let Some(resource) = stored_resource(plane, &definitions()) else { return Ok(()) };
    let (plural, group) = name.split_once('.').unwrap_or((name, ""));
    let table = TableId::new(group, plural);
    let user = user("customresourcedefinition-controller");
    if let Some(content) = stored_resource(plane, &table) {
        delete_all(plane, &content, &plane.store().all(&table, ""), &user).await?;
    }
    let left = plane.store().count(&table);
    let warnings = Warnings::default();
    let mut write = Write::internal(plane, &resource, "", &user, &warnings);
    write.subresource = "status";
    let (reason, message) = match left {
        0 => ("InstanceDeletionCompleted", "removed all instances".to_string()),
        _ => ("InstanceDeletionInProgress", "CustomResource deletion is in progress".to_string()),
    };
    let status = if left == 0 { "False" } else { "True" };
    let told = write.update(name, false, |live| {
        let mut object = live.clone();
        crd::condition(plane, &mut object, "Terminating", status, reason, &message);
        Ok(Edit { object, source: Source::default() })
    });
    match told.await {
        Err(error) if error.code != 404 => return Err(error),
        _ => {}
    }
    match plane.store().get(&definitions(), name) {
        Some(definition) if left == 0 => {
            super::collector::drop_finalizer(plane, &resource, &definition, crd::FINALIZER).await
        }
        _ => Ok(()),
    }
}
