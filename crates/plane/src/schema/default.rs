//! Defaults, and what becomes of `null`.

use serde_json::{Map, Value};

use super::model::{Additional, Schema};

/// Drops the `null`s that a request says in fields that are neither nullable nor have a default: they mean "absent".
///
/// Done where an object is read from a request or the store, not after an apply (which leaves `null` for an emptied
/// struct, and validation then refuses it).
pub fn drop_nulls(schema: &Schema, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, value| {
                let idle =
                    value.is_null() && schema.field(name).is_some_and(|f| !f.nullable && f.default.is_none());
                !idle
            });
            for (name, value) in fields {
                if let Some(inner) = schema.field(name) {
                    drop_nulls(inner, value);
                }
            }
        }
        Value::Array(elements) => {
            if let Some(items) = schema.element() {
                elements.iter_mut().for_each(|element| drop_nulls(items, element));
            }
        }
        _ => {}
    }
}

/// Fills in the defaults of `schema` where `value` has nothing, or a `null` that is not allowed.
///
/// Objects that are absent are not created for the sake of defaults inside them.
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
        let Some(default) = &property.default else { continue };
        if fields.get(name).is_none_or(|v| v.is_null() && !property.nullable) {
            fields.insert(name.clone(), default.clone());
        }
    }
    if let Additional::Of(of) = &schema.additional
        && let Some(default) = of.default.as_ref().filter(|_| !of.nullable)
    {
        for (name, value) in fields.iter_mut() {
            if value.is_null() && !schema.properties.contains_key(name) {
                *value = default.clone();
            }
        }
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
            drop_nulls(&schema, &mut given);
            default(&schema, &mut given);
            assert_eq!(given, wanted);
        }
    }
}
