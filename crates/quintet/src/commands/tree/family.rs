//! Finding an object's children, and theirs, by owner reference.

use std::collections::{BTreeSet, HashMap};

use anyhow::Result;
use futures::{StreamExt, stream};
use kube::api::{DynamicObject, ListParams};
use kube::core::PartialObjectMeta;
use kube::{Api, Client, ResourceExt};
use serde::Serialize;
use serde_json::Value;

use super::health::{Health, health};
use super::references::{self, Named};
use crate::client::catalogue::{Catalogue, Served};

/// How many lists are under way at once.
const AT_ONCE: usize = 16;
/// Owner references can be made to point in a circle; nobody nests deeper than this.
const DEEPEST: usize = 16;
/// Warnings shown per object, the newest.
const WARNINGS: usize = 3;

/// An object and what it owns.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Node {
    pub api_version: String,
    pub kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    pub name: String,
    pub health: Health,
    /// Warning events about it, newest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<Node>,
    /// Kinds that could not be listed, so that children of them may be missing; on the root only.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unseen: Vec<String>,
    /// What a Pod cannot start without.
    #[serde(skip)]
    pub named: BTreeSet<Named>,
}

/// The whole tree below `root`.
pub(super) async fn gather(
    client: &Client,
    all: &Catalogue,
    kind: &Served,
    root: DynamicObject,
) -> Result<Node> {
    // Children live in their owner's namespace; a cluster-scoped owner can have them anywhere.
    let namespace = root.namespace();
    let kinds = all.listable().filter(|s| is_worth_listing(s) && (namespace.is_none() || s.namespaced));
    let lists = stream::iter(kinds).map(|served| {
        let (client, namespace) = (client.clone(), namespace.clone());
        async move { (served, owned(&client, served, namespace.as_deref()).await) }
    });
    let mut by_owner: HashMap<String, Vec<(&Served, DynamicObject)>> = HashMap::new();
    let mut unseen = vec![];
    let mut lists = lists.buffer_unordered(AT_ONCE);
    while let Some((served, found)) = lists.next().await {
        match found {
            Ok(objects) => objects
                .into_iter()
                .for_each(|(owner, o)| by_owner.entry(owner).or_default().push((served, o))),
            Err(_) => unseen.push(served.resource()),
        }
    }
    unseen.sort();
    let warnings = warnings(client, namespace.as_deref()).await;
    let mut family = Family { by_owner, warnings };
    let mut node = family.node(kind, root, 0);
    node.unseen = unseen;
    references::explain(client, &mut node).await;
    Ok(node)
}

/// Events come in thousands and are shown as warnings instead.
fn is_worth_listing(served: &Served) -> bool {
    !(served.api.kind == "Event" || served.api.group == "metrics.k8s.io")
}

/// Objects of a kind that have an owner, each with the owner's uid. Metadata is listed first: most kinds hold
/// nothing of this family, and their bodies need not travel.
async fn owned(
    client: &Client,
    served: &Served,
    namespace: Option<&str>,
) -> kube::Result<Vec<(String, DynamicObject)>> {
    let everywhere: Api<PartialObjectMeta<DynamicObject>> = match namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &served.api),
        None => Api::all_with(client.clone(), &served.api),
    };
    let mut found = vec![];
    for slim in everywhere.list(&ListParams::default()).await? {
        for owner in slim.owner_references() {
            let name = slim.name_any();
            let api = served.api(client, slim.namespace().as_deref().unwrap_or_default());
            if let Some(whole) = api.get_opt(&name).await? {
                found.push((owner.uid.clone(), whole));
            }
        }
    }
    Ok(found)
}

/// The newest warnings by the uid of the object they are about. An account that may not read events sees none.
async fn warnings(client: &Client, namespace: Option<&str>) -> HashMap<String, Vec<String>> {
    use k8s_openapi::api::core::v1::Event;
    let api: Api<Event> =
        namespace.map_or_else(|| Api::all(client.clone()), |n| Api::namespaced(client.clone(), n));
    let Ok(list) = api.list(&ListParams::default().fields("type=Warning")).await else {
        return HashMap::new();
    };
    let mut events = list.items;
    events.sort_by_key(|e| {
        let seen = e.last_timestamp.as_ref().map(|t| t.0).or(e.event_time.as_ref().map(|t| t.0));
        std::cmp::Reverse(seen.or(e.metadata.creation_timestamp.as_ref().map(|t| t.0)))
    });
    let mut by_uid: HashMap<String, Vec<String>> = HashMap::new();
    for event in events {
        let texts = by_uid.entry(event.involved_object.uid.unwrap_or_default()).or_default();
        if texts.len() < WARNINGS {
            texts.push(format!(
                "{}: {}",
                event.reason.unwrap_or_default(),
                event.message.unwrap_or_default()
            ));
        }
    }
    by_uid
}

struct Family<'a> {
    by_owner: HashMap<String, Vec<(&'a Served, DynamicObject)>>,
    warnings: HashMap<String, Vec<String>>,
}

impl Family<'_> {
    fn node(&mut self, served: &Served, object: DynamicObject, depth: usize) -> Node {
        let uid = object.uid().unwrap_or_default();
        // Removing them from the map also breaks circles.
        let owned = if depth < DEEPEST { self.by_owner.remove(&uid).unwrap_or_default() } else { vec![] };
        let mut children: Vec<Node> = owned.into_iter().map(|(s, o)| self.node(s, o, depth + 1)).collect();
        children.sort_by(|a, b| (&a.kind, &a.namespace, &a.name).cmp(&(&b.kind, &b.namespace, &b.name)));
        let mut value = serde_json::to_value(&object).unwrap_or(Value::Null);
        value["kind"] = Value::from(served.api.kind.clone());
        value["apiVersion"] = Value::from(served.api.api_version.clone());
        Node {
            api_version: served.api.api_version.clone(),
            kind: served.api.kind.clone(),
            namespace: object.namespace(),
            name: object.name_any(),
            health: health(&value),
            warnings: self.warnings.remove(&uid).unwrap_or_default(),
            children,
            unseen: vec![],
            named: if served.api.kind == "Pod" { references::named(&value) } else { BTreeSet::new() },
        }
    }
}
