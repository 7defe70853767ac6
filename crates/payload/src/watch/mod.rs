//! Keeps the stores as the cluster is: ExternalModels, labelled Secrets, and base models where a plugin needs them.
//!
//! The only place that talks to Kubernetes. What an object means to us is a pure function in the file of its kind;
//! [`Follower`] applies a watch's events to a store, and can be driven by hand.

mod base_models;
mod credentials;
mod external_models;
mod follower;

pub use follower::{Follower, Reading};

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use futures::{Stream, StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::core::{ApiResource, DynamicObject};
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt, watcher as watch_kind};
use kube::{Api, Client, ResourceExt};
use quintet_api::maas::ExternalModel;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::config::PluginSpec;
use crate::stores::Stores;

/// Marks the Secrets and ConfigMaps that are meant for us.
pub const LABEL: &str = "inference.networking.k8s.io/bbr-managed=true";

/// Which kinds a chain needs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Needs {
    /// ExternalModels, for `model-provider-resolver`.
    pub models: bool,
    /// Secrets, for `apikey-injection`.
    pub credentials: bool,
    /// ConfigMaps, for `base-model-to-header`.
    pub base_models: bool,
}

impl Needs {
    /// What these plugins need.
    pub fn of(chain: &[PluginSpec]) -> Needs {
        let has = |kind: &str| chain.iter().any(|plugin| plugin.kind == kind);
        Needs {
            models: has("model-provider-resolver"),
            credentials: has("apikey-injection"),
            base_models: has("base-model-to-header"),
        }
    }

    /// True if nothing has to be watched.
    pub fn nothing(self) -> bool {
        self == Needs::default()
    }
}

/// The running watches.
#[derive(Debug)]
pub struct Watches {
    synced: Vec<watch::Receiver<bool>>,
}

impl Watches {
    /// Starts what is needed, in one namespace or in all, until `stop`.
    pub fn start(
        client: &Client,
        namespace: Option<&str>,
        needs: Needs,
        stores: &Arc<Stores>,
        tasks: &TaskTracker,
        stop: &CancellationToken,
    ) -> Watches {
        let mut synced = Vec::new();
        let mut start = |following: std::pin::Pin<Box<dyn Future<Output = ()> + Send>>, done| {
            tasks.spawn(stop.clone().run_until_cancelled_owned(following));
            synced.push(done);
        };
        if needs.models {
            let resource = ApiResource::erase::<ExternalModel>(&());
            let api: Api<DynamicObject> = match namespace {
                Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
                None => Api::all_with(client.clone(), &resource),
            };
            let follower = Follower::new(stores.clone(), |s: &Stores| &s.models, external_models::read);
            let (following, done) =
                follow(events(api, watcher::Config::default()), follower, "ExternalModel");
            start(Box::pin(following), done);
        }
        if needs.credentials {
            let follower = Follower::new(stores.clone(), |s: &Stores| &s.credentials, credentials::read);
            let labelled = watcher::Config::default().labels(LABEL);
            let (following, done) =
                follow(events(scoped::<Secret>(client, namespace), labelled), follower, "Secret");
            start(Box::pin(following), done);
        }
        if needs.base_models {
            let follower = Follower::new(stores.clone(), |s: &Stores| &s.base_models, base_models::read);
            let labelled = watcher::Config::default().labels(LABEL);
            let (following, done) =
                follow(events(scoped::<ConfigMap>(client, namespace), labelled), follower, "ConfigMap");
            start(Box::pin(following), done);
        }
        Watches { synced }
    }

    /// Waits until every store holds what the cluster held at the start.
    pub async fn synced(&mut self) {
        for done in &mut self.synced {
            // An error means that the watch was stopped, and so are we.
            let _ = done.wait_for(|synced| *synced).await;
        }
    }
}

fn scoped<K>(client: &Client, namespace: Option<&str>) -> Api<K>
where
    K: kube::Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>,
{
    match namespace {
        Some(namespace) => Api::namespaced(client.clone(), namespace),
        None => Api::all(client.clone()),
    }
}

fn events<K>(api: Api<K>, config: watcher::Config) -> impl Stream<Item = watcher::Result<Event<K>>> + Send
where
    K: kube::Resource + Clone + serde::de::DeserializeOwned + Debug + Send + 'static,
{
    watch_kind(api, config).default_backoff().modify(|object| object.meta_mut().managed_fields = None)
}

/// Feeds a watch's events to its follower. The receiver turns true when the first list is in.
fn follow<K, T>(
    events: impl Stream<Item = watcher::Result<Event<K>>> + Send,
    mut follower: Follower<K, T>,
    kind: &'static str,
) -> (impl Future<Output = ()> + Send, watch::Receiver<bool>)
where
    K: ResourceExt + Send + 'static,
    T: Send + Sync + 'static,
{
    let (tell, done) = watch::channel(false);
    let following = async move {
        let mut events = std::pin::pin!(events.into_stream());
        let mut quiet_until = None;
        while let Some(event) = events.next().await {
            match event {
                Ok(event) => {
                    if follower.event(event) {
                        tell.send_replace(true);
                    }
                }
                Err(error) => {
                    if is_absent(&error) {
                        // Without the definition there can be no external models: serve what there is.
                        tell.send_replace(true);
                    }
                    let now = tokio::time::Instant::now();
                    if quiet_until.is_none_or(|until| now >= until) {
                        tracing::warn!(kind, %error, "watch failed, trying again");
                        quiet_until = Some(now + Duration::from_secs(60));
                    }
                }
            }
        }
    };
    (following, done)
}

/// True if the API server does not know the kind.
fn is_absent(error: &watcher::Error) -> bool {
    match error {
        watcher::Error::InitialListFailed(kube::Error::Api(status)) => status.code == 404,
        _ => false,
    }
}

#[cfg(test)]
mod tests;
