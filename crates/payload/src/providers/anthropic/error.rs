//! Errors.

use crate::json::{Object, Raw};

/// Anthropic's error object in OpenAI's shape.
pub(super) fn translate(body: &Object) -> Object {
    let error = body.get("error").and_then(Raw::as_object).unwrap_or_default();
    let kind = error.text_of("type").unwrap_or_default();
    let error = Object::new()
        .with("message", error.text_of("message").unwrap_or_default())
        .with("type", kind.as_str())
        .with("param", Raw::null())
        .with("code", kind);
    Object::new().with("error", error)
}
