//! Is a schema structural? Every value has one type, said outside of alternatives; nothing is forbidden or missing.

use serde_json::{Map, Value};

use super::extensions;
use crate::schema::{Schema, compile_pattern, prune, validate_at};
use crate::status::{FieldError, FieldErrorKind as Kind};

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];
const ALTERNATIVES: [&str; 3] = ["allOf", "anyOf", "oneOf"];

/// Where a node stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Root,
    Field,
    Item,
}

pub(super) fn check(raw: &Value, path: &str, errors: &mut Vec<FieldError>) {
    if raw["nullable"] == Value::Bool(true) {
        errors.push(FieldError::forbidden(format!("{path}.nullable"), "nullable cannot be true at the root"));
    }
    let found = errors.len();
    node(raw, path, Place::Root, errors);
    metadata(raw, path, errors);
    // Defaults are judged by the schema, so it must be one.
    if errors.len() == found {
        defaults(raw, path, errors);
    }
}

fn node(raw: &Value, path: &str, place: Place, errors: &mut Vec<FieldError>) {
    let Value::Object(fields) = raw else { return };
    common(fields, path, errors);
    own_type(fields, path, place, errors);
    extensions::check(fields, path, errors);
    if fields.get("type").is_some_and(|t| t == "array") && !fields.get("items").is_some_and(Value::is_object)
    {
        errors.push(FieldError::required(format!("{path}.items"), "must be specified"));
    }
    alternatives(fields, fields, path, path, errors);
    for (name, value) in object(fields, "properties") {
        node(value, &format!("{path}.properties[{name}]"), Place::Field, errors);
    }
    if let Some(items @ Value::Object(_)) = fields.get("items") {
        node(items, &format!("{path}.items"), Place::Item, errors);
    }
    if let Some(values @ Value::Object(_)) = fields.get("additionalProperties") {
        node(values, &format!("{path}.additionalProperties"), Place::Field, errors);
    }
}

fn object<'v>(fields: &'v Map<String, Value>, name: &str) -> impl Iterator<Item = (&'v String, &'v Value)> {
    fields.get(name).and_then(Value::as_object).into_iter().flatten()
}

fn is(fields: &Map<String, Value>, name: &str) -> bool {
    fields.get(name) == Some(&Value::Bool(true))
}

/// What no schema may have, wherever it stands.
fn common(fields: &Map<String, Value>, path: &str, errors: &mut Vec<FieldError>) {
    for name in ["$ref", "definitions", "dependencies", "patternProperties", "additionalItems", "id"] {
        let empty = fields
            .get(name)
            .is_none_or(|v| v.is_null() || v == "" || v.as_object().is_some_and(Map::is_empty));
        if !empty {
            errors.push(FieldError::forbidden(format!("{path}.{name}"), format!("{name} is not supported")));
        }
    }
    if is(fields, "uniqueItems") {
        let text = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
        errors.push(FieldError::forbidden(format!("{path}.uniqueItems"), text));
    }
    let properties = fields.get("properties").and_then(Value::as_object).is_some_and(|p| !p.is_empty());
    match fields.get("additionalProperties") {
        Some(Value::Bool(false)) => {
            let text = "additionalProperties cannot be set to false";
            errors.push(FieldError::forbidden(format!("{path}.additionalProperties"), text));
        }
        Some(Value::Object(_)) if properties => {
            let text = "additionalProperties and properties are mutual exclusive";
            errors.push(FieldError::forbidden(format!("{path}.additionalProperties"), text));
        }
        _ => {}
    }
    if fields.get("items").is_some_and(Value::is_array) {
        let text = "items must be a schema object and not an array";
        errors.push(FieldError::forbidden(format!("{path}.items"), text));
    }
    if let Some(pattern) = fields.get("pattern").and_then(Value::as_str)
        && let Err(why) = compile_pattern(pattern)
    {
        let text = format!("must be a valid regular expression, but isn't: {why}");
        errors.push(FieldError::invalid(format!("{path}.pattern"), pattern, text));
    }
}

fn own_type(fields: &Map<String, Value>, path: &str, place: Place, errors: &mut Vec<FieldError>) {
    let at = format!("{path}.type");
    let kind = fields.get("type").and_then(Value::as_str).unwrap_or_default();
    let free = is(fields, "x-kubernetes-preserve-unknown-fields");
    let int_or_string = is(fields, "x-kubernetes-int-or-string");
    match kind {
        "" if int_or_string => {}
        "" => match place {
            Place::Root => errors.push(FieldError::required(at, "must not be empty at the root")),
            _ if free => {}
            Place::Field => {
                errors.push(FieldError::required(at, "must not be empty for specified object fields"))
            }
            Place::Item => {
                errors.push(FieldError::required(at, "must not be empty for specified array items"))
            }
        },
        "null" => {
            let text = "type cannot be set to null, use nullable as an alternative";
            errors.push(FieldError::forbidden(at, text));
        }
        kind if !TYPES.contains(&kind) => errors.push(FieldError::not_supported(at, kind, &TYPES)),
        kind if place == Place::Root && kind != "object" => {
            errors.push(FieldError::invalid(at, kind, "must be object at the root"));
        }
        kind if int_or_string => {
            errors.push(FieldError::invalid(at, kind, "must be empty if x-kubernetes-int-or-string is true"));
        }
        _ => {}
    }
}

