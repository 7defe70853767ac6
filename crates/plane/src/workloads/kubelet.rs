//! Scheduler and kubelet in one: gives Pods the node and takes them through their lives.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolumeClaim, Pod, Secret};
use serde_json::{Value, json};

use super::driver::carry_out;
use super::plan::{Plan, Write, reference};
use super::pod::{self, Needed, Obstacle, Script, Stage};
use super::view::View;
use super::{SIMULATED, Workloads, node, pods};
use crate::Plane;
use crate::internal::Internal;
use crate::status::Error;

const SCHEDULER: &str = "default-scheduler";
const COMPONENT: &str = "kubelet";

/// Remembers what the API cannot tell: when exactly a Pod came to its stage.
pub(super) struct Kubelet {
    workloads: Workloads,
    entered: HashMap<String, (Stage, Timestamp)>,
}

impl Kubelet {
    pub(super) fn new(workloads: Workloads) -> Self {
        Self { workloads, entered: HashMap::new() }
    }

    pub(super) fn root_ca(&self) -> &str {
        &self.workloads.root_ca
    }

    /// Takes a Pod one step further; tells when to look again.
    pub(super) async fn look_at(
        &mut self,
        plane: &Plane,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Duration>, Error> {
        let view = View(plane.store().clone());
        let Some(pod) = view.get::<Pod>(namespace, name) else { return Ok(None) };
        let unplaced = pod.spec.as_ref().is_none_or(|spec| spec.node_name.is_none());
        if unplaced {
            return if pods::is_terminating(&pod) { Ok(None) } else { schedule(plane, &view, &pod).await };
        }
        let now = plane.clock().now();
        let uid = pod.metadata.uid.clone().unwrap_or_default();
        let stage = pod::stage(&pod);
        let entered = self.entered.entry(uid.clone()).or_insert((stage, now));
        if entered.0 != stage {
            *entered = (stage, now);
        }
        let since = now.duration_since(entered.1).unsigned_abs();
        let (script, mut obstacle) = match self.workloads.script(&pod) {
            Ok(script) => (script, None),
            Err(why) => (Script::default(), Some(Obstacle::Script(why))),
        };
        if stage == Stage::Creating && obstacle.is_none() {
            obstacle = find_obstacle(&view, &pod);
        }
        let next = pod::step(&pod, &script, obstacle.as_ref(), since, now);
        let mut plan = Plan::default();
        if let Some((warning, reason, message)) = next.event {
            if warning {
                plan.warn(COMPONENT, &pod, reason, message);
            } else {
                plan.event(COMPONENT, &pod, reason, message);
            }
        }
        if next.started {
            self.workloads.logs().append(&uid, &script.log, now);
        }
        if let Some(status) = next.status {
            plan.update_status(&Pod { status: Some(status), ..pod.clone() });
        }
        if next.gone {
            self.entered.remove(&uid);
            self.workloads.logs().forget(&uid);
            plan.writes.push(Write::Delete { object: reference(&pod), grace: Some(0), foreground: false });
        }
        match carry_out(plane, plan).await.failure {
            Some(error) => Err(error),
            None => Ok(next.again),
        }
    }
}

/// Gives the Pod the one node, unless it asks for something that is not there.
async fn schedule(plane: &Plane, view: &View, pod: &Pod) -> Result<Option<Duration>, Error> {
    let now = plane.clock().now();
    let spec = pod.spec.clone().unwrap_or_default();
    if spec.scheduling_gates.as_ref().is_some_and(|gates| !gates.is_empty()) {
        return Ok(None);
    }
    let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
    let missing = pod::needed(pod).into_iter().find_map(|needed| match needed {
        Needed::Claim(name) if view.get::<PersistentVolumeClaim>(namespace, &name).is_none() => Some(name),
        _ => None,
    });
    let why = missing.map(|claim| format!("persistentvolumeclaim {claim:?} not found")).or_else(|| {
        node::refuses(&spec).then(|| "1 node(s) didn't match Pod's node affinity/selector".into())
    });
    if let Some(why) = why {
        let why = format!("0/1 nodes are available: {why}.");
        let status = pod::unschedulable(pod, why.clone(), now);
        if pod.status.as_ref() != Some(&status) {
            let mut plan = Plan::default();
            plan.warn(SCHEDULER, pod, "FailedScheduling", why);
            plan.update_status(&Pod { status: Some(status), ..pod.clone() });
            if let Some(error) = carry_out(plane, plan).await.failure {
                return Err(error);
            }
        }
        return Ok(Some(Duration::from_secs(1)));
    }
    let status = serde_json::to_value(pod::scheduled(pod, now)).unwrap_or_default();
    Internal::new(plane, SCHEDULER).amend::<Pod>(pod, |object: &mut Value| {
        object["spec"]["nodeName"] = json!(node::NAME);
        object["metadata"]["annotations"][SIMULATED] = json!("true");
        object["status"] = status.clone();
    })?;
    let mut plan = Plan::default();
    let (name, node) = (pod.metadata.name.as_deref().unwrap_or_default(), node::NAME);
    plan.event(SCHEDULER, pod, "Scheduled", format!("Successfully assigned {namespace}/{name} to {node}"));
    carry_out(plane, plan).await;
    Ok(None)
}

/// What keeps the containers from being created.
fn find_obstacle(view: &View, pod: &Pod) -> Option<Obstacle> {
    let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
    let keys = |kind: pod::Kind, name: &str| -> Option<Vec<String>> {
        match kind {
            pod::Kind::ConfigMap => {
                let map = view.get::<ConfigMap>(namespace, name)?;
                Some(
                    map.data
                        .unwrap_or_default()
                        .into_keys()
                        .chain(map.binary_data.unwrap_or_default().into_keys())
                        .collect(),
                )
            }
            pod::Kind::Secret => {
                let secret = view.get::<Secret>(namespace, name)?;
                let data: BTreeMap<_, _> = secret.data.unwrap_or_default();
                Some(data.into_keys().collect())
            }
        }
    };
    // Every Pod mounts this one; whether it exists is the cluster's business, not the Pod author's.
    let given = |name: &str| name == "kube-root-ca.crt";
    pod::needed(pod).into_iter().find_map(|needed| match needed {
        Needed::Claim(_) => None,
        Needed::Volume(_, name) if given(&name) => None,
        Needed::Volume(kind, name) => keys(kind, &name).is_none().then(|| {
            Obstacle::Mount(format!(
                "MountVolume.SetUp failed for volume: {} {name:?} not found",
                kind.word()
            ))
        }),
        Needed::Environment(kind, name, key) => match (keys(kind, &name), key) {
            (None, _) => Some(Obstacle::Config(format!("{} {name:?} not found", kind.word()))),
            (Some(keys), Some(key)) if !keys.contains(&key) => {
                let kind = if kind == pod::Kind::Secret { "Secret" } else { "ConfigMap" };
                Some(Obstacle::Config(format!("couldn't find key {key} in {kind} {namespace}/{name}")))
            }
            _ => None,
        },
    })
}
