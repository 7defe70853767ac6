//! The loop that runs the controllers: changes in, writes out, one key at a time.
//!
//! Controllers read the store itself, never a cache, so none acts on what is no longer true. One task runs them all: a
//! key is never looked at twice at once, and under a paused clock nothing waits for real time.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::api::core::v1::{
    ConfigMap, Endpoints, Namespace, PersistentVolume, PersistentVolumeClaim, Pod, Secret, Service,
    ServiceAccount,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::kubelet::Kubelet;
use super::plan::{Event, Plan, Write};
use super::queue::{Controller, Key, Queue, concerned, key_of};
use super::view::View;
use super::{
    Workloads, adoption, claim, cron_job, daemon_set, deployment, endpoints, job, namespace, node,
    replica_set, stateful_set, token_secret,
};
use crate::Plane;
use crate::auth::Account;
use crate::clock;
use crate::internal::Internal;
use crate::plane::WeakPlane;
use crate::resource::GroupVersionKind;
use crate::status::Error;
use crate::store::Store;
use crate::write::{DeleteOptions, Propagation};

/// The field manager of everything written here but by the kubelet.
const MANAGER: &str = "kube-controller-manager";

/// Starts the controllers; they run until told to stop or until the plane ends.
pub(super) fn start(plane: &Plane, workloads: Workloads, stop: CancellationToken) {
    let driver = Driver {
        store: plane.store().clone(),
        plane: plane.downgrade(),
        queue: Queue::default(),
        kubelet: Kubelet::new(workloads),
    };
    tokio::spawn(stop.run_until_cancelled_owned(driver.run()));
}

struct Driver {
    store: Arc<Store>,
    plane: WeakPlane,
    queue: Queue,
    kubelet: Kubelet,
}

/// What came of a plan: the names of what was created, and the failure that ended it.
pub(super) struct Done {
    pub(super) created: Vec<String>,
    pub(super) failure: Option<Error>,
}

