//! The little that maas-api knows of Kubernetes: the subscriptions and models there are, and who is an administrator.
//!
//! Everything goes through one trait, so that the rest can be tested without a cluster.

mod admin;
mod fixed;
mod live;
mod raw;

use std::sync::Arc;

use async_trait::async_trait;

pub use admin::{AdminCheck, ReviewError};
pub use fixed::FixedCluster;
pub use live::LiveCluster;

use crate::{
    models::Model,
    subscriptions::{Caller, Subscription},
};

/// A snapshot of objects.
pub type Snapshot<T> = Arc<Vec<Arc<T>>>;

/// A cluster, as far as maas-api needs one.
#[async_trait]
pub trait Cluster: Send + Sync + 'static {
    /// All subscriptions of the subscription namespace.
    fn subscriptions(&self) -> Snapshot<Subscription>;

    /// All models of all namespaces.
    fn models(&self) -> Snapshot<Model>;

    /// What has not been read yet, as `resource.group`. Empty once everything has.
    fn unsynced(&self) -> Vec<String>;

    /// Asks whether somebody may administer MaaS.
    async fn review_admin(&self, caller: Caller<'_>) -> Result<bool, ReviewError>;
}
