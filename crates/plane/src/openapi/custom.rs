//! Schemas of custom resources in the form documents hold them.

use serde_json::{Map, Value, json};

use super::schemas::OBJECT_META;
use crate::resource::Resource;

/// `com.example.v1.Widget`
pub(super) fn name_of(resource: &Resource) -> String {
    let mut parts: Vec<&str> = resource.gvk.group.split('.').collect();
    parts.reverse();
    format!("{}.{}.{}", parts.join("."), resource.gvk.version, resource.gvk.kind)
}

/// The schema of a whole object.
pub(super) fn schema(resource: &Resource, prefix: &str, v2: bool) -> Value {
    let raw = resource.custom.as_ref().map(|c| c.schema.as_ref().clone()).unwrap_or_default();
    let mut schema = publish(&raw, v2);
    if !schema.is_object() {
        schema = json!({});
    }
    let gvk = &resource.gvk;
    schema["x-kubernetes-group-version-kind"] =
        json!([{"group": gvk.group, "version": gvk.version, "kind": gvk.kind}]);
    if schema["type"] == "object" && schema.get("properties").is_some()
        || schema.get("x-kubernetes-preserve-unknown-fields").is_none()
    {
        let properties = &mut schema["properties"];
        properties["apiVersion"] = json!({"type": "string"});
        properties["kind"] = json!({"type": "string"});
        properties["metadata"] = json!({"$ref": format!("{prefix}{OBJECT_META}")});
    }
    if !resource.fields.is_empty() && !v2 {
        let fields: Vec<Value> = resource.fields.iter().map(|f| json!({"fieldPath": f.name})).collect();
        schema["x-kubernetes-selectable-fields"] = json!(fields);
    }
    schema
}

/// int-or-string spelt out for v3; v2 loses what it has no words for.
fn publish(value: &Value, v2: bool) -> Value {
    let Value::Object(fields) = value else {
        return match value {
            Value::Array(items) => Value::Array(items.iter().map(|item| publish(item, v2)).collect()),
            other => other.clone(),
        };
    };
    let mut out = Map::new();
    let int_or_string = fields.get("x-kubernetes-int-or-string") == Some(&Value::Bool(true));
    for (key, value) in fields {
        match key.as_str() {
            "nullable" | "oneOf" | "anyOf" | "allOf" | "not" if v2 => {}
            "default" | "enum" | "example" => {
                out.insert(key.clone(), value.clone());
            }
            "properties" => {
                let inner: Map<String, Value> = value
                    .as_object()
                    .into_iter()
                    .flatten()
                    .map(|(k, v)| (k.clone(), publish(v, v2)))
                    .collect();
                out.insert(key.clone(), Value::Object(inner));
            }
            _ => {
                out.insert(key.clone(), publish(value, v2));
            }
        }
    }
    if int_or_string && !v2 && !out.contains_key("anyOf") && !out.contains_key("allOf") {
        out.insert("anyOf".into(), json!([{"type": "integer"}, {"type": "string"}]));
    }
    if v2 && out.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(true)) {
        // v2 clients would take the listed properties for all there are.
        out.remove("properties");
        out.remove("items");
    }
    Value::Object(out)
}
