//! A cluster that is whatever it is told to be.

use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use arc_swap::ArcSwap;
use async_trait::async_trait;

use super::{Cluster, ReviewError, Snapshot};
use crate::{
    models::Model,
    subscriptions::{Caller, Subscription},
};

/// For tests and benchmarks.
#[derive(Debug, Default)]
pub struct FixedCluster {
    subscriptions: ArcSwap<Vec<Arc<Subscription>>>,
    models: ArcSwap<Vec<Arc<Model>>>,
    admins: ArcSwap<HashSet<String>>,
    broken: ArcSwap<Option<String>>,
    unsynced: ArcSwap<Vec<String>>,
    reviews: AtomicU64,
}

impl FixedCluster {
    /// From now on these are the subscriptions.
    pub fn set_subscriptions(&self, subscriptions: impl IntoIterator<Item = Subscription>) {
        self.subscriptions.store(Arc::new(subscriptions.into_iter().map(Arc::new).collect()));
    }

    /// From now on these are the models.
    pub fn set_models(&self, models: impl IntoIterator<Item = Model>) {
        self.models.store(Arc::new(models.into_iter().map(Arc::new).collect()));
    }

    /// From now on these users are administrators.
    pub fn set_admins(&self, admins: impl IntoIterator<Item = &'static str>) {
        self.admins.store(Arc::new(admins.into_iter().map(str::to_owned).collect()));
    }

    /// From now on every access review fails like this.
    pub fn break_reviews(&self, error: &str) {
        self.broken.store(Arc::new(Some(error.to_owned())));
    }

    /// From now on this has not been read yet.
    pub fn set_unsynced(&self, resources: impl IntoIterator<Item = &'static str>) {
        self.unsynced.store(Arc::new(resources.into_iter().map(str::to_owned).collect()));
    }

    /// How many access reviews there were.
    pub fn reviews(&self) -> u64 {
        self.reviews.load(Ordering::Relaxed)
    }
}

#[async_trait]
impl Cluster for FixedCluster {
    fn subscriptions(&self) -> Snapshot<Subscription> {
        self.subscriptions.load_full()
    }

    fn models(&self) -> Snapshot<Model> {
        self.models.load_full()
    }

    fn unsynced(&self) -> Vec<String> {
        self.unsynced.load().to_vec()
    }

    async fn review_admin(&self, caller: Caller<'_>) -> Result<bool, ReviewError> {
        self.reviews.fetch_add(1, Ordering::Relaxed);
        tokio::task::yield_now().await; // as a call over the network would
        match &**self.broken.load() {
            Some(error) => Err(ReviewError(error.clone())),
            None => Ok(self.admins.load().contains(caller.username)),
        }
    }
}
