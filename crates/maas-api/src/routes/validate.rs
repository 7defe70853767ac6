//! Validating keys, for the gateway.

use std::sync::Arc;

use axum::{extract::State, response::Response};
use http::StatusCode;
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
    let key = Members::read("ValidateRequest", &body).and_then(|body| body.required("key", "Key"));
    let key = key.map_err(|_| Refused::bad_request("key is required"))?;
    let verdict =
        app.keys.validate(&key).await.map_err(|error| Refused::internal("validation failed", &error))?;
    Ok(encoded(StatusCode::OK, verdict.into_json()))
}