/// The alternatives of a node: they may only say what the node itself declares, and nothing structural.
fn alternatives(
    node: &Map<String, Value>,
    fields: &Map<String, Value>,
    node_path: &str,
    path: &str,
    errors: &mut Vec<FieldError>,
) {
    let int_or_string = is(node, "x-kubernetes-int-or-string");
    for name in ALTERNATIVES {
        let list = fields.get(name).and_then(Value::as_array);
        for (index, inner) in list.into_iter().flatten().enumerate() {
            // `anyOf: [{type: integer}, {type: string}]` beside int-or-string, or inside an `allOf` of it.
            let types = int_or_string && name == "anyOf" && int_or_string_pair(fields.get(name));
            alternative(node, inner, node_path, &format!("{path}.{name}[{index}]"), types, errors);
        }
    }
    if let Some(not) = fields.get("not") {
        alternative(node, not, node_path, &format!("{path}.not"), false, errors);
    }
}

fn int_or_string_pair(list: Option<&Value>) -> bool {
    list.and_then(Value::as_array).is_some_and(|list| match list.as_slice() {
        [a, b] => a["type"] == "integer" && b["type"] == "string",
        _ => false,
    })
}

fn alternative(
    node: &Map<String, Value>,
    raw: &Value,
    node_path: &str,
    path: &str,
    typed: bool,
    errors: &mut Vec<FieldError>,
) {
    let Value::Object(fields) = raw else { return };
    common(fields, path, errors);
    for (name, what) in [
        ("type", "must be empty"),
        ("title", "must be empty"),
        ("description", "must be empty"),
        ("default", "must be undefined"),
        ("nullable", "must be false"),
        ("additionalProperties", "must be undefined"),
        ("x-kubernetes-preserve-unknown-fields", "must be undefined"),
        ("x-kubernetes-embedded-resource", "must be false"),
        ("x-kubernetes-int-or-string", "must be false"),
        ("x-kubernetes-list-map-keys", "must be empty"),
        ("x-kubernetes-list-type", "must be undefined"),
        ("x-kubernetes-map-type", "must be undefined"),
        ("x-kubernetes-validations", "must be empty"),
    ] {
        let given = fields.get(name).is_some_and(|v| !v.is_null() && *v != Value::Bool(false) && v != "");
        if given && !(typed && name == "type") {
            errors.push(FieldError::forbidden(format!("{path}.{name}"), format!("{what} to be structural")));
        }
    }
    for (name, value) in object(fields, "properties") {
        let here = format!("{path}.properties[{name}]");
        match node.get("properties").and_then(|p| p.get(name)).and_then(Value::as_object) {
            Some(declared) => {
                alternative(
                    declared,
                    value,
                    &format!("{node_path}.properties[{name}]"),
                    &here,
                    false,
                    errors,
                );
            }
            None => match node.get("additionalProperties").and_then(Value::as_object) {
                Some(declared) => {
                    let above = format!("{node_path}.additionalProperties");
                    alternative(declared, value, &above, &here, false, errors);
                }
                None => errors.push(FieldError::required(
                    format!("{node_path}.properties[{name}]"),
                    format!("because it is defined in {here}"),
                )),
            },
        }
    }
    if let Some(items) = fields.get("items") {
        let here = format!("{path}.items");
        match node.get("items").and_then(Value::as_object) {
            Some(declared) => {
                alternative(declared, items, &format!("{node_path}.items"), &here, false, errors)
            }
            None => errors.push(FieldError::required(
                format!("{node_path}.items"),
                format!("because it is defined in {here}"),
            )),
        }
    }
    alternatives(node, fields, node_path, path, errors);
}

fn defaults(raw: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let Value::Object(fields) = raw else { return };
    default_value(raw, path, errors);
    for (name, value) in object(fields, "properties") {
        defaults(value, &format!("{path}.properties[{name}]"), errors);
    }
    for name in ["items", "additionalProperties"] {
        if let Some(inner) = fields.get(name) {
            defaults(inner, &format!("{path}.{name}"), errors);
        }
    }
}

/// The default must be a value of the schema.
fn default_value(raw: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let Some(default) = raw.get("default").filter(|d| !d.is_null()) else { return };
    let at = format!("{path}.default");
    let schema = Schema::parse(raw);
    let mut pruned = default.clone();
    if !prune(&schema, &mut pruned, schema.embedded_resource).is_empty() {
        errors.push(FieldError::invalid(at, default.clone(), "must not have unknown fields"));
        return;
    }
    let mut filled = default.clone();
    crate::schema::default(&schema, &mut filled);
    errors.extend(validate_at(&schema, &at, &filled, None).errors.into_iter().filter(|e| {
        // Rules are judged with the objects, and the note that they were not is no error of the default.
        !matches!(&e.kind, Kind::Invalid(Value::Null, _))
    }));
}

/// `metadata` is implied; only its name may be restricted.
fn metadata(raw: &Value, path: &str, errors: &mut Vec<FieldError>) {
    for (name, kind) in [("apiVersion", "string"), ("kind", "string"), ("metadata", "object")] {
        let given = &raw["properties"][name];
        if given.is_object() && given["type"].as_str().is_some_and(|t| t != kind) {
            let at = format!("{path}.properties[{name}].type");
            errors.push(FieldError::invalid(at, given["type"].clone(), format!("must be {kind}")));
        }
    }
    let Some(metadata) = raw["properties"]["metadata"].as_object() else { return };
    let only_names = metadata
        .get("properties")
        .and_then(Value::as_object)
        .is_none_or(|p| p.keys().all(|k| k == "name" || k == "generateName"));
    let plain = [
        "additionalProperties",
        "items",
        "default",
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-embedded-resource",
        "x-kubernetes-int-or-string",
        "x-kubernetes-list-type",
        "x-kubernetes-map-type",
    ]
    .iter()
    .all(|name| metadata.get(*name).is_none_or(|v| v.is_null() || *v == Value::Bool(false)));
    if !only_names || !plain {
        errors.push(FieldError::forbidden(
            format!("{path}.properties[metadata]"),
            "must not specify anything other than name and generateName, but metadata is implicitly specified",
        ));
    }
}
