//! `APIVersions`, `APIGroupList`, `APIGroup` and `APIResourceList`.

use axum::body::Body;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::Response;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::Plane;
use crate::resource::{Catalog, Group, Resource};
use crate::server::answer;
use crate::status::{Error, Result};

pub(super) fn versions() -> Value {
    json!({"kind": "APIVersions", "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1:6443"}]})
}

pub(super) fn groups(catalog: &Catalog) -> Value {
    let groups: Vec<Value> = catalog.groups.iter().filter(|g| !g.name.is_empty()).map(describe).collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

fn describe(group: &Group) -> Value {
    let version = |v: &str| json!({"groupVersion": format!("{}/{v}", group.name), "version": v});
    let versions: Vec<Value> = group.versions.iter().map(|(v, _)| version(v)).collect();
    let preferred = versions.first().cloned().unwrap_or_default();
    json!({"name": group.name, "versions": versions, "preferredVersion": preferred})
}

/// `/apis/<group>`
pub(crate) fn group(plane: &Plane, name: &str) -> Result<Response<Body>> {
    let catalog = plane.catalog();
    let group = catalog.group(name).filter(|g| !g.name.is_empty()).ok_or_else(Error::unknown_path)?;
    let mut document = describe(group);
    document["kind"] = "APIGroup".into();
    document["apiVersion"] = "v1".into();
    Ok(answer::json(200, &document))
}

/// `/api/v1` and `/apis/<group>/<version>`
pub(crate) fn resources(plane: &Plane, group: &str, version: &str) -> Result<Response<Body>> {
    let catalog = plane.catalog();
    let resources = catalog.version(group, version).ok_or_else(Error::unknown_path)?;
    let entries: Vec<Value> = resources.iter().flat_map(|r| entries(r)).collect();
    let group_version = if group.is_empty() { version.to_string() } else { format!("{group}/{version}") };
    let mut document =
        json!({"kind": "APIResourceList", "groupVersion": group_version, "resources": entries});
    if !group.is_empty() {
        document["apiVersion"] = "v1".into();
    }
    Ok(answer::json(200, &document))
}

fn entries(resource: &Resource) -> Vec<Value> {
    let mut main = json!({
        "name": resource.names.plural, "singularName": resource.names.singular, "namespaced": resource.namespaced(),
        "kind": resource.gvk.kind, "verbs": resource.verbs,
    });
    if !resource.short_names.is_empty() {
        main["shortNames"] = json!(resource.short_names);
    }
    if !resource.categories.is_empty() {
        main["categories"] = json!(resource.categories);
    }
    if resource.traits.stored {
        main["storageVersionHash"] = storage_hash(resource).into();
    }
    let mut all = vec![main];
    for sub in &resource.subresources {
        let mut entry = json!({
            "name": format!("{}/{}", resource.names.plural, sub.name), "singularName": "",
            "namespaced": resource.namespaced(), "kind": sub.kind.kind, "verbs": sub.verbs,
        });
        if sub.kind.group != resource.gvk.group || sub.kind.version != resource.gvk.version {
            entry["group"] = json!(sub.kind.group);
            entry["version"] = json!(sub.kind.version);
        }
        all.push(entry);
    }
    all
}

/// The first eight bytes of the hash of `group/version/kind` as stored.
fn storage_hash(resource: &Resource) -> String {
    let text = format!("{}/{}/{}", resource.gvk.group, resource.stored_version, resource.gvk.kind);
    STANDARD.encode(&Sha256::digest(text.as_bytes())[..8])
}
