//! The service inside another program, on an SQLite file: `quintet up`.

use std::{path::Path, sync::Arc};

use axum::Router;
use kube::Client;
use quintet_kit::Clock;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    app::{App, Options},
    cluster::LiveCluster,
    models::{Prober, ProberError},
    server::service,
    store::{StoreError, sqlite::SqliteStore},
};

/// Why it could not be started.
#[derive(Debug, thiserror::Error)]
pub enum EmbedError {
    /// The file of keys cannot be used.
    #[error("the key file {path} cannot be used: {source}")]
    Store {
        /// The file.
        path: String,
        /// Why.
        source: StoreError,
    },
    /// No client for access checks.
    #[error(transparent)]
    Prober(#[from] ProberError),
}

/// A service without a socket of its own: serve [`router`](Self::router) with [`crate::server::Listener`], or call it,
/// or use [`app`](Self::app) directly.
pub struct Embedded {
    /// The service apart from HTTP: for a gateway in the same process.
    pub app: Arc<App>,
    /// The service.
    pub router: Router,
    cluster: Arc<LiveCluster>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl Embedded {
    /// Opens the file of keys, makes it if there is none, and starts to watch the cluster.
    pub async fn start(
        client: Client,
        subscription_namespace: &str,
        file: &Path,
        options: Options,
        clock: Clock,
    ) -> Result<Self, EmbedError> {
        let failed = |source| EmbedError::Store { path: file.display().to_string(), source };
        let store = Arc::new(SqliteStore::open(file, clock).await.map_err(failed)?);
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let cluster = Arc::new(LiveCluster::start(client, subscription_namespace, &tasks, &stop));
        let app = App::start(store, cluster.clone(), Prober::new(None)?, options, clock);
        Ok(Self { router: service(app.clone()), app, cluster, tasks, stop })
    }

    /// Waits until everything has been read from the cluster; before, every request but probes is told to wait.
    pub async fn synced(&self) {
        self.cluster.synced().await;
    }

    /// Stops watching, writes what is still to be written, and closes the file. To be called when no request is running
    /// any more.
    pub async fn stop(self) {
        self.stop.cancel();
        self.app.stop().await;
        self.tasks.close();
        self.tasks.wait().await;
    }
}
