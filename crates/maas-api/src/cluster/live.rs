//! A real cluster: two watches, and access reviews.

use std::{
    collections::BTreeMap,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use arc_swap::ArcSwap;
use async_trait::async_trait;
use futures::StreamExt;
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use kube::{
    Api, Client, Resource, ResourceExt,
    api::PostParams,
    runtime::{WatchStreamExt, watcher, watcher::Event},
};
use quintet_api::maas::{GROUP, MaaSModelRef, MaaSSubscription};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{Cluster, ReviewError, Snapshot, raw::Raw};
use crate::{
    models::{self, Model},
    subscriptions::{self, Caller, Subscription},
};

/// An access review that takes longer has failed.
const REVIEW: Duration = Duration::from_secs(10);
/// How often a resource that cannot be read is complained about.
const COMPLAIN: Duration = Duration::from_secs(30);

/// A real cluster.
pub struct LiveCluster {
    client: Client,
    namespace: String,
    subscriptions: Arc<Watched<Subscription>>,
    models: Arc<Watched<Model>>,
}

impl LiveCluster {
    /// Starts watching the subscriptions of a namespace and the models of all.
    pub fn start(client: Client, namespace: &str, tasks: &TaskTracker, stop: &CancellationToken) -> Self {
        let subscriptions = Watched::start(
            Api::<Raw<MaaSSubscription>>::namespaced(client.clone(), namespace),
            |raw| {
                let parsed = subscriptions::parse(&raw.metadata, &raw.spec, &raw.status);
                if parsed.is_none() {
                    tracing::warn!(subscription = raw.metadata.name, "passed over: it has no spec");
                }
                parsed
            },
            tasks,
            stop,
        );
        let models = Watched::start(
            Api::<Raw<MaaSModelRef>>::all(client.clone()),
            |raw| Some(models::parse(&raw.metadata, &raw.spec, &raw.status)),
            tasks,
            stop,
        );
        Self { client, namespace: namespace.to_owned(), subscriptions, models }
    }
}

#[async_trait]
impl Cluster for LiveCluster {
    fn subscriptions(&self) -> Snapshot<Subscription> {
        self.subscriptions.objects.load_full()
    }

    fn models(&self) -> Snapshot<Model> {
        self.models.objects.load_full()
    }

    fn unsynced(&self) -> Vec<String> {
        let watches = [
            (&self.subscriptions.synced, MaaSSubscription::plural(&())),
            (&self.models.synced, MaaSModelRef::plural(&())),
        ];
        let unsynced = watches.into_iter().filter(|(synced, _)| !synced.load(Ordering::Acquire));
        unsynced.map(|(_, plural)| format!("{plural}.{GROUP}")).collect()
    }

    async fn review_admin(&self, caller: Caller<'_>) -> Result<bool, ReviewError> {
        let review = admin_review(caller, &self.namespace);
        let api = Api::<SubjectAccessReview>::all(self.client.clone());
        let answer = tokio::time::timeout(REVIEW, api.create(&PostParams::default(), &review)).await;
        match answer {
            Ok(Ok(review)) => Ok(review.status.is_some_and(|status| status.allowed)),
            Ok(Err(error)) => Err(ReviewError(error.to_string())),
            Err(_) => Err(ReviewError(format!("no answer within {} s", REVIEW.as_secs()))),
        }
    }
}

/// An administrator is who may create MaaSAuthPolicies.
fn admin_review(caller: Caller<'_>, namespace: &str) -> SubjectAccessReview {
    SubjectAccessReview {
        spec: SubjectAccessReviewSpec {
            user: Some(caller.username.to_owned()),
            groups: Some(caller.groups.to_vec()),
            resource_attributes: Some(ResourceAttributes {
                namespace: Some(namespace.to_owned()),
                verb: Some("create".into()),
                group: Some(GROUP.into()),
                resource: Some("maasauthpolicies".into()),
                ..Default::default()
            }),
            ..Default::default()
        },
        ..Default::default()
    }
}

/// One kind of object, kept up to date, in the form it is used in.
struct Watched<T> {
    objects: ArcSwap<Vec<Arc<T>>>,
    synced: AtomicBool,
}

impl<T: Send + Sync + 'static> Watched<T> {
    fn start<K: Resource<DynamicType = ()> + 'static>(
        api: Api<Raw<K>>,
        read: fn(&Raw<K>) -> Option<T>,
        tasks: &TaskTracker,
        stop: &CancellationToken,
    ) -> Arc<Self> {
        let watched = Arc::new(Self { objects: ArcSwap::default(), synced: AtomicBool::new(false) });
        tasks.spawn(stop.clone().run_until_cancelled_owned(watched.clone().follow(api, read)));
        watched
    }

    async fn follow<K: Resource<DynamicType = ()> + 'static>(
        self: Arc<Self>,
        api: Api<Raw<K>>,
        read: fn(&Raw<K>) -> Option<T>,
    ) {
        let mut all: BTreeMap<(String, String), Arc<T>> = BTreeMap::new();
        let mut complained: Option<tokio::time::Instant> = None;
        let mut events = pin!(watcher(api, watcher::Config::default()).default_backoff());
        while let Some(event) = events.next().await {
            let key = |raw: &Raw<K>| (raw.namespace().unwrap_or_default(), raw.name_any());
            match event {
                Ok(Event::Init) => {
                    all.clear();
                    continue;
                }
                Ok(Event::InitApply(raw)) => {
                    all.extend(read(&raw).map(|object| (key(&raw), Arc::new(object))));
                    continue;
                }
                Ok(Event::InitDone) => self.synced.store(true, Ordering::Release),
                Ok(Event::Apply(raw)) => match read(&raw) {
                    Some(object) => drop(all.insert(key(&raw), Arc::new(object))),
                    None => drop(all.remove(&key(&raw))),
                },
                Ok(Event::Delete(raw)) => drop(all.remove(&key(&raw))),
                Err(error) => {
                    if complained.is_none_or(|at| at.elapsed() >= COMPLAIN) {
                        complained = Some(tokio::time::Instant::now());
                        let resource = format!("{}.{}", K::plural(&()), K::group(&()));
                        tracing::error!(%error, resource, "cannot be watched; is its CRD installed, and may I read it?");
                    }
                    continue;
                }
            }
            self.objects.store(Arc::new(all.values().cloned().collect()));
            if self.synced.load(Ordering::Acquire) {
                complained = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_review_is_the_originals() {
        let groups = ["system:authenticated".to_owned(), "team-a".to_owned()];
        let review = admin_review(Caller { username: "alice", groups: &groups }, "models-as-a-service");
        insta::assert_json_snapshot!(review);
    }
}
