//! Patches of a JSON value: JSON patch, merge patch and strategic merge patch, as the real server reads them.
//!
//! All three are pure: live object and patch in, patched object or a worded refusal out. Server-side apply is a
//! different thing and lives in [`crate::apply`].

pub mod json;
pub mod merge;
pub mod strategic;

use serde_json::Value;
use thiserror::Error;

/// Values nested deeper than this are refused: nothing real comes near, and recursion stays bounded.
pub const MAX_DEPTH: usize = 200;

/// Why a patch was refused, by the answer it gets.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PatchError {
    /// 400: the patch cannot be read.
    #[error("{0}")]
    BadRequest(String),
    /// 413: the patch is too large.
    #[error("{0}")]
    TooLarge(String),
    /// 422 without a cause: an operation did not apply; the reason stays with us.
    #[error("the server rejected our request due to an error in our request")]
    Rejected(String),
    /// 500 without a reason: the server could not do it.
    #[error("{0}")]
    Internal(String),
}

/// Whether `value` nests deeper than [`MAX_DEPTH`].
pub fn too_deep(value: &Value) -> bool {
    fn deeper(value: &Value, left: usize) -> bool {
        match value {
            Value::Array(all) => left == 0 || all.iter().any(|v| deeper(v, left - 1)),
            Value::Object(all) => left == 0 || all.values().any(|v| deeper(v, left - 1)),
            _ => false,
        }
    }
    deeper(value, MAX_DEPTH)
}

/// The word Go uses for a JSON value of the wrong type.
pub(crate) fn go_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
