//! The round trip through a Go struct: what a typed server stores is not quite what was sent.
//!
//! `null`s, empty lists and maps and zero values go where the struct leaves them out; zero values appear where it
//! prints them anyway; quantities take their canonical form.

use serde_json::{Map, Value};

use super::quantity::Quantity;
use super::table::{GoFacts, go_facts, schema};
use super::walk::{each_definition, each_scalar};
use crate::resource::GroupVersionKind;
use crate::schema::{Additional, Schema, Type};

/// Brings an object of a built-in kind into the form in which the server stores and prints it.
pub fn normalize(gvk: &GroupVersionKind, object: &mut Value) {
    let Some(schema) = schema(gvk) else { return };
    texts_for_nulls(schema, object);
    each_definition(schema, object, &mut |definition, fields| {
        fields.retain(|name, value| !value.is_null() || definition_keeps_null(definition, name));
        if let Some(facts) = go_facts(definition) {
            round_trip(facts, fields);
        }
    });
    each_scalar(schema, "resource.Quantity", object, false, &mut |value, in_list| {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            _ => return,
        };
        if let Some(quantity) = Quantity::parse(text.trim()) {
            let quantity = if in_list { quantity.round_to_milli() } else { quantity };
            *value = Value::String(quantity.to_string());
        }
    });
}

/// A `null` in a map of texts is the empty text, as Go's decoder reads it; elsewhere it is as good as absent.
pub fn texts_for_nulls(schema: &Schema, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            let texts = matches!(&schema.additional, Additional::Of(of) if of.kind == Some(Type::String));
            for (name, value) in fields {
                if value.is_null() && texts && !schema.properties.contains_key(name) {
                    *value = Value::String(String::new());
                } else if let Some(inner) = schema.field(name) {
                    texts_for_nulls(inner, value);
                }
            }
        }
        Value::Array(elements) => {
            if let Some(items) = schema.element() {
                elements.iter_mut().for_each(|element| texts_for_nulls(items, element));
            }
        }
        _ => {}
    }
}

/// The one raw JSON field in which `null` is a value.
fn definition_keeps_null(definition: &str, name: &str) -> bool {
    definition == "apiextensions.v1.JSONSchemaProps" && matches!(name, "default" | "example")
}

fn round_trip(facts: &GoFacts, fields: &mut Map<String, Value>) {
    for name in &facts.omit {
        if fields.get(name).is_some_and(is_zero) {
            fields.remove(name);
        }
    }
    for name in &facts.null {
        fields.entry(name.clone()).or_insert(Value::Null);
    }
    for (name, zero) in &facts.zero {
        fields.entry(name.clone()).or_insert_with(|| zero.clone());
    }
    for name in &facts.structs {
        fields.entry(name.clone()).or_insert_with(|| Value::Object(Map::new()));
    }
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(b) => !b,
        Value::Number(n) => n.as_f64() == Some(0.0),
        Value::String(s) => s.is_empty(),
        Value::Array(all) => all.is_empty(),
        Value::Object(all) => all.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn normal(group: &str, kind: &str, mut object: Value) -> Value {
        normalize(&GroupVersionKind::new(group, "v1", kind), &mut object);
        object
    }

    #[test]
    fn zero_values_go_or_stay_as_in_go() {
        assert_eq!(
            normal(
                "apps",
                "Deployment",
                json!({"metadata": {"name": "a", "labels": {}, "annotations": null},
                "spec": {"replicas": 0, "minReadySeconds": 0, "paused": false, "template": {"spec": {"containers": [
                    {"name": "c", "args": [], "resources": {"limits": {"cpu": "0.1", "memory": "1024Mi"}, "requests": {"cpu": 1}}}]}}}})
            ),
            json!({"metadata": {"name": "a"}, "status": {},
                "spec": {"replicas": 0, "strategy": {}, "template": {"metadata": {}, "spec": {"containers": [
                    {"name": "c", "resources": {"limits": {"cpu": "100m", "memory": "1Gi"}, "requests": {"cpu": "1"}}}]}}}})
        );
        assert_eq!(
            normal("rbac.authorization.k8s.io", "Role", json!({"metadata": {"name": "r"}})),
            json!({"metadata": {"name": "r"}, "rules": null})
        );
        assert_eq!(
            normal(
                "apps",
                "StatefulSet",
                json!({"metadata": {}, "spec": {"template": {"spec": {"containers": []}}}})
            )["status"],
            json!({"replicas": 0, "availableReplicas": 0})
        );
    }

    #[test]
    fn null_among_texts_is_the_empty_text() {
        assert_eq!(
            normal(
                "",
                "ConfigMap",
                json!({"metadata": {"name": "c", "labels": {"l": null}, "annotations": null}, "data": {"a": null}})
            ),
            json!({"metadata": {"name": "c", "labels": {"l": ""}}, "data": {"a": ""}})
        );
    }

    #[test]
    fn schemas_inside_a_crd_are_not_touched() {
        let props = json!({"type": "object", "default": {"a": 1}, "properties": {"x": {"type": "integer", "minimum": 0}}});
        let crd = json!({"metadata": {"name": "x"}, "spec": {"group": "g", "scope": "Namespaced", "names": {"plural": "p", "kind": "K"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": props.clone()}}]}});
        let out = normal("apiextensions.k8s.io", "CustomResourceDefinition", crd);
        assert_eq!(out["spec"]["versions"][0]["schema"]["openAPIV3Schema"], props);
    }
}
