//! Schemas of built-in kinds in the form documents hold them.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::builtin;
use crate::resource::GroupVersionKind;

pub(super) const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
pub(super) const LIST_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta";

/// Names of the definitions of a kind.
pub(super) fn name_of(gvk: &GroupVersionKind) -> Option<&'static String> {
    builtin::definitions().iter().find_map(|(name, definition)| {
        let is = definition["x-kubernetes-group-version-kind"].as_array()?.iter().any(|found| {
            found["group"] == gvk.group.as_ref()
                && found["version"] == gvk.version.as_ref()
                && found["kind"] == gvk.kind.as_ref()
        });
        is.then_some(name)
    })
}

/// Adds a definition and everything it refers to, in the document's own form.
pub(super) fn add(name: &str, into: &mut Map<String, Value>, prefix: &str) {
    let mut open = BTreeSet::from([name.to_string()]);
    while let Some(name) = open.pop_first() {
        if into.contains_key(&name) {
            continue;
        }
        let Some(definition) = builtin::definitions().get(&name) else { continue };
        let mut found = BTreeSet::new();
        let published = publish(definition, prefix, &mut found);
        into.insert(name, published);
        open.extend(found.into_iter().filter(|name| !into.contains_key(name)));
    }
}

/// The schema of the list of a kind.
pub(super) fn list(gvk: &GroupVersionKind, item: &str, prefix: &str) -> Value {
    let reference = |name: &str| json!({"$ref": format!("{prefix}{name}")});
    json!({
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": {"type": "string"},
            "items": {"type": "array", "items": reference(item)},
            "kind": {"type": "string"},
            "metadata": reference(LIST_META),
        },
        "x-kubernetes-group-version-kind": [{"group": gvk.group, "version": gvk.version, "kind": format!("{}List", gvk.kind)}],
    })
}

/// References made complete, our own marks taken out.
fn publish(value: &Value, prefix: &str, found: &mut BTreeSet<String>) -> Value {
    match value {
        Value::Object(fields) => {
            let mut out = Map::new();
            for (key, value) in fields {
                match key.as_str() {
                    "x-go" | "x-definition" => {}
                    "$ref" => {
                        let name = value.as_str().unwrap_or_default();
                        found.insert(name.to_string());
                        let reference = json!({"$ref": format!("{prefix}{name}")});
                        if fields.len() > 1 && prefix.contains("components") {
                            out.insert("allOf".into(), json!([reference]));
                        } else {
                            out.insert("$ref".into(), reference["$ref"].clone());
                        }
                    }
                    "default" | "enum" => {
                        out.insert(key.clone(), value.clone());
                    }
                    "properties" => {
                        let properties = value.as_object().into_iter().flatten();
                        let properties =
                            properties.map(|(name, value)| (name.clone(), publish(value, prefix, found)));
                        out.insert(key.clone(), Value::Object(properties.collect()));
                    }
                    _ => {
                        out.insert(key.clone(), publish(value, prefix, found));
                    }
                }
            }
            Value::Object(out)
        }
        Value::Array(items) => Value::Array(items.iter().map(|item| publish(item, prefix, found)).collect()),
        other => other.clone(),
    }
}
