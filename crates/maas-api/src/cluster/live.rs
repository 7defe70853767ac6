//! A real cluster: two of the kit's hubs, and access reviews.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use arc_swap::ArcSwap;
use async_trait::async_trait;
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use kube::{Api, Client, Resource, api::PostParams};
use parking_lot::Mutex;
use quintet_api::maas::{GROUP, MaaSModelRef, MaaSSubscription};
use quintet_kit::{
    Hub, Hubs, Kind, ObjectKey, Select,
    hub::{Following, State},
    metrics::Metrics,
};
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
    subscriptions: Arc<Watched<MaaSSubscription, Subscription>>,
    models: Arc<Watched<MaaSModelRef, Model>>,
}

impl LiveCluster {
    /// Starts watching the subscriptions of a namespace and the models of all.
    pub fn start(client: Client, namespace: &str, tasks: &TaskTracker, stop: &CancellationToken) -> Self {
        // The service's role does not let it watch definitions, and need not.
        let hubs = Hubs::unannounced(client.clone(), Metrics::new());
        let subscriptions = Watched::start(&hubs, &Select::namespace(namespace), |raw: &Raw<_>| {
            let parsed = subscriptions::parse(&raw.metadata, &raw.spec, &raw.status);
            if parsed.is_none() {
                tracing::warn!(subscription = raw.metadata.name, "passed over: it has no spec");
            }
            parsed
        });
        let models = Watched::start(&hubs, &Select::all(), |raw: &Raw<_>| {
            Some(models::parse(&raw.metadata, &raw.spec, &raw.status))
        });
        let cluster = Self {
            client,
            namespace: namespace.to_owned(),
            subscriptions: Arc::new(subscriptions),
            models: Arc::new(models),
        };
        hubs.start();
        let (subscriptions, models) = (cluster.subscriptions.clone(), cluster.models.clone());
        tasks.spawn(stop.clone().run_until_cancelled_owned(async move {
            let _hubs = hubs; // they watch as long as this runs
            loop {
                tokio::time::sleep(COMPLAIN).await;
                complain(subscriptions.unsynced(), subscriptions.hub.problem());
                complain(models.unsynced(), models.hub.problem());
            }
        }));
        cluster
    }

    /// Waits until both kinds have been read to the end.
    pub async fn synced(&self) {
        self.subscriptions.hub.reached(State::Ready).await;
        self.models.hub.reached(State::Ready).await;
    }
}

/// Says what keeps the service from being ready.
fn complain(missing: Option<String>, problem: Option<String>) {
    if let Some(resource) = missing {
        let error = problem.unwrap_or_else(|| "the cluster does not serve it".to_owned());
        tracing::error!(error, resource, "cannot be watched; is its CRD installed, and may I read it?");
    }
}

#[async_trait]
impl Cluster for LiveCluster {
    fn subscriptions(&self) -> Snapshot<Subscription> {
        self.subscriptions.objects.snapshot()
    }

    fn models(&self) -> Snapshot<Model> {
        self.models.objects.snapshot()
    }

    fn unsynced(&self) -> Vec<String> {
        [self.subscriptions.unsynced(), self.models.unsynced()].into_iter().flatten().collect()
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

/// One kind of object, in the form it is used in. The kit's hub keeps it up to date; this reads each object once per
/// change, not once per request.
struct Watched<K: Resource<DynamicType = ()> + 'static, T> {
    hub: Hub<Raw<K>>,
    objects: Arc<Objects<T>>,
    _following: Following,
}

struct Objects<T> {
    all: Mutex<BTreeMap<ObjectKey, Arc<T>>>,
    /// As of `all`, unless that has changed since.
    snapshot: ArcSwap<Vec<Arc<T>>>,
    changed: AtomicBool,
}

impl<K: Resource<DynamicType = (), Scope: 'static> + 'static, T: Send + Sync + 'static> Watched<K, T> {
    fn start(hubs: &Hubs, select: &Select, read: fn(&Raw<K>) -> Option<T>) -> Self {
        let (hub, objects) = (hubs.of::<Raw<K>>(select), Arc::new(Objects::default()));
        let kept = objects.clone();
        let following = hub.follow(move |change| {
            let object = if change.gone { None } else { read(&change.object) };
            kept.set(ObjectKey::of(&*change.object), object);
        });
        Self { hub, objects, _following: following }
    }

    /// Its name as in an API path, if it has never been read to the end.
    fn unsynced(&self) -> Option<String> {
        let read = matches!(self.hub.state(), State::Ready | State::Gone);
        (!read).then(|| Raw::<K>::gvk().crd_name())
    }
}

impl<T> Default for Objects<T> {
    fn default() -> Self {
        Self { all: Mutex::default(), snapshot: ArcSwap::default(), changed: AtomicBool::new(false) }
    }
}

impl<T> Objects<T> {
    fn set(&self, key: ObjectKey, object: Option<T>) {
        let mut all = self.all.lock();
        match object {
            Some(object) => drop(all.insert(key, Arc::new(object))),
            None => drop(all.remove(&key)),
        }
        self.changed.store(true, Ordering::Release);
    }

    /// All of them, in order. Put together on the first look after a change: a first list of thousands is one look.
    fn snapshot(&self) -> Snapshot<T> {
        if self.changed.load(Ordering::Acquire) {
            let all = self.all.lock();
            self.snapshot.store(Arc::new(all.values().cloned().collect()));
            self.changed.store(false, Ordering::Release);
        }
        self.snapshot.load_full()
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
