//! One OpenAPI v3 document per group and version.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use super::{Document, custom, paths, schemas};
use crate::resource::{Catalog, Resource};

pub(super) const PREFIX: &str = "#/components/schemas/";

/// Built-in groups never change.
static BUILT_IN: LazyLock<Mutex<BTreeMap<String, Document>>> = LazyLock::new(Mutex::default);

pub(super) fn documents(catalog: &Catalog) -> BTreeMap<String, Document> {
    let mut all = BTreeMap::new();
    for group in &catalog.groups {
        for (version, resources) in &group.versions {
            let path = match group.name.is_empty() {
                true => format!("api/{version}"),
                false => format!("apis/{}/{version}", group.name),
            };
            let make = || Document::new(serde_json::to_vec(&document(resources)).unwrap_or_default());
            let document = match group.custom {
                true => make(),
                false => BUILT_IN.lock().entry(path.clone()).or_insert_with(make).clone(),
            };
            all.insert(path, document);
        }
    }
    all
}

fn document(resources: &[Arc<Resource>]) -> Value {
    let (mut paths, mut components) = (Map::new(), Map::new());
    for resource in resources {
        let name = match resource.is_custom() {
            true => {
                let name = custom::name_of(resource);
                components.insert(name.clone(), custom::schema(resource, PREFIX, false));
                schemas::add(schemas::OBJECT_META, &mut components, PREFIX);
                name
            }
            false => {
                let Some(name) = schemas::name_of(&resource.gvk) else { continue };
                schemas::add(name, &mut components, PREFIX);
                name.clone()
            }
        };
        schemas::add(schemas::LIST_META, &mut components, PREFIX);
        if resource.traits.stored {
            components.insert(format!("{name}List"), schemas::list(&resource.gvk, &name, PREFIX));
        }
        for sub in &resource.subresources {
            if let Some(name) = schemas::name_of(&sub.kind) {
                schemas::add(name, &mut components, PREFIX);
            }
        }
        paths::add(resource, &mut paths, &format!("{PREFIX}{name}"), true);
    }
    json!({
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": "1.36"},
        "paths": paths,
        "components": {"schemas": components},
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::Registry;

    fn parsed(path: &str) -> Value {
        let documents = documents(&Registry::new().catalog());
        serde_json::from_slice(&documents[path].body).unwrap()
    }

    #[test]
    fn a_document_has_what_kubectl_looks_up() {
        let document = parsed("apis/apps/v1");
        let patch = &document["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"];
        assert_eq!(
            patch["x-kubernetes-group-version-kind"],
            json!({"group": "apps", "version": "v1", "kind": "Deployment"})
        );
        assert!(
            patch["parameters"]
                .as_array()
                .unwrap()
                .iter()
                .any(|p| p["name"] == "fieldValidation" && p["in"] == "query")
        );
        assert!(patch["requestBody"]["content"].get("application/strategic-merge-patch+json").is_some());
        let schema = &document["components"]["schemas"]["io.k8s.api.apps.v1.Deployment"];
        assert_eq!(
            schema["x-kubernetes-group-version-kind"],
            json!([{"group": "apps", "version": "v1", "kind": "Deployment"}])
        );
    }

    #[test]
    fn every_reference_leads_somewhere() {
        fn references<'a>(value: &'a Value, into: &mut Vec<&'a str>) {
            match value {
                Value::Object(fields) => {
                    for (key, value) in fields {
                        match value {
                            Value::String(target) if key == "$ref" => into.push(target),
                            _ => references(value, into),
                        }
                    }
                }
                Value::Array(items) => items.iter().for_each(|item| references(item, into)),
                _ => {}
            }
        }
        for (path, document) in documents(&Registry::new().catalog()) {
            let document: Value = serde_json::from_slice(&document.body).unwrap();
            let mut found = Vec::new();
            references(&document, &mut found);
            for target in found {
                let name = target.strip_prefix(PREFIX).unwrap_or_else(|| panic!("{path}: {target}"));
                assert!(document["components"]["schemas"].get(name).is_some(), "{path}: {target}");
            }
        }
    }
}
