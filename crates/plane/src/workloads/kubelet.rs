//! Scheduler and kubelet in one: gives Pods the node and takes them through their lives.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolumeClaim, Pod, Secret};
use serde_json::{Value, json};

use super::driver::carry_out;
use super::logs::Writer;
use super::plan::{Plan, Write, reference};
use super::pod::{self, Exit, Needed, Obstacle, Script, Stage};
use super::program::Program;
use super::view::View;
use super::{SIMULATED, Workloads, node, pods};
use crate::Plane;
use crate::internal::Internal;
use crate::status::Error;

const SCHEDULER: &str = "default-scheduler";
const COMPONENT: &str = "kubelet";

/// Remembers what the API cannot tell: when exactly a Pod came to its stage, and what was begun for it.
pub(super) struct Kubelet {
    workloads: Workloads,
    entered: HashMap<String, (Stage, Timestamp)>,
    /// For which restart the scripted container's output was last begun.
    begun: HashMap<String, i32>,
    /// Which Pod had a name when it was last looked at.
    uids: HashMap<(String, String), String>,
}

impl Kubelet {
    pub(super) fn new(workloads: Workloads) -> Self {
        Self { workloads, entered: HashMap::new(), begun: HashMap::new(), uids: HashMap::new() }
    }

    pub(super) fn root_ca(&self) -> &str {
        &self.workloads.root_ca
    }

    /// Tells of Pods whose program ended by itself.
    pub(super) fn programs_ended(&self) -> tokio::sync::mpsc::UnboundedReceiver<(String, String)> {
        self.workloads.runs().listen()
    }

    /// Takes a Pod one step further; tells when to look again.
    pub(super) async fn look_at(
        &mut self,
        plane: &Plane,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Duration>, Error> {
        let view = View(plane.store().clone());
        let pod = view.get::<Pod>(namespace, name);
        self.forget_others(namespace, name, pod.as_ref());
        let Some(pod) = pod else { return Ok(None) };
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
        let (mut script, mut obstacle) = match self.workloads.script(&pod) {
            Ok(script) => (script, None),
            Err(why) => (Script::default(), Some(Obstacle::Script(why))),
        };
        if stage == Stage::Creating && obstacle.is_none() {
            obstacle = find_obstacle(&view, &pod);
        }
        let container = pod::scripted(&pod, &script);
        let program = self.workloads.program(&pod, &container);
        if program.is_some() {
            script.exit = match self.workloads.runs().code(&uid) {
                Some(code) => Exit::With { code, after: Duration::ZERO, times: None },
                None => Exit::Never,
            };
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
        let restarts = next.status.as_ref().map_or(0, |status| pod::restarts(status, &container));
        // Before the status tells of it, so that whoever sees it running can read its log; and once, should that
        // write have to be repeated.
        if next.started && self.begun.insert(uid.clone(), restarts) != Some(restarts) {
            self.begin(plane, &pod, &script, program.as_ref());
        }
        if let Some(status) = next.status {
            plan.update_status(&Pod { status: Some(status), ..pod.clone() });
        }
        if next.gone {
            plan.writes.push(Write::Delete { object: reference(&pod), grace: Some(0), foreground: false });
        }
        if let Some(error) = carry_out(plane, plan).await.failure {
            return Err(error);
        }
        if next.ended {
            self.end(&pod, &container, now);
        }
        Ok(next.again)
    }
}

/// The containers' output.
impl Kubelet {
    /// Lets go of a Pod that is no longer there, or whose name another has now. It may have gone without being stopped:
    /// one without grace, or one that was finished, does.
    fn forget_others(&mut self, namespace: &str, name: &str, pod: Option<&Pod>) {
        let place = (namespace.to_owned(), name.to_owned());
        let now = pod.and_then(|pod| pod.metadata.uid.clone());
        let before = match &now {
            Some(uid) => self.uids.insert(place, uid.clone()),
            None => self.uids.remove(&place),
        };
        if let Some(gone) = before.filter(|uid| Some(uid) != now.as_ref()) {
            self.entered.remove(&gone);
            self.begun.remove(&gone);
            self.workloads.runs().stop(&gone);
            self.workloads.logs().forget(&gone);
        }
    }

    /// Containers start: the scripted one writes its lines, and its program runs if it has one.
    fn begin(&self, plane: &Plane, pod: &Pod, script: &Script, program: Option<&Program>) {
        let (logs, uid) = (self.workloads.logs(), pod.metadata.uid.clone().unwrap_or_default());
        let scripted = pod::scripted(pod, script);
        for container in pod.spec.iter().flat_map(|spec| &spec.containers) {
            // The others of the Pod keep running while one is restarted.
            if container.name == scripted || logs.follow(&uid, &container.name).is_none() {
                logs.begin(&uid, &container.name);
            }
        }
        let clock = plane.clock().clone();
        for line in &script.log {
            logs.write(&uid, &scripted, format!("{line}\n").as_bytes(), clock.now());
        }
        if let Some(program) = program {
            let log = Writer { logs: logs.clone(), uid, container: scripted.clone(), clock };
            self.workloads.runs().start(program, pod, &scripted, log);
        }
    }

    /// A container has ended; in a Pod that is not restarted, all have.
    fn end(&self, pod: &Pod, container: &str, now: Timestamp) {
        let uid = pod.metadata.uid.as_deref().unwrap_or_default();
        self.workloads.runs().stop(uid);
        let stays = pod.spec.as_ref().and_then(|spec| spec.restart_policy.as_deref()) != Some("Never");
        for other in pod.spec.iter().flat_map(|spec| &spec.containers) {
            if other.name == container || !stays || pods::is_terminating(pod) {
                self.workloads.logs().end(uid, &other.name, now);
            }
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
