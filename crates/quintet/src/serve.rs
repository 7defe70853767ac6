//! The process's own endpoints: is it alive, is each system ready, what does it count.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context, Result};
use axum::Router;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use quintet_kit::metrics::Metrics;
use quintet_kit::run::Health;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// Tells how each system is doing.
type States = Arc<dyn Fn() -> BTreeMap<String, Health> + Send + Sync>;

/// `/healthz`, `/readyz` and `/readyz/<system>`.
pub fn health(states: impl Fn() -> BTreeMap<String, Health> + Send + Sync + 'static) -> Router {
    let states: States = Arc::new(states);
    Router::new()
        .route("/healthz", get(|| async { "ok" }))
        .route("/readyz", get(all_ready))
        .route("/readyz/{system}", get(one_ready))
        .with_state(states)
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

async fn all_ready(State(states): State<States>) -> Response {
    let all = states();
    let ready = all.values().all(|health| *health == Health::Ready);
    let code = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let lines: String = all.iter().map(|(system, health)| format!("{system}: {}\n", words(health))).collect();
    (code, lines).into_response()
}

async fn one_ready(State(states): State<States>, Path(system): Path<String>) -> Response {
    match states().remove(&system) {
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
