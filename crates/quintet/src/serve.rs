//! The process's own endpoints: is it alive, is each system ready, what does it count.

use std::net::SocketAddr;

use anyhow::{Context, Result};
use axum::Router;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use quintet_kit::metrics::Metrics;
use quintet_kit::run::{Health, Readiness};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// `/healthz`, `/readyz` and `/readyz/<system>`.
pub fn health(readiness: Readiness) -> Router {
    Router::new()
        .route("/healthz", get(|| async { "ok" }))
        .route("/readyz", get(all_ready))
        .route("/readyz/{system}", get(one_ready))
        .with_state(readiness)
}

/// `/metrics`.
pub fn metrics(metrics: Metrics) -> Router {
    Router::new().route("/metrics", get(encoded)).with_state(metrics)
}

/// Serves a router until told to stop; requests under way are finished. Gives the address it listens on.
pub async fn listen(address: SocketAddr, router: Router, stop: CancellationToken) -> Result<SocketAddr> {
    let listener = TcpListener::bind(address)
        .await
        .with_context(|| format!("listening on {address}; another process may have the port"))?;
    let bound = listener.local_addr()?;
    tokio::spawn(async move {
        let served = axum::serve(listener, router).with_graceful_shutdown(stop.cancelled_owned()).await;
        if let Err(error) = served {
            tracing::error!(%error, %bound, "no longer serving");
        }
    });
    Ok(bound)
}

async fn all_ready(State(readiness): State<Readiness>) -> Response {
    let code = if readiness.is_ready() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let lines: String =
        readiness.all().iter().map(|(system, health)| format!("{system}: {}\n", words(health))).collect();
    (code, lines).into_response()
}

async fn one_ready(State(readiness): State<Readiness>, Path(system): Path<String>) -> Response {
    match readiness.of(&system) {
        Some(Health::Ready) => (StatusCode::OK, "ok\n".to_string()).into_response(),
        Some(health) => (StatusCode::SERVICE_UNAVAILABLE, words(&health) + "\n").into_response(),
        None => (StatusCode::NOT_FOUND, format!("no system {system:?} runs here\n")).into_response(),
    }
}

async fn encoded(State(metrics): State<Metrics>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/openmetrics-text; version=1.0.0; charset=utf-8")], metrics.encode())
}

/// How a system is doing, in words.
pub fn words(health: &Health) -> String {
    match health {
        Health::Starting => "starting".into(),
        Health::Waiting { kinds } => format!("waiting for {}", kinds.join(", ")),
        Health::Ready => "ready".into(),
        Health::Failed { error } => format!("failed, will be started again: {error}"),
        Health::Stopped => "stopped".into(),
    }
}
