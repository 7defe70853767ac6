//! CustomResourceDefinitions: what is filled in, what is refused, and the compiled schema of a version.
//!
//! | file | judges |
//! |---|---|
//! | `names` | group, names, versions, conversion, stored versions |
//! | `structural` | the shape of a schema: types, alternatives, forbidden keywords |
//! | `extensions` | `x-kubernetes-*` of a schema node |
//! | `views` | printer columns, scale, selectable fields |

mod extensions;
mod names;
mod structural;
mod views;

use serde_json::{Map, Value, json};

use super::cel;
use super::model::Schema;
use crate::status::FieldError;

/// Fills in what a CRD leaves out.
pub fn default(crd: &mut Value) {
    let Some(spec) = crd.get_mut("spec").and_then(Value::as_object_mut) else { return };
    let stored: Vec<Value> = versions(spec.get("versions"))
        .filter(|version| version.get("storage") == Some(&Value::Bool(true)))
        .filter_map(|version| version.get("name").cloned())
        .collect();
    if let Some(Value::Object(names)) = spec.get_mut("names") {
        let kind = names.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
        let missing = |names: &Map<String, Value>, name: &str| {
            names.get(name).and_then(Value::as_str).is_none_or(str::is_empty) && !kind.is_empty()
        };
        if missing(names, "singular") {
            names.insert("singular".into(), json!(kind.to_lowercase()));
        }
        if missing(names, "listKind") {
            names.insert("listKind".into(), json!(format!("{kind}List")));
        }
    }
    if spec.get("conversion").is_none_or(Value::is_null) {
        spec.insert("conversion".into(), json!({"strategy": "None"}));
    }
    if let Value::Object(crd) = crd
        && let Value::Object(status) = crd.entry("status").or_insert_with(|| json!({}))
        && status.get("storedVersions").and_then(Value::as_array).is_none_or(Vec::is_empty)
        && !stored.is_empty()
    {
        status.insert("storedVersions".into(), Value::Array(stored));
    }
}

/// Judges a CRD, or with `old` an update of it: a schema that has not changed is not judged again.
pub fn check(crd: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    names::check(crd, old, &mut errors);
    let spec = &crd["spec"];
    let all: Vec<&Value> = versions(spec.get("versions")).collect();
    let schema = |version: &&Value| version.pointer("/schema/openAPIV3Schema").cloned();
    if all.iter().all(|version| schema(version).is_some()) && same(&all, schema) {
        if let Some(first) = all.first() {
            check_schema(first, old, "spec.validation.openAPIV3Schema", &mut errors);
        }
    } else {
        for (index, version) in all.iter().enumerate() {
            let path = format!("spec.versions[{index}].schema.openAPIV3Schema");
            match schema(version) {
                Some(_) => check_schema(version, old, &path, &mut errors),
                None => errors.push(FieldError::required(path, "")),
            }
        }
    }
    views::check(&all, &mut errors);
    errors
}

/// The schema of a version, with its CEL rules compiled.
pub fn compile(version: &Value) -> Schema {
    let raw = version.pointer("/schema/openAPIV3Schema").unwrap_or(&Value::Null);
    Schema::compile(raw)
}

fn check_schema(version: &Value, old: Option<&Value>, path: &str, errors: &mut Vec<FieldError>) {
    let Some(raw) = version.pointer("/schema/openAPIV3Schema") else { return };
    let before = old.and_then(|old| {
        versions(old.pointer("/spec/versions"))
            .find(|other| other.get("name") == version.get("name"))
            .and_then(|other| other.pointer("/schema/openAPIV3Schema"))
    });
    if before == Some(raw) {
        return;
    }
    if super::super::patch::too_deep(raw) {
        errors.push(FieldError::invalid(path, Value::Null, "must not be nested so deeply"));
        return;
    }
    let found = errors.len();
    structural::check(raw, path, errors);
    if errors.len() == found {
        cel::check(raw, path, errors);
    }
}

fn versions(list: Option<&Value>) -> impl Iterator<Item = &Value> {
    list.and_then(Value::as_array).into_iter().flatten()
}

/// Whether a part is the same in all versions: the server then reports on it as on a part of the CRD itself.
fn same(all: &[&Value], part: impl Fn(&&Value) -> Option<Value>) -> bool {
    all.windows(2).all(|pair| part(&pair[0]) == part(&pair[1]))
}

#[cfg(test)]
mod tests;
