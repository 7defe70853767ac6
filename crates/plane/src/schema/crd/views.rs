//! Printer columns, scale and selectable fields.

use serde_json::Value;

use super::same;
use crate::status::FieldError;

const COLUMN_TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
const COLUMN_FORMATS: [&str; 8] =
    ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];
const MAX_SELECTABLE: usize = 8;

pub(super) fn check(all: &[&Value], errors: &mut Vec<FieldError>) {
    type Judge = fn(&Value, &Value, &str, &mut Vec<FieldError>);
    let parts: [(&str, Judge); 3] = [
        ("additionalPrinterColumns", columns),
        ("subresources", subresources),
        ("selectableFields", selectable),
    ];
    for (name, judge) in parts {
        let one = same(all, |version| version.get(name).cloned());
        for (index, version) in all.iter().enumerate() {
            let Some(part) = version.get(name) else { continue };
            let path = if one { format!("spec.{name}") } else { format!("spec.versions[{index}].{name}") };
            judge(part, version, &path, errors);
            if one {
                break;
            }
        }
    }
}

fn columns(part: &Value, _: &Value, path: &str, errors: &mut Vec<FieldError>) {
    for (index, column) in part.as_array().into_iter().flatten().enumerate() {
        let at = |field: &str| format!("{path}[{index}].{field}");
        let text = |field: &str| column[field].as_str().unwrap_or_default();
        if text("name").is_empty() {
            errors.push(FieldError::required(at("name"), ""));
        }
        match text("type") {
            "" => {
                let text = format!("must be one of {}", COLUMN_TYPES.join(","));
                errors.push(FieldError::required(at("type"), text));
            }
            kind if !COLUMN_TYPES.contains(&kind) => {
                let text = format!("must be one of {}", COLUMN_TYPES.join(","));
                errors.push(FieldError::invalid(at("type"), kind, text));
            }
            _ => {}
        }
        let format = text("format");
        if !format.is_empty() && !COLUMN_FORMATS.contains(&format) {
            let text = format!("must be one of {}", COLUMN_FORMATS.join(","));
            errors.push(FieldError::invalid(at("format"), format, text));
        }
        match text("jsonPath") {
            "" => errors.push(FieldError::required(at("JSONPath"), "")),
            json_path if !json_path.starts_with('.') => {
                let text = "must be a simple json path starting with .";
                errors.push(FieldError::invalid(at("JSONPath"), json_path, text));
            }
            _ => {}
        }
    }
}

fn subresources(part: &Value, _: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let scale = &part["scale"];
    if !scale.is_object() {
        return;
    }
    for (field, roots, needed) in [
        ("specReplicasPath", [".spec."].as_slice(), true),
        ("statusReplicasPath", &[".status."], true),
        ("labelSelectorPath", &[".spec.", ".status."], false),
    ] {
        let at = format!("{path}.scale.{field}");
        let given = scale[field].as_str().unwrap_or_default();
        let under = match roots {
            [_, _] => "either .spec or .status".to_owned(),
            roots => roots.concat().trim_end_matches('.').to_owned(),
        };
        if given.is_empty() {
            if needed {
                errors.push(FieldError::required(at, ""));
            }
        } else if given.contains('[') {
            errors.push(FieldError::invalid(
                at,
                given,
                "should be a simple json path without array notation",
            ));
        } else if !roots.iter().any(|root| given.starts_with(root)) {
            errors.push(FieldError::invalid(at, given, format!("should be a json path under {under}")));
        }
    }
}

fn selectable(part: &Value, version: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let fields = part.as_array().map_or(&[][..], Vec::as_slice);
    if fields.len() > MAX_SELECTABLE {
        errors.push(FieldError::too_many(path, fields.len(), MAX_SELECTABLE));
    }
    let mut seen = Vec::new();
    for (index, field) in fields.iter().enumerate() {
        let at = format!("{path}[{index}].jsonPath");
        let given = field["jsonPath"].as_str().unwrap_or_default();
        if given.is_empty() {
            errors.push(FieldError::required(at, ""));
            continue;
        }
        if seen.contains(&given) {
            errors.push(FieldError::duplicate(at, given));
            continue;
        }
        seen.push(given);
        if given.starts_with(".metadata") {
            errors.push(FieldError::invalid(at, given, "must not point to fields in metadata"));
            continue;
        }
        let root = version.pointer("/schema/openAPIV3Schema").unwrap_or(&Value::Null);
        let found = given
            .strip_prefix('.')
            .and_then(|rest| rest.split('.').try_fold(root, |node, name| node.get("properties")?.get(name)));
        match found.map(|node| node["type"].as_str().unwrap_or_default()) {
            None => {
                let text = "is an invalid path: does not refer to a valid field";
                errors.push(FieldError::invalid(at, given, text));
            }
            Some("string" | "boolean" | "integer") => {}
            Some(_) => errors.push(FieldError::invalid(
                at,
                given,
                "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.",
            )),
        }
    }
}
