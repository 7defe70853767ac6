//! The `x-kubernetes-*` keywords of one schema node.

use serde_json::{Map, Value};

use crate::status::FieldError;

pub(super) fn check(fields: &Map<String, Value>, path: &str, errors: &mut Vec<FieldError>) {
    let kind = fields.get("type").and_then(Value::as_str).unwrap_or_default();
    if let Some(Value::Bool(false)) = fields.get("x-kubernetes-preserve-unknown-fields") {
        let at = format!("{path}.x-kubernetes-preserve-unknown-fields");
        errors.push(FieldError::invalid(at, false, "must be true or undefined"));
    }
    embedded(fields, kind, path, errors);
    match fields.get("x-kubernetes-map-type").and_then(Value::as_str) {
        Some("granular" | "atomic") if kind != "object" => {
            let text = "must be object if x-kubernetes-map-type is specified";
            errors.push(FieldError::invalid(format!("{path}.type"), kind, text));
        }
        None | Some("granular" | "atomic") => {}
        Some(other) => {
            let at = format!("{path}.x-kubernetes-map-type");
            errors.push(FieldError::not_supported(at, other, &["atomic", "granular"]));
        }
    }
    list(fields, kind, path, errors);
}

fn embedded(fields: &Map<String, Value>, kind: &str, path: &str, errors: &mut Vec<FieldError>) {
    if fields.get("x-kubernetes-embedded-resource") != Some(&Value::Bool(true)) {
        return;
    }
    match kind {
        "object" => {}
        "" => errors.push(FieldError::required(
            format!("{path}.type"),
            "must be object if x-kubernetes-embedded-resource is true",
        )),
        other => errors.push(FieldError::invalid(
            format!("{path}.type"),
            other,
            "must be object if x-kubernetes-embedded-resource is true",
        )),
    }
    let free = fields.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(true));
    let properties = fields.get("properties").and_then(Value::as_object).is_some_and(|p| !p.is_empty());
    if !free && !properties {
        errors.push(FieldError::required(
            format!("{path}.properties"),
            "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields",
        ));
    }
}

fn list(fields: &Map<String, Value>, kind: &str, path: &str, errors: &mut Vec<FieldError>) {
    let keys: Vec<&str> = fields
        .get("x-kubernetes-list-map-keys")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let at_keys = format!("{path}.x-kubernetes-list-map-keys");
    let list_type = fields.get("x-kubernetes-list-type").and_then(Value::as_str);
    match list_type {
        None => {
            if !keys.is_empty() {
                let text = "must be empty if x-kubernetes-list-type is not map";
                errors.push(FieldError::invalid(at_keys, fields["x-kubernetes-list-map-keys"].clone(), text));
            }
            return;
        }
        Some("atomic" | "set" | "map") => {}
        Some(other) => {
            let at = format!("{path}.x-kubernetes-list-type");
            errors.push(FieldError::not_supported(at, other, &["atomic", "map", "set"]));
            return;
        }
    }
    if kind != "array" {
        let text = "must be array if x-kubernetes-list-type is specified";
        errors.push(match kind {
            "" => FieldError::required(format!("{path}.type"), text),
            kind => FieldError::invalid(format!("{path}.type"), kind, text),
        });
        return;
    }
    let Some(items) = fields.get("items").and_then(Value::as_object) else { return };
    match list_type {
        Some("set") => set(items, path, errors),
        Some("map") if keys.is_empty() => {
            errors.push(FieldError::required(at_keys, "must not be empty if x-kubernetes-list-type is map"));
        }
        Some("map") => map(items, &keys, path, errors),
        _ => {}
    }
}

fn set(items: &Map<String, Value>, path: &str, errors: &mut Vec<FieldError>) {
    if items.get("nullable") == Some(&Value::Bool(true)) {
        let text = "cannot be nullable when x-kubernetes-list-type is set";
        errors.push(FieldError::forbidden(format!("{path}.items.nullable"), text));
    }
    let (name, wanted) = match items.get("type").and_then(Value::as_str) {
        Some("object") => {
            ("x-kubernetes-map-type", "atomic as item of a list with x-kubernetes-list-type=set")
        }
        Some("array") => {
            ("x-kubernetes-list-type", "atomic as item of a list with x-kubernetes-list-type=set")
        }
        _ => return,
    };
    if items.get(name).is_none_or(|v| v != "atomic") {
        let shown = items.get(name).cloned().unwrap_or(Value::Null);
        errors.push(FieldError::invalid(format!("{path}.items.{name}"), shown, format!("must be {wanted}")));
    }
}

fn map(items: &Map<String, Value>, keys: &[&str], path: &str, errors: &mut Vec<FieldError>) {
    if items.get("type").is_none_or(|t| t != "object") {
        let shown = items.get("type").cloned().unwrap_or(Value::Null);
        let text = "must be object if parent array's x-kubernetes-list-type is map";
        errors.push(FieldError::invalid(format!("{path}.items.type"), shown, text));
        return;
    }
    if items.get("nullable") == Some(&Value::Bool(true)) {
        let text = "cannot be nullable when x-kubernetes-list-type is map";
        errors.push(FieldError::forbidden(format!("{path}.items.nullable"), text));
    }
    let required = |key: &str| {
        items.get("required").and_then(Value::as_array).is_some_and(|all| all.iter().any(|name| name == key))
    };
    for (index, key) in keys.iter().enumerate() {
        let Some(property) = items.get("properties").and_then(|p| p.get(*key)) else {
            let at = format!("{path}.x-kubernetes-list-map-keys[{index}]");
            errors.push(FieldError::invalid(at, *key, "entries must all be names of item properties"));
            continue;
        };
        if matches!(property["type"].as_str(), Some("object" | "array")) {
            let at = format!("{path}.items.properties[{key}].type");
            let text = "must be a scalar type if parent array's x-kubernetes-list-type is map";
            errors.push(FieldError::invalid(at, property["type"].clone(), text));
        }
        if property["nullable"] == Value::Bool(true) {
            let at = format!("{path}.items.properties[{key}].nullable");
            errors.push(FieldError::forbidden(
                at,
                "this property is in x-kubernetes-list-map-keys, so it cannot be nullable",
            ));
        }
        if property.get("default").is_none_or(Value::is_null) && !required(key) {
            errors.push(FieldError::required(
                format!("{path}.items.properties[{key}].default"),
                "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property",
            ));
        }
    }
}
