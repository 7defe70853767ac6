//! What the routes share.

use std::{sync::Arc, time::Duration};

use quintet_kit::Clock;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    cache::CacheLimits,
    cluster::{AdminCheck, Cluster},
    keys::{Keys, KeysParts},
    metrics::Metrics,
    models::{Access, Prober},
    server::RateLimit,
    store::SharedStore,
};

/// How the service behaves. The defaults are the original's.
#[derive(Clone, Debug)]
pub struct Options {
    /// How many days a regular key may live, and lives unless asked otherwise.
    pub max_expiration_days: i64,
    /// How long all access checks of one request may take.
    pub access_check_timeout: Duration,
    /// How many administrators, and others, are remembered.
    pub sar_cache_size: usize,
    /// What validation remembers.
    pub cache: CacheLimits,
    /// Requests that one user may make of `/v1` in a minute; none is no limit.
    pub rate_limit: Option<u32>,
    /// Lets pages on this machine call the service from a browser.
    pub debug: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            max_expiration_days: 90,
            access_check_timeout: Duration::from_secs(15),
            sar_cache_size: 8192,
            cache: CacheLimits::default(),
            rate_limit: None,
            debug: false,
        }
    }
}

/// The service, apart from its sockets.
pub struct App {
    pub(crate) keys: Keys,
    pub(crate) cluster: Arc<dyn Cluster>,
    pub(crate) admin: AdminCheck,
    pub(crate) access: Access,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) clock: Clock,
    pub(crate) rate_limit: Option<RateLimit>,
    pub(crate) debug: bool,
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl App {
    /// Starts the service.
    pub fn start(
        store: SharedStore,
        cluster: Arc<dyn Cluster>,
        prober: Prober,
        options: Options,
        clock: Clock,
    ) -> Arc<Self> {
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let metrics = Arc::new(Metrics::default());
        let admin = AdminCheck::new(cluster.clone(), options.sar_cache_size);
        metrics.admin_checks(admin.hits.clone(), admin.misses.clone());
        let parts = KeysParts {
            store,
            cluster: cluster.clone(),
            limits: options.cache,
            clock,
            max_days: options.max_expiration_days,
            metrics: metrics.clone(),
        };
        Arc::new(Self {
            keys: Keys::start(parts, &tasks, &stop),
            cluster,
            admin,
            access: Access { prober, limit: options.access_check_timeout },
            metrics,
            clock,
            rate_limit: options.rate_limit.map(RateLimit::per_minute),
            debug: options.debug,
            tasks,
            stop,
        })
    }

    /// What can be done to keys: for a gateway in the same process.
    pub fn keys(&self) -> &Keys {
        &self.keys
    }

    /// Writes what is still to be written, and closes the store. To be called when no request is running any more.
    pub async fn stop(&self) {
        self.stop.cancel();
        self.tasks.close();
        // The lookup workers live as long as the app; the others end now.
        let _ = tokio::time::timeout(Duration::from_secs(3), self.tasks.wait()).await;
        self.keys.store().close().await;
    }
}