impl Driver {
    async fn run(mut self) {
        let mut feed = self.store.feed(0);
        let mut ended = self.kubelet.programs_ended();
        if let Some(plane) = self.plane.upgrade() {
            node::create(&plane).await;
        }
        loop {
            while let Some(key) = self.queue.pop() {
                let Some(plane) = self.plane.upgrade() else { return };
                self.look_at(&plane, key).await;
            }
            let due = self.queue.next_due();
            let sleep = async {
                match due {
                    Some(at) => tokio::time::sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                changes = feed.next(&self.store) => match changes {
                    Some(changes) => {
                        let view = View(self.store.clone());
                        changes.iter().flat_map(|change| concerned(&view, change)).for_each(|key| self.queue.add(key));
                    }
                    None => self.add_all(),
                },
                Some((namespace, name)) = ended.recv() => {
                    self.queue.add(Key { controller: Controller::Pod, namespace, name });
                }
                () = sleep => {}
            }
            self.queue.wake();
        }
    }

    /// More happened than the history holds: looks at everything.
    fn add_all(&mut self) {
        for location in self.store.locations() {
            let object = self.store.at(&location);
            let key = object.and_then(|object| key_of(&location.table.0, &object));
            key.into_iter().for_each(|key| self.queue.add(key));
        }
    }

    async fn look_at(&mut self, plane: &Plane, key: Key) {
        let outcome = match key.controller {
            Controller::Deployment => self.deployment(plane, &key).await,
            Controller::ReplicaSet => self.replica_set(plane, &key).await,
            Controller::Pod => self.kubelet.look_at(plane, &key.namespace, &key.name).await,
            Controller::StatefulSet => self.stateful_set(plane, &key).await,
            Controller::DaemonSet => self.daemon_set(plane, &key).await,
            Controller::Job => self.job(plane, &key).await,
            Controller::CronJob => self.cron_job(plane, &key).await,
            Controller::Service => self.service(plane, &key).await,
            Controller::Claim => self.claim(plane, &key).await,
            Controller::Volume => self.volume(plane, &key).await,
            Controller::TokenSecret => self.token_secret(plane, &key).await,
            Controller::Namespace => self.namespace(plane, &key).await,
        };
        match outcome {
            Ok(again) => {
                self.queue.done(&key);
                if let Some(delay) = again {
                    self.queue.add_in(key, delay);
                }
            }
            Err(error) => {
                // Somebody wrote first, or it is gone: normal, and soon looked at again.
                if !matches!(error.code, 404 | 409) {
                    tracing::warn!(?key, %error, "a workload controller failed");
                }
                self.queue.failed(key);
            }
        }
    }

    async fn deployment(&self, plane: &Plane, key: &Key) -> Result<Option<Duration>, Error> {
        let view = View(self.store.clone());
        let Some(deployment) = view.get::<Deployment>(&key.namespace, &key.name) else { return Ok(None) };
        if let Some(spec) = &deployment.spec {
            let free = view.list::<ReplicaSet>(&key.namespace);
            finished(carry_out(plane, adoption::plan(&deployment, &spec.selector, free)).await, None)?;
        }
        let sets: Vec<ReplicaSet> = view.controlled(deployment.metadata.uid.as_ref());
        let pods: Vec<Pod> = sets.iter().flat_map(|set| view.controlled(set.metadata.uid.as_ref())).collect();
        let plan = deployment::plan(&deployment, &sets, &pods, plane.clock().now());
        let again = plan.again;
        finished(carry_out(plane, plan).await, again)
    }

    async fn replica_set(&self, plane: &Plane, key: &Key) -> Result<Option<Duration>, Error> {
        let view = View(self.store.clone());
        let Some(set) = view.get::<ReplicaSet>(&key.namespace, &key.name) else { return Ok(None) };
        if let Some(spec) = &set.spec {
            let free = view.list::<Pod>(&key.namespace);
            finished(carry_out(plane, adoption::plan(&set, &spec.selector, free)).await, None)?;
        }
        let owned: Vec<Pod> = view.controlled(set.metadata.uid.as_ref());
        let done = carry_out(plane, replica_set::plan(&set, &owned)).await;
        let owned: Vec<Pod> = view.controlled(set.metadata.uid.as_ref());
        let failure = done.failure.as_ref().map(|error| error.message.as_str());
        let mut told = replica_set::sync_status(&set, &owned, failure, plane.clock().now());
        for name in &done.created {
            told.event(replica_set::COMPONENT, &set, "SuccessfulCreate", format!("Created pod: {name}"));
        }
        if let Some(message) = failure {
            told.warn(replica_set::COMPONENT, &set, "FailedCreate", format!("Error creating: {message}"));
        }
        let again = told.again;
        finished(carry_out(plane, told).await, again)?;
        done.failure.map_or(Ok(again), Err)
    }
}

/// The controllers that read some objects and carry out one plan.
impl Driver {
    fn view(&self) -> View {
        View(self.store.clone())
    }

    async fn stateful_set(&self, plane: &Plane, key: &Key) -> Result<Option<Duration>, Error> {
        let view = self.view();
        let Some(set) = view.get::<StatefulSet>(&key.namespace, &key.name) else { return Ok(None) };
        let (owned, revisions) =
            (view.controlled(set.metadata.uid.as_ref()), view.controlled(set.metadata.uid.as_ref()));
        let claims = view.list(&key.namespace);
        run(plane, stateful_set::plan(&set, &owned, &revisions, &claims, plane.clock().now())).await
    }

    async fn daemon_set(&self, plane: &Plane, key: &Key) -> Result<Option<Duration>, Error> {
        let view = self.view();
        let Some(set) = view.get::<DaemonSet>(&key.namespace, &key.name) else { return Ok(None) };
        let uid = set.metadata.uid.as_ref();
        let (owned, revisions) = (view.controlled(uid), view.controlled(uid));
        run(plane, daemon_set::plan(&set, &owned, &revisions, plane.clock().now())).await
    }

