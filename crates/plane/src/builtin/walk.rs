//! A walk over an object beside its schema, stopping at every definition by name.

use serde_json::{Map, Value};

use crate::schema::Schema;

/// Calls `at` with the short name of the definition and the fields of every object in `value`, outer ones first.
pub(super) fn each_definition(
    schema: &Schema,
    value: &mut Value,
    at: &mut dyn FnMut(&str, &mut Map<String, Value>),
) {
    match value {
        Value::Object(fields) => {
            if let Some(definition) = schema.definition.as_deref() {
                at(definition, fields);
            }
            for (name, value) in fields {
                if let Some(inner) = schema.field(name) {
                    each_definition(inner, value, at);
                }
            }
        }
        Value::Array(elements) => {
            if let Some(items) = schema.element() {
                elements.iter_mut().for_each(|element| each_definition(items, element, at));
            }
        }
        _ => {}
    }
}

/// Calls `at` with every scalar whose schema is the definition `name`, and whether it is a value in a map.
pub(super) fn each_scalar(
    schema: &Schema,
    name: &str,
    value: &mut Value,
    in_map: bool,
    at: &mut dyn FnMut(&mut Value, bool),
) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                if let Some(inner) = schema.field(key) {
                    each_scalar(inner, name, value, !schema.properties.contains_key(key), at);
                }
            }
        }
        Value::Array(elements) => {
            if let Some(items) = schema.element() {
                elements.iter_mut().for_each(|element| each_scalar(items, name, element, false, at));
            }
        }
        scalar => {
            if schema.definition.as_deref() == Some(name) {
                at(scalar, in_map);
            }
        }
    }
}
