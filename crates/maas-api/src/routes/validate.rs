//! Validating keys, for the gateway.

use std::{borrow::Cow, sync::Arc};

use axum::{extract::State, response::Response};
use http::StatusCode;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::{
    app::App,
    reply::{Refused, encoded},
    request::Members,
    server::{Body, ErrorBody},
};

/// A key to be validated.
#[derive(ToSchema)]
#[allow(dead_code)] // the schema of what `validate` reads
pub(crate) struct ValidateRequest {
    /// The key, without `Bearer`.
    #[schema(min_length = 1)]
    key: String,
}

/// Whose a key is, or why it is not valid.
#[derive(ToSchema)]
#[allow(dead_code)] // the schema of what `crate::keys` writes
#[schema(rename_all = "camelCase")]
pub(crate) struct ValidateResponse {
    valid: bool,
    /// If it is not: why.
    reason: Option<String>,
    /// If it is: its id.
    user_id: Option<String>,
    /// Its owner.
    username: Option<String>,
    /// Its id.
    key_id: Option<String>,
    /// The owner's groups when it was made.
    groups: Option<Vec<String>>,
    /// The subscription it is bound to.
    subscription: Option<String>,
}

/// Validate a key
///
/// A key that is not valid is not an error: the answer says so, and why.
#[utoipa::path(post, path = "/internal/v1/api-keys/validate", tag = "internal", request_body = ValidateRequest,
    responses(
        (status = 200, description = "Valid, or not.", body = ValidateResponse),
        (status = 400, description = "No key was sent.", body = ErrorBody),
        (status = 500, description = "The database failed.", body = ErrorBody),
    ))]
pub(crate) async fn validate(State(app): State<Arc<App>>, Body(body): Body) -> Result<Response, Refused> {
    let key = read_key(&body).ok_or_else(|| Refused::bad_request("key is required"))?;
    let verdict =
        app.keys.validate(&key).await.map_err(|error| Refused::internal("validation failed", &error))?;
    Ok(encoded(StatusCode::OK, verdict.into_json()))
}

/// The request as every gateway writes it.
#[derive(Deserialize)]
struct Usual<'a> {
    #[serde(borrow)]
    key: Cow<'a, str>,
}

/// The key in a body. What is written as usual is read without a copy of everything; the rest as all bodies are read.
fn read_key(body: &[u8]) -> Option<Cow<'_, str>> {
    match Usual::deserialize(&mut serde_json::Deserializer::from_slice(body)) {
        Ok(Usual { key }) if !key.is_empty() => Some(key),
        _ => Members::read("ValidateRequest", body)
            .and_then(|body| body.required("key", "Key"))
            .ok()
            .map(Cow::Owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quick_way_reads_what_the_other_reads() {
        for body in [
            r#"{"key":"a"}"#,
            r#"{"key":"a\u0062"}"#,
            r#"{"KEY":"a"}"#,
            r#"{"KEY":"a","key":"b"}"#,
            r#"{"key":"a","key":"b"}"#,
            r#"{"other":[{}],"key":"a"} trailing"#,
            r#"{"key":""}"#,
            r#"{"key":null}"#,
            r#"{"key":1}"#,
            r#"{"key":"a""#,
            "{}",
            "null",
            "[]",
            "",
        ] {
            let slow = Members::read("ValidateRequest", body.as_bytes());
            let slow = slow.and_then(|body| body.required("key", "Key")).ok();
            assert_eq!(read_key(body.as_bytes()).as_deref(), slow.as_deref(), "{body}");
        }
    }
}
