//! Answers: JSON as the original's clients know it, and the shapes of errors.

use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{HeaderValue, StatusCode, header};
use serde::Serialize;
use serde_json::json;

const JSON: HeaderValue = HeaderValue::from_static("application/json; charset=utf-8");

/// JSON in which `<`, `>` and `&` are escaped, so that no browser takes text in it for a page.
pub(crate) fn encode(value: &impl Serialize) -> Bytes {
    let plain = serde_json::to_vec(value).expect("answers are plain data");
    let special = |byte: &u8| matches!(byte, b'<' | b'>' | b'&' | 0xe2);
    if !plain.iter().any(special) {
        return plain.into();
    }
    let mut escaped = Vec::with_capacity(plain.len() + 32);
    let mut rest = plain.as_slice();
    // All of these stand in strings only, and within UTF-8 only where they are meant.
    while let Some((&first, after)) = rest.split_first() {
        let (text, used): (&[u8], usize) = match first {
            b'<' => (br"\u003c", 1),
            b'>' => (br"\u003e", 1),
            b'&' => (br"\u0026", 1),
            0xe2 if after.starts_with(&[0x80, 0xa8]) => (br"\u2028", 3),
            0xe2 if after.starts_with(&[0x80, 0xa9]) => (br"\u2029", 3),
            _ => (&rest[..1], 1),
        };
        escaped.extend_from_slice(text);
        rest = &rest[used..];
    }
    escaped.into()
}

/// An answer in JSON.
pub(crate) fn json(status: StatusCode, value: &impl Serialize) -> Response {
    encoded(status, encode(value))
}

/// An answer in JSON that is encoded already.
pub(crate) fn encoded(status: StatusCode, body: Bytes) -> Response {
    (status, [(header::CONTENT_TYPE, JSON)], body).into_response()
}

/// `404 page not found`, as for any path that is none of ours.
pub(crate) fn no_page() -> Response {
    let text = HeaderValue::from_static("text/plain");
    (StatusCode::NOT_FOUND, [(header::CONTENT_TYPE, text)], "404 page not found").into_response()
}

/// An error that a client sees.
#[derive(Debug)]
pub(crate) struct Refused {
    status: StatusCode,
    body: Bytes,
}

impl Refused {
    /// `{"error": "…"}`
    pub(crate) fn new(status: StatusCode, error: impl Into<String>) -> Self {
        Self { status, body: encode(&json!({ "error": error.into() })) }
    }

    /// `{"error": "…"}` with 400.
    pub(crate) fn bad_request(error: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, error)
    }

    /// `{"error": "…"}` with 500. What happened goes to the log, not to the client.
    pub(crate) fn internal(error: &'static str, cause: &dyn std::fmt::Display) -> Self {
        tracing::error!(%cause, "{error}");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, error)
    }

    /// `{"code": "…", "error": "…"}`
    pub(crate) fn coded(status: StatusCode, code: &str, error: impl Into<String>) -> Self {
        Self { status, body: encode(&json!({ "code": code, "error": error.into() })) }
    }

    /// `{"error": {"message": "…", "type": "…"}}`, as OpenAI's clients expect it.
    pub(crate) fn openai(status: StatusCode, message: impl Into<String>) -> Self {
        let kind = match status {
            StatusCode::BAD_REQUEST => "invalid_request_error",
            StatusCode::UNAUTHORIZED => "authentication_error",
            StatusCode::FORBIDDEN => "permission_error",
            _ => "server_error",
        };
        Self { status, body: encode(&json!({ "error": { "message": message.into(), "type": kind } })) }
    }

    /// The gateway did not say who the caller is. `reference` tells which header was at fault.
    pub(crate) fn auth_failure(reference: &str) -> Self {
        let body = json!({
            "error": "Exception thrown while generating token", "exceptionCode": "AUTH_FAILURE", "refId": reference,
        });
        Self { status: StatusCode::INTERNAL_SERVER_ERROR, body: encode(&body) }
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        encoded(self.status, self.body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_never_looks_like_a_page() {
        let encoded = encode(&json!({"a": "<b>&\u{2028}\u{2029}\u{2030}ü€"}));
        assert_eq!(encoded, r#"{"a":"\u003cb\u003e\u0026\u2028\u2029‰ü€"}"#.as_bytes());
        assert_eq!(
            serde_json::from_slice::<serde_json::Value>(&encoded).unwrap(),
            json!({"a": "<b>&\u{2028}\u{2029}\u{2030}ü€"})
        );
    }
}
