//! Whether the service lives, is ready, and how it is doing.

use std::sync::Arc;

use axum::{
    extract::State,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use http::{HeaderValue, StatusCode, header};
use serde_json::json;

use crate::{
    app::App,
    reply::{encoded, json as reply},
};

/// Liveness
///
/// Answers as soon as the service has read what it needs. It does not look at the database: restarting this process
/// would not bring that back. See `/readyz`.
#[utoipa::path(get, path = "/health", tag = "health", responses(
    (status = 200, description = "It lives.", body = Health),
))]
pub(crate) async fn health() -> Response {
    encoded(StatusCode::OK, Bytes::from_static(br#"{"status":"healthy"}"#))
}

/// Readiness
///
/// Looks at the database and at what is read from Kubernetes.
#[utoipa::path(get, path = "/readyz", tag = "health", responses(
    (status = 200, description = "It can answer requests.", body = Health),
    (status = 503, description = "It cannot, and says why.", body = NotReady),
))]
pub(crate) async fn ready(State(app): State<Arc<App>>) -> Response {
    let mut missing = app.cluster.unsynced();
    if let Err(error) = app.keys.store().ping().await {
        tracing::warn!(%error, "not ready");
        missing.push("database".into());
    }
    match missing.is_empty() {
        true => reply(StatusCode::OK, &json!({"status": "ready"})),
        false => reply(StatusCode::SERVICE_UNAVAILABLE, &json!({"status": "not ready", "missing": missing})),
    }
}

/// Metrics
///
/// In Prometheus' text format.
#[utoipa::path(get, path = "/metrics", tag = "health", responses(
    (status = 200, description = "Counters and gauges.", body = String, content_type = "text/plain"),
))]
pub(crate) async fn metrics(State(app): State<Arc<App>>) -> Response {
    let text = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    ([(header::CONTENT_TYPE, text)], app.metrics.render()).into_response()
}

/// Answer of `/health`.
#[derive(utoipa::ToSchema)]
#[allow(dead_code)] // describes what is written above
pub(crate) struct Health {
    /// `healthy` or `ready`.
    status: String,
}

/// Answer of `/readyz` while something is missing.
#[derive(utoipa::ToSchema)]
#[allow(dead_code)] // describes what is written above
pub(crate) struct NotReady {
    /// `not ready`.
    status: String,
    /// The database, or resources that have not been read yet.
    missing: Vec<String>,
}
