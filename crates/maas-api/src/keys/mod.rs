//! API keys: what they look like, how long they live, and everything that can be done to them.

mod base62;
pub mod expiry;
pub mod format;
mod manage;
mod validate;

use std::sync::Arc;

use quintet_kit::Clock;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub use expiry::{ExpiresIn, ExpiryError, Lifetime};
pub use format::{ApiKey, KeyHash};
pub use manage::{CreateError, CreateKey, Created};
pub use validate::{ValidateError, Verdict};

use crate::{
    cache::{CacheLimits, LastUsed, Lookups, ValidationCache},
    cluster::Cluster,
    metrics::Metrics,
    store::{Heard, SharedStore},
};

/// Everything that can be done to keys.
pub struct Keys {
    store: SharedStore,
    cluster: Arc<dyn Cluster>,
    cache: Arc<ValidationCache>,
    lookups: Lookups,
    last_used: LastUsed,
    clock: Clock,
    max_days: i64,
    metrics: Arc<Metrics>,
}

/// What [`Keys`] is made of.
pub struct KeysParts {
    /// Where keys are kept.
    pub store: SharedStore,
    /// Where subscriptions are found.
    pub cluster: Arc<dyn Cluster>,
    /// How much validation remembers.
    pub limits: CacheLimits,
    /// The time.
    pub clock: Clock,
    /// How many days a regular key may live.
    pub max_days: i64,
    /// Counters.
    pub metrics: Arc<Metrics>,
}

impl Keys {
    /// Starts what runs in the background: lookups, notes of last use, and listening for other replicas' revocations.
    pub fn start(parts: KeysParts, tasks: &TaskTracker, stop: &CancellationToken) -> Self {
        let KeysParts { store, cluster, limits, clock, max_days, metrics } = parts;
        let cache = Arc::new(ValidationCache::new(limits));
        let lookups = Lookups::start(store.clone(), tasks);
        let last_used = LastUsed::start(store.clone(), tasks, stop.clone());
        let (heard, other) = (cache.clone(), store.clone());
        tasks.spawn(stop.clone().run_until_cancelled_owned(async move {
            let hear = move |what: Heard<'_>| match what {
                Heard::Listening => heard.listening(),
                Heard::Deaf => heard.deaf(),
                Heard::Key(id) => heard.forget_key(id),
                Heard::User(username) => heard.forget_user(username),
            };
            other.watch_revocations(&hear).await;
        }));
        Self { store, cluster, cache, lookups, last_used, clock, max_days, metrics }
    }

    /// The store, for what needs no rules.
    pub fn store(&self) -> &SharedStore {
        &self.store
    }
}
