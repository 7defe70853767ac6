//! `APIGroupDiscoveryList`.

use serde_json::{Value, json};

use crate::resource::{Catalog, GroupVersionKind, Resource};

pub(super) fn document(catalog: &Catalog, version: &str, core: bool) -> Value {
    let groups = catalog.groups.iter().filter(|g| g.name.is_empty() == core);
    let items: Vec<Value> = groups
        .map(|group| {
            let versions: Vec<Value> = group
                .versions
                .iter()
                .map(|(version, resources)| {
                    let resources: Vec<Value> = resources.iter().map(|r| resource(r)).collect();
                    json!({"version": version, "freshness": "Current", "resources": resources})
                })
                .collect();
            let metadata = if core { json!({}) } else { json!({"name": group.name}) };
            json!({"metadata": metadata, "versions": versions})
        })
        .collect();
    json!({"kind": "APIGroupDiscoveryList", "apiVersion": format!("apidiscovery.k8s.io/{version}"), "metadata": {},
        "items": items})
}

fn resource(resource: &Resource) -> Value {
    let own = |kind: &GroupVersionKind| match *kind == resource.gvk && !resource.is_custom() {
        true => json!({"group": "", "version": "", "kind": kind.kind}),
        false
            if kind.group == resource.gvk.group
                && kind.version == resource.gvk.version
                && !resource.is_custom() =>
        {
            json!({"group": "", "version": "", "kind": kind.kind})
        }
        false => json!({"group": kind.group, "version": kind.version, "kind": kind.kind}),
    };
    let mut out = json!({
        "resource": resource.names.plural,
        "responseKind": own(&resource.gvk),
        "scope": if resource.namespaced() { "Namespaced" } else { "Cluster" },
        "singularResource": resource.names.singular,
        "verbs": resource.verbs,
    });
    if !resource.short_names.is_empty() {
        out["shortNames"] = json!(resource.short_names);
    }
    if !resource.categories.is_empty() {
        out["categories"] = json!(resource.categories);
    }
    if !resource.subresources.is_empty() {
        let subresources: Vec<Value> = resource
            .subresources
            .iter()
            .map(|s| json!({"subresource": s.name, "responseKind": own(&s.kind), "verbs": s.verbs}))
            .collect();
        out["subresources"] = subresources.into();
    }
    out
}