    async fn job(&self, plane: &Plane, key: &Key) -> Result<Option<Duration>, Error> {
        let view = self.view();
        let Some(job) = view.get::<Job>(&key.namespace, &key.name) else { return Ok(None) };
        let plan = job::plan(&job, &view.controlled(job.metadata.uid.as_ref()), plane.clock().now());
        let again = plan.again;
        let done = carry_out(plane, plan).await;
        let mut told = Plan::default();
        for name in &done.created {
            told.event(job::COMPONENT, &job, "SuccessfulCreate", format!("Created pod: {name}"));
        }
        carry_out(plane, told).await;
        finished(done, again)
    }

    async fn cron_job(&self, plane: &Plane, key: &Key) -> Result<Option<Duration>, Error> {
        let view = self.view();
        let Some(cron) = view.get::<CronJob>(&key.namespace, &key.name) else { return Ok(None) };
        run(plane, cron_job::plan(&cron, &view.controlled(cron.metadata.uid.as_ref()), plane.clock().now()))
            .await
    }

    async fn service(&self, plane: &Plane, key: &Key) -> Result<Option<Duration>, Error> {
        let view = self.view();
        let Some(service) = view.get::<Service>(&key.namespace, &key.name) else {
            // The slices go with their owner; the Endpoints have none.
            let Some(endpoints) = view.get::<Endpoints>(&key.namespace, &key.name) else { return Ok(None) };
            let ours = endpoints
                .metadata
                .labels
                .as_ref()
                .is_some_and(|labels| labels.contains_key(endpoints::MANAGED_BY));
            let mut plan = Plan::default();
            if ours {
                plan.delete(&endpoints);
            }
            return run(plane, plan).await;
        };
        let (pods, slices) = (view.list(&key.namespace), view.controlled(service.metadata.uid.as_ref()));
        let known = view.get::<Endpoints>(&key.namespace, &key.name);
        run(plane, endpoints::plan(&service, &pods, known.as_ref(), &slices)).await
    }

    async fn claim(&self, plane: &Plane, key: &Key) -> Result<Option<Duration>, Error> {
        let view = self.view();
        let Some(claim) = view.get::<PersistentVolumeClaim>(&key.namespace, &key.name) else {
            return self.reclaim(plane, key).await;
        };
        let around = claim::Around {
            volumes: view.list(""),
            classes: view.list(""),
            users: view.list(&key.namespace),
        };
        match claim::step(&claim, &around, plane.clock().now()) {
            claim::Step::Rest => Ok(None),
            claim::Step::Do(plan) => run(plane, plan).await,
            claim::Step::Bind(plan, volume) => {
                let again = plan.again;
                finished(carry_out(plane, plan).await, again)?;
                let bound = serde_json::to_value(claim::bound(&claim, &volume)).unwrap_or_default();
                Internal::new(plane, MANAGER).amend(&claim, |object| {
                    for part in ["spec", "status"] {
                        object[part] = bound[part].clone();
                    }
                    object["metadata"]["annotations"] = bound["metadata"]["annotations"].clone();
                })?;
                Ok(None)
            }
        }
    }

    /// A deleted volume goes when no claim has it any more.
    async fn volume(&self, plane: &Plane, key: &Key) -> Result<Option<Duration>, Error> {
        let Some(volume) = self.view().get::<PersistentVolume>("", &key.name) else { return Ok(None) };
        run(plane, claim::release_volume(&volume)).await
    }

    async fn token_secret(&self, plane: &Plane, key: &Key) -> Result<Option<Duration>, Error> {
        let view = self.view();
        let Some(secret) = view.get::<Secret>(&key.namespace, &key.name) else { return Ok(None) };
        let Some(name) = token_secret::account(&secret) else { return Ok(None) };
        let owner = view.get::<ServiceAccount>(&key.namespace, name);
        let plan = token_secret::plan(&secret, owner.as_ref(), self.kubelet.root_ca(), |uid| {
            let account = Account { name: name.to_owned(), uid: uid.to_owned() };
            let issuer = &plane.guard().authenticator()?.issuer;
            issuer
                .issue_legacy(&key.namespace, &account, &key.name)
                .map_err(|error| Error::internal(error.to_string()))
        })?;
        run(plane, plan).await
    }

