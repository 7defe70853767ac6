//! The order in which things start and stop.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client};
use quintet_kit::Clock;
use tokio::time::Instant;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    app::App,
    cluster::LiveCluster,
    config::{ConfigError, Settings},
    models::{Prober, ProberError},
    server::{Listener, ServeError, Tls, service},
    store::postgres::{OpenError, PoolSize, PostgresStore},
};

/// The Secret with the database's URL.
const SECRET: &str = "maas-db-config";
const SECRET_KEY: &str = "DB_CONNECTION_URL";
/// How long a database that is not there yet is waited for.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often idle connections are counted.
const TRIM: Duration = Duration::from_secs(10);

/// Why the service did not start, or did not stop in time.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Settings do not fit together.
    #[error("configuration validation failed: {0}")]
    Config(#[from] ConfigError),
    /// No cluster.
    #[error("failed to create cluster config: {0}")]
    Cluster(String),
    /// No database URL.
    #[error("failed to load database URL: {0}")]
    Url(String),
    /// No database.
    #[error("failed to initialize token store: {0}")]
    Store(#[from] OpenError),
    /// No client for access checks.
    #[error(transparent)]
    Prober(#[from] ProberError),
    /// No authorities for access checks.
    #[error("failed to read PROBE_CA_FILE: {0}")]
    ProbeCa(std::io::Error),
    /// No socket or certificate; or requests did not end in time.
    #[error(transparent)]
    Serve(#[from] ServeError),
}

/// Runs the service against the cluster this process finds itself in, until a signal or `stop`.
pub async fn run_until(settings: Settings, stop: CancellationToken) -> Result<(), StartError> {
    settings.clone().validate()?; // before anything is touched
    let client = Client::try_default().await.map_err(|error| StartError::Cluster(error.to_string()))?;
    run_with(settings, client, stop, |_| ()).await
}

/// The same against a given cluster. `listening` is told the address once there is one.
pub async fn run_with(
    settings: Settings,
    client: Client,
    stop: CancellationToken,
    listening: impl FnOnce(SocketAddr),
) -> Result<(), StartError> {
    let config = settings.clone().validate()?;
    let authorities = match settings.probe_ca_file.as_str() {
        "" => None,
        path => Some(std::fs::read(path).map_err(StartError::ProbeCa)?),
    };
    let prober = Prober::new(authorities.as_deref())?;
    let url = database_url(&client, &settings.namespace).await.map_err(StartError::Url)?;
    let store = Arc::new(open(&url, config.pool).await?);

    let (tasks, stopping) = (TaskTracker::new(), stop.child_token());
    let cluster = Arc::new(LiveCluster::start(client, &settings.subscription_namespace, &tasks, &stopping));
    let app = App::start(store.clone(), cluster, prober, config.options, Clock::system());
    tasks.spawn(stopping.clone().run_until_cancelled_owned(async move {
        let mut ticks = tokio::time::interval(TRIM);
        loop {
            ticks.tick().await;
            store.trim().await;
        }
    }));

    let listener = match config.tls {
        Some((source, oldest)) => {
            Listener::bind_tls(&config.address, Tls { source, oldest, http2: true }, &stopping).await?
        }
        None => Listener::bind(&config.address).await?,
    };
    tracing::info!(address = config.address, namespace = settings.namespace, "listening");
    listening(listener.address().map_err(ServeError::Listen)?);
    tokio::spawn(stop_on_signal(stop.clone()));
    let served = listener.serve(service(app.clone()), stop).await;
    stopping.cancel();
    app.stop().await;
    tasks.close();
    tasks.wait().await;
    tracing::info!("stopped");
    Ok(served?)
}

async fn stop_on_signal(stop: CancellationToken) {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut interrupt), Ok(mut terminate)) =
        (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        tracing::error!("cannot listen for signals; only SIGKILL will end this process");
        return;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        () = stop.cancelled() => {}
    }
    stop.cancel();
}

async fn database_url(client: &Client, namespace: &str) -> Result<String, String> {
    let secret = Api::<Secret>::namespaced(client.clone(), namespace).get(SECRET).await.map_err(|error| {
        format!("failed to read secret {namespace}/{SECRET}: {error} (ensure the secret exists before starting maas-api)")
    })?;
    let url =
        secret.data.and_then(|mut data| data.remove(SECRET_KEY)).map(|bytes| bytes.0).unwrap_or_default();
    let url = String::from_utf8_lossy(&url).trim().to_owned();
    match url.is_empty() {
        true => Err(format!("key {SECRET_KEY:?} not found or empty in secret {namespace}/{SECRET}")),
        false => Ok(url),
    }
}

/// Opens the database, and waits for it for a while: it may be starting too.
async fn open(url: &str, size: PoolSize) -> Result<PostgresStore, OpenError> {
    let (start, mut pause) = (Instant::now(), Duration::from_millis(250));
    loop {
        match PostgresStore::open(url, size).await {
            Err(OpenError::Connect(error)) if start.elapsed() + pause < PATIENCE => {
                tracing::warn!(%error, "the database is not there yet; trying again");
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(Duration::from_secs(5));
            }
            outcome => return outcome,
        }
    }
}
