//! Making, reading and revoking keys.

use std::sync::Arc;

use axum::{
    extract::{Path, State},
    response::Response,
};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    app::App,
    keys::{CreateError, CreateKey, ExpiresIn},
    reply::{Refused, json},
    request::Members,
    server::{Body, ErrorBody, Identity},
    store::KeyRecord,
    subscriptions::SelectError,
};

/// A key to be made.
#[derive(ToSchema)]
#[allow(dead_code)] // the schema of what `wish` reads
#[schema(rename_all = "camelCase")]
pub(crate) struct CreateApiKeyRequest {
    /// Required unless the key is ephemeral.
    #[schema(max_length = 253)]
    name: Option<String>,
    /// For the owner.
    #[schema(max_length = 2048)]
    description: Option<String>,
    /// Name of the MaaSSubscription to bind the key to. Without it, the caller's first by priority is taken.
    subscription: Option<String>,
    /// Seconds, or a duration such as `30d`, `1h30m`. Without it, the key lives as long as it may.
    #[schema(value_type = Option<ExpiresInSchema>)]
    expires_in: Option<String>,
    /// A key for a program, for an hour at most, deleted some time after.
    ephemeral: Option<bool>,
}

/// Seconds, or a duration such as `30d`, `1h30m`.
#[derive(Deserialize, ToSchema)]
#[schema(as = ExpiresIn)]
#[serde(untagged)]
#[allow(dead_code)] // as above
pub(crate) enum ExpiresInSchema {
    /// Seconds.
    Seconds(f64),
    /// A duration.
    Duration(String),
}

/// A new key. It is shown this once.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CreateApiKeyResponse<'a> {
    /// The key.
    key: &'a str,
    /// What may be shown of it later.
    key_prefix: String,
    /// What to call it in other requests.
    id: &'a str,
    name: &'a str,
    /// The subscription it is bound to.
    subscription: &'a str,
    #[schema(format = DateTime)]
    created_at: String,
    #[schema(format = DateTime)]
    expires_at: String,
    ephemeral: bool,
}

/// A key, without the key.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ApiKey {
    id: String,
    name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    description: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    username: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    subscription: String,
    #[schema(format = DateTime)]
    creation_date: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    expiration_date: Option<String>,
    /// `active`, `revoked` or `expired`.
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    last_used_at: Option<String>,
    ephemeral: bool,
}

impl From<KeyRecord> for ApiKey {
    fn from(record: KeyRecord) -> Self {
        Self {
            id: record.id,
            name: record.name,
            description: record.description,
            username: record.username,
            subscription: record.subscription,
            creation_date: seconds(record.created_at),
            expiration_date: record.expires_at.map(seconds),
            status: record.status.as_str(),
            last_used_at: record.last_used_at.map(seconds),
            ephemeral: record.ephemeral,
        }
    }
}

/// RFC 3339 in UTC, to the second.
pub(crate) fn seconds(time: jiff::Timestamp) -> String {
    jiff::fmt::temporal::DateTimePrinter::new().precision(Some(0)).timestamp_to_string(&time)
}

/// Make a key
///
/// The answer holds the key; nothing else ever will.
#[utoipa::path(post, path = "/v1/api-keys", tag = "api-keys", request_body = CreateApiKeyRequest, responses(
    (status = 201, description = "Made.", body = CreateApiKeyResponse<'_>),
    (status = 400, description = "The request, or the subscription it names, will not do.", body = ErrorBody),
    (status = 403, description = "The subscription has failed.", body = ErrorBody),
    (status = 500, description = "The database failed, or the gateway did not say who asks.", body = ErrorBody),
))]
pub(crate) async fn create(
    State(app): State<Arc<App>>,
    identity: Identity,
    Body(body): Body,
) -> Result<Response, Refused> {
    let wish = wish(&body)?;
    let created = app.keys.create(identity.caller(), wish).await.map_err(refuse)?;
    let stored = &created.stored;
    Ok(json(
        StatusCode::CREATED,
        &CreateApiKeyResponse {
            key: created.key.expose(),
            key_prefix: created.key.display_prefix(),
            id: &stored.id,
            name: &stored.name,
            subscription: &stored.subscription,
            created_at: seconds(stored.created_at),
            expires_at: seconds(stored.expires_at),
            ephemeral: stored.ephemeral,
        },
    ))
}

fn wish(body: &[u8]) -> Result<CreateKey, Refused> {
    let body = Members::read("CreateAPIKeyRequest", body).map_err(bad)?;
    Ok(CreateKey {
        name: body.string("name").map_err(bad)?,
        description: body.string("description").map_err(bad)?,
        subscription: body.string("subscription").map_err(bad)?,
        ephemeral: body.bool("ephemeral").map_err(bad)?,
        expires_in: ExpiresIn::parse(body.value("expiresIn")).map_err(bad)?,
    })
}

fn bad(error: impl std::fmt::Display) -> Refused {
    Refused::bad_request(error.to_string())
}

fn refuse(error: CreateError) -> Refused {
    const NOT_READY: &str = "subscription_not_ready";
    match error {
        CreateError::Subscription(SelectError::Unhealthy(why)) if why.phase == "Failed" => {
            Refused::coded(StatusCode::FORBIDDEN, NOT_READY, why.message)
        }
        CreateError::Subscription(SelectError::Unhealthy(why)) => {
            Refused::coded(StatusCode::BAD_REQUEST, NOT_READY, why.message)
        }
        CreateError::Subscription(error @ SelectError::NoCaller) => {
            Refused::internal("Failed to create API key", &error)
        }
        // One text for all: nobody learns whether a subscription exists that is not theirs.
        CreateError::Subscription(_) => Refused::coded(
            StatusCode::BAD_REQUEST,
            "invalid_subscription",
            "Unable to resolve a subscription for this API key",
        ),
        CreateError::Store(error) => Refused::internal("Failed to create API key", &error),
        error => bad(error),
    }
}