    /// Volumes made for a claim that is gone go too.
    async fn reclaim(&self, plane: &Plane, key: &Key) -> Result<Option<Duration>, Error> {
        let mut plan = Plan::default();
        for volume in self.view().list::<PersistentVolume>("") {
            let spec = volume.spec.clone().unwrap_or_default();
            let of_claim = spec.claim_ref.as_ref().is_some_and(|claim| {
                claim.namespace.as_deref() == Some(&*key.namespace)
                    && claim.name.as_deref() == Some(&*key.name)
            });
            if of_claim && spec.persistent_volume_reclaim_policy.as_deref() == Some("Delete") {
                let mut freed = volume.clone();
                if freed.metadata.finalizers.take().is_some() {
                    plan.update(&freed);
                }
                plan.delete(&volume);
            }
        }
        run(plane, plan).await
    }

    async fn namespace(&self, plane: &Plane, key: &Key) -> Result<Option<Duration>, Error> {
        let view = self.view();
        let Some(space) = view.get::<Namespace>("", &key.name) else { return Ok(None) };
        let account = view.get::<ServiceAccount>(&key.name, namespace::DEFAULT_ACCOUNT);
        let root = view.get::<ConfigMap>(&key.name, namespace::ROOT_CA);
        run(plane, namespace::plan(&space, account.as_ref(), root.as_ref(), self.kubelet.root_ca())).await
    }
}

async fn run(plane: &Plane, plan: Plan) -> Result<Option<Duration>, Error> {
    let again = plan.again;
    finished(carry_out(plane, plan).await, again)
}

fn finished(done: Done, again: Option<Duration>) -> Result<Option<Duration>, Error> {
    done.failure.map_or(Ok(again), Err)
}

/// Does what a plan says, up to the first failure. Events never fail it.
pub(super) async fn carry_out(plane: &Plane, plan: Plan) -> Done {
    let writer = Internal::new(plane, MANAGER);
    let mut done = Done { created: vec![], failure: None };
    for write in plan.writes {
        let outcome = match write {
            Write::Create(object) => {
                writer.create(object).await.map(|stored| done.created.push(stored.facts.name.to_string()))
            }
            Write::Update(object) => writer.update(object, "").await.map(drop),
            Write::UpdateStatus(object) => writer.update(object, "status").await.map(drop),
            Write::Delete { object, grace, foreground } => {
                let kind = GroupVersionKind::from_api_version(
                    object.api_version.as_deref().unwrap_or_default(),
                    object.kind.as_deref().unwrap_or_default(),
                );
                let options = DeleteOptions {
                    grace_seconds: grace.map(i64::from),
                    propagation: Some(if foreground {
                        Propagation::Foreground
                    } else {
                        Propagation::Background
                    }),
                    uid: object.uid,
                    ..DeleteOptions::default()
                };
                let (namespace, name) =
                    (object.namespace.unwrap_or_default(), object.name.unwrap_or_default());
                match writer.delete(&kind, &namespace, &name, &options).await {
                    Err(error) if error.code == 404 => Ok(()),
                    outcome => outcome,
                }
            }
            Write::Event(event) => {
                tell(plane, event).await;
                Ok(())
            }
        };
        if let Err(error) = outcome {
            done.failure = Some(error);
            break;
        }
    }
    done
}

/// Makes an Event. One that is lost is no failure.
async fn tell(plane: &Plane, event: Event) {
    let now = clock::seconds(plane.clock().now());
    let about = &event.about;
    let name = about.name.clone().unwrap_or_default();
    let namespace = about.namespace.clone().unwrap_or_else(|| "default".into());
    let object = json!({
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": { "name": format!("{name}.{:016x}", rand::random::<u64>()), "namespace": namespace },
        "involvedObject": about,
        "type": if event.warning { "Warning" } else { "Normal" },
        "reason": event.reason,
        "message": event.message,
        "source": { "component": event.component },
        "reportingComponent": event.component,
        "reportingInstance": "",
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    });
    if let Err(error) = Internal::new(plane, event.component).create(object).await {
        tracing::debug!(%error, "an event was lost");
    }
}
