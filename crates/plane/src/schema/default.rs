//! Defaults, and what becomes of `null`.

use serde_json::{Map, Value};

use super::model::{Additional, Schema};

/// Fills in the defaults of `schema` where `value` has nothing, and drops `null`s that mean nothing.
///
/// A `null` in a field that is not nullable counts as absent: it gives way to the default, or goes. Objects that are
/// absent are not created for the sake of defaults inside them.
pub fn default(schema: &Schema, value: &mut Value) {
    match value {
        Value::Object(fields) => object(schema, fields),
        Value::Array(elements) => {
            if let Some(items) = schema.element() {
                for element in elements {
                    if element.is_null()
                        && !items.nullable
                        && let Some(default) = &items.default
                    {
                        *element = default.clone();
                    }
                    self::default(items, element);
                }
            }
        }
        _ => {}
    }
}

fn object(schema: &Schema, fields: &mut Map<String, Value>) {
    for (name, property) in &schema.properties {
        let idle_null = fields.get(name).is_some_and(|v| v.is_null() && !property.nullable);
        if let Some(default) = &property.default {
            if idle_null || !fields.contains_key(name) {
                fields.insert(name.clone(), default.clone());
            }
        } else if idle_null {
            fields.remove(name);
        }
    }
    if let Additional::Of(of) = &schema.additional
        && !of.nullable
    {
        fields.retain(|name, value| {
            if schema.properties.contains_key(name) || !value.is_null() {
                return true;
            }
            match &of.default {
                Some(default) => *value = default.clone(),
                None => return false,
            }
            true
        });
    }
    for (name, value) in fields.iter_mut() {
        if let Some(inner) = schema.field(name) {
            default(inner, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn nulls_and_absent_objects_follow_the_table() {
        let schema = Schema::parse(&json!({"type": "object", "properties": {
            "nn": {"type": "string", "nullable": true, "default": "dflt"},
            "nd": {"type": "string", "default": "d"},
            "sub": {"type": "object", "properties": {"in": {"type": "string", "default": "i"}}},
            "auto": {"type": "object", "default": {}, "properties": {"in": {"type": "string", "default": "i"}}},
            "list": {"type": "array", "items": {"type": "object", "properties": {"p": {"type": "integer", "default": 1}}}},
            "map": {"type": "object", "additionalProperties": {"type": "string"}},
        }}));
        let cases = [
            (json!({"nn": null}), json!({"nn": null, "nd": "d", "auto": {"in": "i"}})),
            (json!({"nd": null}), json!({"nn": "dflt", "nd": "d", "auto": {"in": "i"}})),
            (json!({"sub": null}), json!({"nn": "dflt", "nd": "d", "auto": {"in": "i"}})),
            (json!({"sub": {}}), json!({"nn": "dflt", "nd": "d", "auto": {"in": "i"}, "sub": {"in": "i"}})),
            (
                json!({"list": [{}, {"p": 2}], "map": {"a": null, "b": "x"}}),
                json!({"nn": "dflt", "nd": "d", "auto": {"in": "i"}, "list": [{"p": 1}, {"p": 2}], "map": {"b": "x"}}),
            ),
        ];
        for (mut given, wanted) in cases {
            default(&schema, &mut given);
            assert_eq!(given, wanted);
        }
    }
}