/// Read a key
///
/// One's own, or anybody's for an administrator.
#[utoipa::path(get, path = "/v1/api-keys/{id}", tag = "api-keys", params(("id" = String, Path,)), responses(
    (status = 200, description = "The key, without the key.", body = ApiKey),
    (status = 404, description = "There is none, or it is somebody else's.", body = ErrorBody),
    (status = 500, description = "The database failed, or the gateway did not say who asks.", body = ErrorBody),
))]
pub(crate) async fn get(
    State(app): State<Arc<App>>,
    identity: Identity,
    Path(id): Path<String>,
) -> Result<Response, Refused> {
    let record = visible(&app, &identity, &id).await?;
    Ok(json(StatusCode::OK, &ApiKey::from(record)))
}

/// Revoke a key
///
/// One's own, or anybody's for an administrator. It does not come back.
#[utoipa::path(delete, path = "/v1/api-keys/{id}", tag = "api-keys", params(("id" = String, Path,)), responses(
    (status = 200, description = "Revoked.", body = ApiKey),
    (status = 404, description = "There is no active one, or it is somebody else's.", body = ErrorBody),
    (status = 500, description = "The database failed, or the gateway did not say who asks.", body = ErrorBody),
))]
pub(crate) async fn revoke(
    State(app): State<Arc<App>>,
    identity: Identity,
    Path(id): Path<String>,
) -> Result<Response, Refused> {
    visible(&app, &identity, &id).await?;
    let revoked =
        app.keys.revoke(&id).await.map_err(|error| Refused::internal("Failed to revoke API key", &error))?;
    if !revoked {
        return Err(not_found());
    }
    match app.keys.get(&id).await {
        Ok(Some(record)) => Ok(json(StatusCode::OK, &ApiKey::from(record))),
        Ok(None) => {
            Err(Refused::internal("Key revoked but failed to retrieve metadata", &"it was deleted meanwhile"))
        }
        Err(error) => Err(Refused::internal("Key revoked but failed to retrieve metadata", &error)),
    }
}

/// The key, if the caller may know of it. One that they may not looks like one that does not exist.
async fn visible(app: &App, identity: &Identity, id: &str) -> Result<KeyRecord, Refused> {
    let found =
        app.keys.get(id).await.map_err(|error| Refused::internal("Failed to retrieve API key", &error))?;
    let record = found.ok_or_else(not_found)?;
    if record.username == identity.username {
        return Ok(record);
    }
    match app.admin.is_admin(identity.caller()).await {
        Ok(true) => Ok(record),
        Ok(false) => Err(not_found()),
        Err(error) => {
            tracing::error!(%error, "cannot tell whether somebody is an administrator");
            Err(not_found())
        }
    }
}

fn not_found() -> Refused {
    Refused::new(StatusCode::NOT_FOUND, "API key not found")
}

/// Whose keys to revoke.
#[derive(ToSchema)]
#[allow(dead_code)] // the schema of what `bulk_revoke` reads
pub(crate) struct BulkRevokeRequest {
    /// One's own name, or anybody's for an administrator.
    #[schema(min_length = 1)]
    username: String,
}

/// How many were revoked.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BulkRevokeResponse {
    revoked_count: u64,
    message: String,
}

/// Revoke all keys of a user
#[utoipa::path(post, path = "/v1/api-keys/bulk-revoke", tag = "api-keys", request_body = BulkRevokeRequest, responses(
    (status = 200, description = "Revoked; none is fine too.", body = BulkRevokeResponse),
    (status = 400, description = "No user is named.", body = ErrorBody),
    (status = 403, description = "Somebody else's keys.", body = ErrorBody),
    (status = 500, description = "The database failed, or the gateway did not say who asks.", body = ErrorBody),
))]
pub(crate) async fn bulk_revoke(
    State(app): State<Arc<App>>,
    identity: Identity,
    Body(body): Body,
) -> Result<Response, Refused> {
    let body = Members::read("BulkRevokeRequest", &body).map_err(bad)?;
    let username = body.required("username", "Username").map_err(bad)?;
    if username != identity.username && !super::search::is_admin(&app, &identity).await? {
        return Err(Refused::new(
            StatusCode::FORBIDDEN,
            "Access denied: you can only bulk revoke your own API keys",
        ));
    }
    if username.contains('\0') {
        return Err(bad(CreateError::Nul("username")));
    }
    let revoked_count = app
        .keys
        .revoke_all(&username)
        .await
        .map_err(|error| Refused::internal("Failed to revoke API keys", &error))?;
    let message = format!("Successfully revoked {revoked_count} active API key(s) for user {username}");
    Ok(json(StatusCode::OK, &BulkRevokeResponse { revoked_count, message }))
}

/// How many were deleted.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CleanupResponse {
    deleted_count: u64,
    message: String,
}

/// Delete ephemeral keys that expired more than half an hour ago
#[utoipa::path(post, path = "/internal/v1/api-keys/cleanup", tag = "internal", responses(
    (status = 200, description = "Deleted; none is fine too.", body = CleanupResponse),
    (status = 500, description = "The database failed.", body = ErrorBody),
))]
pub(crate) async fn cleanup(State(app): State<Arc<App>>) -> Result<Response, Refused> {
    let deleted_count = app
        .keys
        .cleanup()
        .await
        .map_err(|error| Refused::internal("Failed to cleanup expired ephemeral keys", &error))?;
    let message = format!("Successfully deleted {deleted_count} expired ephemeral key(s)");
    Ok(json(StatusCode::OK, &CleanupResponse { deleted_count, message }))
}
