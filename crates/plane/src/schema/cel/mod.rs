//! CEL rules (`x-kubernetes-validations`).

use serde_json::Value;

use super::model::Schema;
use crate::status::FieldError;

/// The rules on one schema node.
#[derive(Debug, Clone, Default)]
pub struct Rules {}

/// Whether any node of `schema` has rules.
pub fn has_rules(_schema: &Schema) -> bool {
    false
}

/// Evaluates the rules of `schema` on `new`.
pub fn validate(
    _schema: &Schema,
    _new: &Value,
    _old: Option<&Value>,
    _path: &str,
    _errors: &mut Vec<FieldError>,
    _warnings: &mut Vec<String>,
) {
}

/// Compiles the rules of a raw schema into the parsed one.
pub fn attach(schema: Schema, _raw: &Value) -> Schema {
    schema
}

/// Judges the rules of a CRD's schema.
pub fn check(_raw: &Value, _path: &str, _errors: &mut Vec<FieldError>) {}
