//! DaemonSets: one Pod on the one node.

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{ControllerRevision, DaemonSet, DaemonSetSpec, DaemonSetStatus};
use k8s_openapi::api::core::v1::{Pod, Toleration};
use serde_json::json;

use super::plan::Plan;
use super::revisions::{self, LABEL as REVISION};
use super::{node, pods};

const COMPONENT: &str = "daemonset-controller";

/// What to do next, given the Pods and revisions it controls.
pub(super) fn plan(set: &DaemonSet, owned: &[Pod], revisions: &[ControllerRevision], now: Timestamp) -> Plan {
    let mut plan = Plan::default();
    let Some(spec) = set.spec.as_ref() else { return plan };
    let hash = pods::template_hash(&spec.template, 0);
    let wanted = spec.template.spec.as_ref().is_some_and(|spec| !node::refuses(spec));
    let is_new =
        |pod: &Pod| pod.metadata.labels.as_ref().and_then(|labels| labels.get(REVISION)) == Some(&hash);
    if set.metadata.deletion_timestamp.is_none() {
        let label = |pod: &'_ Pod| pod.metadata.labels.as_ref()?.get(REVISION).cloned();
        let used: Vec<String> = owned.iter().filter_map(label).collect();
        let used: Vec<&str> = used.iter().map(String::as_str).collect();
        let name = format!("{}-{hash}", set.metadata.name.as_deref().unwrap_or_default());
        let now = revisions::Current { name, label: hash.clone(), template: &spec.template };
        revisions::sync(&mut plan, set, &now, revisions, spec.revision_history_limit, &used);
        let mut live: Vec<&Pod> = owned.iter().filter(|pod| !pods::is_terminating(pod)).collect();
        live.sort_by_key(|pod| pods::deletion_rank(pod));
        let on_delete = spec.update_strategy.as_ref().and_then(|s| s.type_.as_deref()) == Some("OnDelete");
        let spare = live.len().saturating_sub(usize::from(wanted));
        for (place, pod) in live.iter().enumerate() {
            if place < spare || pods::is_finished(pod) || !on_delete && !is_new(pod) {
                plan.delete(*pod);
                let name = pod.metadata.name.as_deref().unwrap_or_default();
                plan.event(COMPONENT, set, "SuccessfulDelete", format!("Deleted pod: {name}"));
            }
        }
        // The next one comes when the former is really gone: one node, one Pod.
        if wanted && owned.is_empty() {
            plan.create(&new_pod(set, spec, &hash));
        }
    }
    let live = || owned.iter().filter(|pod| !pods::is_terminating(pod));
    let count = |pods: usize| i32::try_from(pods).unwrap_or(i32::MAX);
    let ready = count(live().filter(|pod| pods::is_ready(pod)).count());
    let mut available = 0;
    for left in live().filter_map(|pod| pods::available_in(pod, spec.min_ready_seconds, now)) {
        if left.is_zero() { available += 1 } else { plan.again_in(left) }
    }
    let some = |count: i32| (count > 0).then_some(count);
    let desired = i32::from(wanted);
    let status = DaemonSetStatus {
        observed_generation: set.metadata.generation,
        current_number_scheduled: count(live().count()).min(desired),
        desired_number_scheduled: desired,
        number_misscheduled: if wanted { 0 } else { count(live().count()) },
        number_ready: ready,
        number_available: some(available),
        number_unavailable: some(desired - available),
        updated_number_scheduled: some(count(live().filter(|pod| is_new(pod)).count())),
        ..set.status.clone().unwrap_or_default()
    };
    if set.status.as_ref() != Some(&status) {
        plan.update_status(&DaemonSet { status: Some(status), ..set.clone() });
    }
    plan
}

fn new_pod(set: &DaemonSet, spec: &DaemonSetSpec, hash: &str) -> Pod {
    let mut pod = pods::of_template(set, &spec.template);
    let labels = pod.metadata.labels.get_or_insert_default();
    labels.insert(REVISION.into(), hash.into());
    labels.insert("pod-template-generation".into(), set.metadata.generation.unwrap_or(1).to_string());
    let pod_spec = pod.spec.get_or_insert_default();
    let term =
        json!({ "matchFields": [{ "key": "metadata.name", "operator": "In", "values": [node::NAME] }] });
    let affinity =
        json!({ "requiredDuringSchedulingIgnoredDuringExecution": { "nodeSelectorTerms": [term] } });
    pod_spec.affinity.get_or_insert_default().node_affinity = serde_json::from_value(affinity).ok();
    let tolerate = |key: &str, effect: &str| Toleration {
        key: Some(format!("node.kubernetes.io/{key}")),
        operator: Some("Exists".into()),
        effect: Some(effect.into()),
        ..Toleration::default()
    };
    pod_spec.tolerations.get_or_insert_default().extend([
        tolerate("not-ready", "NoExecute"),
        tolerate("unreachable", "NoExecute"),
        tolerate("disk-pressure", "NoSchedule"),
        tolerate("memory-pressure", "NoSchedule"),
        tolerate("pid-pressure", "NoSchedule"),
        tolerate("unschedulable", "NoSchedule"),
    ]);
    pod
}
