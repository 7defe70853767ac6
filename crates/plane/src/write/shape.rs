//! Where an object meets its schema: unknown fields, defaults, validation. The one place that knows which kinds have what.

use serde_json::Value;

use super::typed;
use crate::builtin;
use crate::patch::strategic::go_print;
use crate::resource::Resource;
use crate::schema;
use crate::server::Warnings;
use crate::status::FieldError;

/// Drops unknown fields; tells which.
///
/// After an apply `null` stays where a struct was emptied, for validation to refuse.
pub(super) fn prune(resource: &Resource, object: &mut Value, applied: bool) -> Vec<String> {
    let Some(schema) = resource.schema() else { return Vec::new() };
    let unknown = schema::prune(schema, object, true);
    if resource.is_custom() && !applied {
        schema::drop_nulls(schema, object);
    }
    unknown
}

/// Fills in defaults, and brings built-in kinds into the form in which they are stored.
pub(super) fn complete(resource: &Resource, object: &mut Value) {
    match &resource.custom {
        Some(custom) => schema::default(&custom.structural, object),
        None => {
            if is_definition(resource) {
                schema::crd::default(object);
            }
            builtin::default(&resource.gvk, object);
            builtin::normalize(&resource.gvk, object);
        }
    }
}

/// An object that somebody else has changed, read anew as its kind: typed, pruned, completed. The error is the decoder's.
pub(crate) fn decoded(resource: &Resource, mut object: Value) -> Result<Value, String> {
    if let Some(mismatch) = typed::mismatch(resource, &object) {
        return Err(mismatch.text());
    }
    prune(resource, &mut object, false);
    complete(resource, &mut object);
    Ok(object)
}

/// Everything wrong with an object; `old` on update.
pub(super) fn check(
    resource: &Resource,
    object: &Value,
    old: Option<&Value>,
    warnings: &Warnings,
) -> Vec<FieldError> {
    let Some(custom) = &resource.custom else {
        if is_definition(resource) {
            return schema::crd::check(object, old);
        }
        let errors = builtin::validate(&resource.gvk, object, old);
        if errors.is_empty() {
            warnings.extend(builtin::warnings(&resource.gvk, object, old));
        }
        return errors;
    };
    let found = schema::validate(&custom.structural, object, old);
    warnings.extend(found.warnings);
    let mut errors = found.errors;
    if let Some(scale) = &custom.scale {
        errors.extend(check_replicas(object, &scale.spec_replicas));
        errors.extend(check_replicas(object, &scale.status_replicas));
    }
    errors
}

fn is_definition(resource: &Resource) -> bool {
    !resource.is_custom() && resource.gvk.kind.as_ref() == "CustomResourceDefinition"
}

/// What `/scale` would show must fit a Scale.
fn check_replicas(object: &Value, path: &str) -> Option<FieldError> {
    let replicas = match integer_at(object, path) {
        Ok(found) => found?,
        Err(words) => return Some(FieldError::invalid(path, 0, words)),
    };
    let words = match replicas {
        ..0 => "should be a non-negative integer",
        n if n > i64::from(i32::MAX) => "should be less than or equal to 2147483647",
        _ => return None,
    };
    Some(FieldError::invalid(path, replicas, words))
}

/// The integer at a path like `.spec.replicas`, if anything is there. The error is the real server's for something else.
fn integer_at(object: &Value, path: &str) -> Result<Option<i64>, String> {
    let wrong = |at: &str, value: &Value, wanted: &str| {
        let (shown, kind) = (go_print(value), go_interface(value));
        format!("{at} accessor error: {shown} is of the type {kind}, expected {wanted}")
    };
    let (mut here, mut at) = (object, String::new());
    for name in path.trim_start_matches('.').split('.') {
        at = format!("{at}.{name}");
        match here {
            Value::Object(fields) => match fields.get(name) {
                Some(value) => here = value,
                None => return Ok(None),
            },
            Value::Null => return Ok(None),
            other => return Err(wrong(&at, other, "map[string]interface{}")),
        }
    }
    here.as_i64().map(Some).ok_or_else(|| wrong(&at, here, "int64"))
}

/// The Go type that a decoded value has.
fn go_interface(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_scale_is_read_from_integers_only() {
        let told = |object: Value| check_replicas(&object, ".spec.n").map(|error| error.to_string());
        for fine in [json!({}), json!({"spec": null}), json!({"spec": {}}), json!({"spec": {"n": 3}})] {
            assert_eq!(told(fine), None);
        }
        let refused = |object: Value, words: &str| assert_eq!(told(object).as_deref(), Some(words));
        refused(json!({"spec": {"n": -1}}), ".spec.n: Invalid value: -1: should be a non-negative integer");
        refused(
            json!({"spec": {"n": ["x"]}}),
            ".spec.n: Invalid value: 0: .spec.n accessor error: [x] is of the type []interface {}, expected int64",
        );
        refused(
            json!({"spec": "x"}),
            ".spec.n: Invalid value: 0: .spec.n accessor error: x is of the type string, expected map[string]interface{}",
        );
    }
}
