//! The process's own endpoints: is it alive, is each system ready, what does it count.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};

use anyhow::{Context, Result};
use axum::Router;
use axum::extract::{Path, RawQuery, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use kube::Client;
use quintet_kit::lease::Standing;
use quintet_kit::metrics::Metrics;
use quintet_kit::run::{Health, Readiness};
use quintet_kit::serve::{Access, Listener, ServeError, Tls, TlsFiles, TlsSource, TlsVersion};
use tokio_util::sync::CancellationToken;

use crate::errors::{Exit, Refusal};
use crate::operate::leases::{Leases, Standings};

/// Which endpoints there are. An address is `HOST:PORT`, or `:PORT` for every address of the machine.
#[derive(Clone, Debug, Default)]
pub struct Ports {
    /// `/healthz` and `/readyz`.
    pub health: Option<String>,
    /// `/readyz` says `ok` whatever the systems do, as the originals' does; but not before webhooks are served.
    pub always_ready: bool,
    /// `/metrics` over TLS, for those whom the cluster lets.
    pub metrics: Option<String>,
    /// The certificate of that; none has one made at start.
    pub certificate: Option<TlsFiles>,
    /// `/metrics` in plain text, for everybody.
    pub plain_metrics: Option<String>,
}

impl Ports {
    /// Listens on all of them, and serves until told to stop.
    pub async fn open(
        &self,
        client: &Client,
        counted: Metrics,
        doctor: Doctor,
        stop: &CancellationToken,
    ) -> Result<()> {
        if let Some(address) = &self.health {
            let router = if self.always_ready { always_ready(doctor) } else { health(doctor) };
            let listener = Listener::bind(address).await.map_err(|error| taken(address, &error))?;
            let address = serve(listener, router, stop)?;
            tracing::info!(%address, "serving health");
        }
        if let Some(address) = &self.metrics {
            let listener = Listener::bind_tls(address, self.tls(), stop).await;
            let listener = listener.map_err(|error| taken(address, &error))?;
            let router = Access::reviewed(client.clone()).guard(metrics(counted.clone()));
            let address = serve(listener, router, stop)?;
            tracing::info!(bindAddress = %address, secure = true, "Serving metrics server");
        }
        if let Some(address) = &self.plain_metrics {
            let listener = Listener::bind(address).await.map_err(|error| taken(address, &error))?;
            let address = serve(listener, metrics(counted), stop)?;
            tracing::info!(bindAddress = %address, secure = false, "Serving metrics server");
        }
        Ok(())
    }

    fn tls(&self) -> Tls {
        let made =
            || TlsSource::SelfSigned { organization: "quintet".into(), hosts: vec!["localhost".into()] };
        let source = self.certificate.clone().map_or_else(made, TlsSource::Files);
        // As the originals' metrics servers: no HTTP/2.
        Tls { source, oldest: TlsVersion::V1_2, http2: false }
    }
}

/// Why a port is not served, and what to do about it.
pub fn taken(address: &str, error: &ServeError) -> Refusal {
    let next = match error {
        ServeError::Tls(_) => "both files must be PEM and belong together",
        _ => "another process may have the port: HOST:PORT names another, 0 turns it off",
    };
    Refusal::new(Exit::Failed, format!("cannot listen on {address}: {error}")).next(next)
}

/// What is known about the systems of this process.
#[derive(Clone)]
pub struct Doctor {
    states: Arc<dyn Fn() -> BTreeMap<String, Health> + Send + Sync>,
    standings: Standings,
    /// Webhooks are to be served.
    has_webhooks: bool,
    /// Set once they are: the systems that convert objects.
    converting: Arc<OnceLock<BTreeSet<String>>>,
}

impl std::fmt::Debug for Doctor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Doctor").field("states", &(self.states)()).finish_non_exhaustive()
    }
}

impl Doctor {
    /// Of systems that need no lease and serve nothing; `states` tells how each is doing.
    pub fn new(states: impl Fn() -> BTreeMap<String, Health> + Send + Sync + 'static) -> Self {
        let (states, converting) = (Arc::new(states), Arc::default());
        Doctor { states, standings: Standings::new(), has_webhooks: false, converting }
    }

    /// Of the systems of a manager.
    pub fn of(readiness: Readiness, leases: &Leases, has_webhooks: bool) -> Self {
        Doctor { standings: leases.standings(), has_webhooks, ..Doctor::new(move || readiness.all()) }
    }

    /// The webhooks are served; these systems convert objects.
    pub fn reached(&self, converting: BTreeSet<String>) {
        let _ = self.converting.set(converting); // they are opened once
    }

