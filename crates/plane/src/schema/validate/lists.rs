//! Lists that are sets or maps hold each element once.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::super::error::join;
use super::super::model::{ListType, Schema};
use crate::status::FieldError;

/// Finds repeated elements in the sets and map lists of `value`.
pub(super) fn repeated(
    schema: &Schema,
    value: &Value,
    old: Option<&Value>,
    path: &str,
    errors: &mut Vec<FieldError>,
) {
    if old == Some(value) {
        return;
    }
    match value {
        Value::Array(elements) => {
            let identity = |element: &Value| -> Option<Value> {
                match schema.list_type {
                    Some(ListType::Set) => Some(element.clone()),
                    Some(ListType::Map) => Some(Value::Object(keys(schema, element))),
                    _ => None,
                }
            };
            let mut seen = HashSet::new();
            for (index, element) in elements.iter().enumerate() {
                if let Some(identity) = identity(element)
                    && !seen.insert(identity.to_string())
                {
                    errors.push(FieldError::duplicate(format!("{path}[{index}]"), identity));
                }
            }
            if let Some(items) = schema.element() {
                for (index, element) in elements.iter().enumerate() {
                    repeated(items, element, None, &format!("{path}[{index}]"), errors);
                }
            }
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                if let Some(inner) = schema.field(name) {
                    repeated(inner, value, old.and_then(|o| o.get(name)), &join(path, name), errors);
                }
            }
        }
        _ => {}
    }
}

fn keys(schema: &Schema, element: &Value) -> Map<String, Value> {
    schema.list_map_keys.iter().filter_map(|key| Some((key.clone(), element.get(key)?.clone()))).collect()
}
