//! Does a value fit its schema? Worded as the real server words it.
//!
//! The order of errors is ours (depth first, in field order); the real server's is random.

mod formats;
mod keywords;
mod lists;
mod pattern;

pub(super) use keywords::Previous;

pub use formats::{check as check_format, go_duration};
pub use pattern::{compile_pattern, is_match as pattern_matches};

use serde_json::Value;

use super::cel;
use super::model::Schema;
use crate::status::{FieldError, FieldErrorKind as Kind};

/// What validation found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Findings {
    /// What makes the write fail.
    pub errors: Vec<FieldError>,
    /// What was wrong before and is tolerated: each becomes a `Warning` header.
    pub warnings: Vec<String>,
}

/// Validates a whole custom resource, or with `old` an update of it.
///
/// What was invalid before and has not changed is tolerated (ratcheting): so that a stricter schema does not lock the
/// objects that existed before it.
pub fn validate(schema: &Schema, new: &Value, old: Option<&Value>) -> Findings {
    validate_at(schema, "", new, old)
}

/// As [`validate`], for a part of an object at `path` (a status written by itself).
pub fn validate_at(schema: &Schema, path: &str, new: &Value, old: Option<&Value>) -> Findings {
    let mut walk = keywords::Walk::default();
    walk.value(schema, new, old, "");
    let mut errors: Vec<_> =
        walk.errors.into_iter().map(|e| if without_path(&e) { e } else { e.under(path) }).collect();
    let mut repeated = Vec::new();
    lists::repeated(schema, new, old, path, &mut repeated);
    errors.append(&mut repeated);
    let mut warnings = Vec::new();
    if schema.rules_below {
        let blocked = errors.iter().any(|e| {
            matches!(
                e.kind,
                Kind::Required(_)
                    | Kind::NotSupported(..)
                    | Kind::TooLong(_)
                    | Kind::TooMany(..)
                    | Kind::TypeInvalid(..)
            )
        });
        if blocked {
            errors.push(FieldError::invalid("", Value::Null, UNCHECKED));
        } else {
            cel::validate(schema, new, old, path, &mut errors, &mut warnings);
        }
    }
    Findings { errors, warnings }
}

const UNCHECKED: &str = "some validation rules were not checked because the object was invalid; \
                         correct the existing errors to complete validation";

/// Errors about alternatives and number ranges carry no path of their own.
fn without_path(error: &FieldError) -> bool {
    error.path.as_str().is_empty()
        && matches!(&error.kind, Kind::Invalid(_, detail) if detail.starts_with('"') || detail.starts_with("Checked"))
}
