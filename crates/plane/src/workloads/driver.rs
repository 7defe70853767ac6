//! The loop that runs the controllers: changes in, writes out, one key at a time.
//!
//! Controllers read the store itself, never a cache, so none acts on what is no longer true. One task runs them all: a
//! key is never looked at twice at once, and under a paused clock nothing waits for real time.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::Pod;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::kubelet::Kubelet;
use super::plan::{Event, Plan, Write};
use super::queue::{Controller, Key, Queue, concerned};
use super::view::View;
use super::{Workloads, deployment, node, replica_set};
use crate::Plane;
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
                    Some(changes) => changes.iter().flat_map(|change| concerned(change)).for_each(|key| self.queue.add(key)),
                    None => self.add_all(),
                },
                () = sleep => {}
            }
            self.queue.wake();
        }
    }

    /// More happened than the history holds: looks at everything.
    fn add_all(&mut self) {
        let view = View(self.store.clone());
        let mut add = |controller, namespace: Option<String>, name: Option<String>| {
            let (namespace, name) = (namespace.unwrap_or_default(), name.unwrap_or_default());
            self.queue.add(Key { controller, namespace, name });
        };
        for object in view.list::<Deployment>("") {
            add(Controller::Deployment, object.metadata.namespace, object.metadata.name);
        }
        for object in view.list::<ReplicaSet>("") {
            add(Controller::ReplicaSet, object.metadata.namespace, object.metadata.name);
        }
        for object in view.list::<Pod>("") {
            add(Controller::Pod, object.metadata.namespace, object.metadata.name);
        }
    }

    async fn look_at(&mut self, plane: &Plane, key: Key) {
        let outcome = match key.controller {
            Controller::Deployment => self.deployment(plane, &key).await,
            Controller::ReplicaSet => self.replica_set(plane, &key).await,
            Controller::Pod => self.kubelet.look_at(plane, &key.namespace, &key.name).await,
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
        let sets: Vec<ReplicaSet> = view.controlled(deployment.metadata.uid.as_ref());
        let pods: Vec<Pod> = sets.iter().flat_map(|set| view.controlled(set.metadata.uid.as_ref())).collect();
        let plan = deployment::plan(&deployment, &sets, &pods, plane.clock().now());
        let again = plan.again;
        finished(carry_out(plane, plan).await, again)
    }

    async fn replica_set(&self, plane: &Plane, key: &Key) -> Result<Option<Duration>, Error> {
        let view = View(self.store.clone());
        let Some(set) = view.get::<ReplicaSet>(&key.namespace, &key.name) else { return Ok(None) };
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
