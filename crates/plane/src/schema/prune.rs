//! Unknown fields: found, named and dropped.

use serde_json::{Map, Value};

use super::error::join;
use super::model::{Additional, Schema};

const IMPLICIT: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Drops from `value` what `schema` does not know and returns the dropped paths, sorted.
///
/// `resource` says that the value is a whole object, whose `apiVersion`, `kind` and `metadata` are known without being
/// declared; the fields of `metadata` itself are pruned to those of every object.
pub fn prune(schema: &Schema, value: &mut Value, resource: bool) -> Vec<String> {
    let mut unknown = Vec::new();
    Pruner { unknown: &mut unknown }.value(Some(schema), value, "", resource);
    unknown.sort();
    unknown
}

struct Pruner<'a> {
    unknown: &'a mut Vec<String>,
}

impl Pruner<'_> {
    fn value(&mut self, schema: Option<&Schema>, value: &mut Value, path: &str, resource: bool) {
        match value {
            Value::Object(fields) => self.object(schema, fields, path, resource),
            Value::Array(elements) => {
                let items = schema.and_then(Schema::element);
                let keep = items.is_none() && schema.is_some_and(|s| s.preserve_unknown || anything(s));
                if !keep {
                    for (index, element) in elements.iter_mut().enumerate() {
                        self.value(items, element, &format!("{path}[{index}]"), false);
                    }
                }
            }
            _ => {}
        }
    }

    fn object(
        &mut self,
        schema: Option<&Schema>,
        fields: &mut Map<String, Value>,
        path: &str,
        resource: bool,
    ) {
        let resource = resource || schema.is_some_and(|s| s.embedded_resource);
        let keep = schema.is_some_and(|s| s.preserve_unknown || anything(s));
        fields.retain(|name, value| {
            let here = join(path, name);
            if resource && IMPLICIT.contains(&name.as_str()) {
                if name == "metadata" {
                    self.value(Some(super::object_meta()), value, &here, false);
                }
                return true;
            }
            match schema.map(|s| (s.properties.get(name), &s.additional)) {
                Some((Some(property), _)) => self.value(Some(property), value, &here, false),
                Some((None, Additional::Of(of))) => self.value(Some(of), value, &here, false),
                Some((None, Additional::Any)) => {}
                _ if keep => {}
                _ => {
                    self.unknown.push(here);
                    return false;
                }
            }
            true
        });
    }
}

/// A schema that says nothing, as those of raw JSON in the built-in kinds.
fn anything(schema: &Schema) -> bool {
    schema.properties.is_empty()
        && schema.items.is_none()
        && matches!(schema.additional, Additional::None)
        && schema.kind.is_none()
        && !schema.int_or_string
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn schema() -> Schema {
        Schema::parse(&json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": {
            "a": {"type": "string"},
            "list": {"type": "array", "items": {"type": "object", "properties": {"b": {"type": "string"}}}},
            "map": {"type": "object", "additionalProperties": {"type": "object", "properties": {"c": {"type": "string"}}}},
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true,
                     "properties": {"known": {"type": "object", "properties": {"d": {"type": "string"}}}}},
            "inner": {"type": "object", "x-kubernetes-embedded-resource": true, "properties": {"spec": {"type": "object"}}},
        }}}}))
    }

    #[test]
    fn unknown_fields_are_dropped_and_named_in_order() {
        let mut value = json!({"apiVersion": "v1", "kind": "K", "metadata": {"name": "x", "foo": 1}, "zz": 1,
            "spec": {"a": "x", "zzz": 1, "list": [{"b": "x", "bb": 1}], "map": {"k": {"c": "x", "cc": 1}}}});
        let unknown = prune(&schema(), &mut value, true);
        assert_eq!(unknown, ["metadata.foo", "spec.list[0].bb", "spec.map.k.cc", "spec.zzz", "zz"]);
        assert_eq!(
            value,
            json!({"apiVersion": "v1", "kind": "K", "metadata": {"name": "x"},
                   "spec": {"a": "x", "list": [{"b": "x"}], "map": {"k": {"c": "x"}}}})
        );
    }

    #[test]
    fn preserved_content_stays_but_declared_parts_of_it_are_pruned() {
        let mut value = json!({"spec": {"free": {"x": {"y": 1}, "known": {"d": "x", "e": 1}}}});
        assert_eq!(prune(&schema(), &mut value, true), ["spec.free.known.e"]);
        assert_eq!(value, json!({"spec": {"free": {"x": {"y": 1}, "known": {"d": "x"}}}}));
    }

    #[test]
    fn embedded_resources_keep_their_type_and_object_metadata() {
        let mut value = json!({"spec": {"inner": {"apiVersion": "v1", "kind": "K", "other": 1,
            "metadata": {"name": "n", "bad": 1}, "spec": {"x": 1}}}});
        let unknown = prune(&schema(), &mut value, true);
        assert_eq!(unknown, ["spec.inner.metadata.bad", "spec.inner.other", "spec.inner.spec.x"]);
    }
}