    /// True once webhooks are served, if they are to be.
    fn is_reached(&self) -> bool {
        !self.has_webhooks || self.converting.get().is_some()
    }

    /// True if the API server must be able to call the system whatever it is doing. A cluster sends requests only to pods
    /// that are ready, and the very list that a system waits for may need a conversion by its webhook.
    fn is_called(&self, system: &str) -> bool {
        self.converting.get().is_some_and(|converting| converting.contains(system))
    }

    /// Whether a system does its work, or would at once if it had the lease; and the same in words.
    fn examine(&self, system: &str) -> Option<(bool, String)> {
        let health = (self.states)().remove(system)?;
        let standing = self.standings.get(system).map(|standing| standing.borrow().clone());
        Some(match (health, standing) {
            (Health::Ready, Some(Standing::Failing { error })) => {
                (false, format!("waiting for its lease: {error}"))
            }
            (Health::Ready, Some(Standing::Asking)) => (false, "waiting for its lease".into()),
            (Health::Ready, Some(Standing::Following { holder })) => {
                (true, format!("ready, standing by: {holder} holds the lease"))
            }
            (health, _) => (health == Health::Ready, words(&health)),
        })
    }

    fn all(&self) -> Vec<(String, bool, String)> {
        let names = (self.states)().into_keys();
        names.filter_map(|name| self.examine(&name).map(|(ready, words)| (name, ready, words))).collect()
    }
}

/// `/healthz`, `/readyz` and `/readyz/<system>`.
pub fn health(doctor: Doctor) -> Router {
    Router::new()
        .route("/healthz", get(|| async { "ok" }))
        .route("/readyz", get(all_ready))
        .route("/readyz/{system}", get(one_ready))
        .with_state(doctor)
}

/// The originals' probes: alive is ready. What each system says is still told below `/readyz/`.
fn always_ready(doctor: Doctor) -> Router {
    Router::new()
        .route("/healthz", get(|query| passed("healthz", query)))
        .route("/healthz/healthz", get(|query| passed("healthz", query)))
        .route("/readyz", get(reached))
        .route("/readyz/readyz", get(reached))
        .route("/readyz/{system}", get(one_ready))
        .with_state(doctor)
}

async fn reached(State(doctor): State<Doctor>, query: RawQuery) -> Response {
    if doctor.is_reached() {
        return passed("readyz", query).await.into_response();
    }
    (StatusCode::SERVICE_UNAVAILABLE, "the webhooks are not served yet\n").into_response()
}

async fn passed(check: &'static str, RawQuery(query): RawQuery) -> String {
    let verbose = query.is_some_and(|query| query.split('&').any(|part| part.starts_with("verbose")));
    if verbose { format!("[+]{check} ok\n{check} check passed\n") } else { "ok".into() }
}

/// `/metrics`.
pub fn metrics(metrics: Metrics) -> Router {
    Router::new().route("/metrics", get(encoded)).with_state(metrics)
}

/// Serves a router until told to stop; requests under way are finished. Gives the address it listens on.
pub async fn listen(address: SocketAddr, router: Router, stop: CancellationToken) -> Result<SocketAddr> {
    let listener = Listener::bind(&address.to_string()).await;
    let listener = listener.map_err(|error| taken(&address.to_string(), &error))?;
    serve(listener, router, &stop)
}

/// Serves a router on this socket until told to stop. Gives its address.
pub fn serve(listener: Listener, router: Router, stop: &CancellationToken) -> Result<SocketAddr> {
    let (bound, stop) = (listener.address().context("asking where we listen")?, stop.clone());
    tokio::spawn(async move {
        if let Err(error) = listener.serve(router, stop).await {
            tracing::error!(%error, %bound, "no longer serving");
        }
    });
    Ok(bound)
}

async fn all_ready(State(doctor): State<Doctor>) -> Response {
    let all = doctor.all();
    let lines: String = all.iter().map(|(system, _, words)| format!("{system}: {words}\n")).collect();
    let ready = |(system, ready, _): &(String, bool, String)| *ready || doctor.is_called(system);
    (code(doctor.is_reached() && all.iter().all(ready)), lines).into_response()
}

async fn one_ready(State(doctor): State<Doctor>, Path(system): Path<String>) -> Response {
    match doctor.examine(&system) {
        Some((ready, words)) => (code(ready), words + "\n").into_response(),
        None => (StatusCode::NOT_FOUND, format!("no system {system:?} runs here\n")).into_response(),
    }
}

fn code(ready: bool) -> StatusCode {
    if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }
}

async fn encoded(State(metrics): State<Metrics>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, Metrics::CONTENT_TYPE)], metrics.encode())
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
