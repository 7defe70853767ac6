//! ReplicaSets: as many Pods as asked for, and an honest count of them.

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{ReplicaSet, ReplicaSetCondition, ReplicaSetStatus};
use k8s_openapi::api::core::v1::Pod;

use super::plan::Plan;
use super::pods;

pub(super) const COMPONENT: &str = "replicaset-controller";

/// Pods to create or delete so that there are as many as asked for.
pub(super) fn plan(set: &ReplicaSet, owned: &[Pod]) -> Plan {
    let mut plan = Plan::default();
    let Some(spec) = set.spec.as_ref().filter(|_| set.metadata.deletion_timestamp.is_none()) else {
        return plan;
    };
    let Some(template) = &spec.template else { return plan };
    let wanted = usize::try_from(spec.replicas.unwrap_or(1)).unwrap_or(0);
    let mut active: Vec<&Pod> = owned.iter().filter(|pod| pods::is_active(pod)).collect();
    for _ in active.len()..wanted {
        plan.create(&pods::of_template(set, template));
    }
    active.sort_by_key(|pod| pods::deletion_rank(pod));
    for pod in active.iter().take(active.len().saturating_sub(wanted)) {
        plan.delete(*pod);
        let name = pod.metadata.name.as_deref().unwrap_or_default();
        plan.event(COMPONENT, set, "SuccessfulDelete", format!("Deleted pod: {name}"));
    }
    plan
}

/// Writes the status that goes with these Pods; `failure` is why the last Pod could not be created.
pub(super) fn sync_status(set: &ReplicaSet, owned: &[Pod], failure: Option<&str>, now: Timestamp) -> Plan {
    let mut plan = Plan::default();
    let spec = set.spec.clone().unwrap_or_default();
    let labels = spec.template.and_then(|t| t.metadata).and_then(|m| m.labels).unwrap_or_default();
    let active: Vec<&Pod> = owned.iter().filter(|pod| pods::is_active(pod)).collect();
    let (mut ready, mut available, mut labelled) = (0, 0, 0);
    for pod in &active {
        let own = pod.metadata.labels.clone().unwrap_or_default();
        labelled += i32::from(labels.iter().all(|(key, value)| own.get(key) == Some(value)));
        ready += i32::from(pods::is_ready(pod));
        match pods::available_in(pod, spec.min_ready_seconds, now) {
            Some(left) if left.is_zero() => available += 1,
            Some(left) => plan.again_in(left),
            None => {}
        }
    }
    let terminating = owned.iter().filter(|pod| pods::is_terminating(pod) && !pods::is_finished(pod)).count();
    let some = |count: i32| (count > 0).then_some(count);
    let status = ReplicaSetStatus {
        replicas: i32::try_from(active.len()).unwrap_or(i32::MAX),
        fully_labeled_replicas: some(labelled),
        ready_replicas: some(ready),
        available_replicas: some(available),
        terminating_replicas: Some(i32::try_from(terminating).unwrap_or(i32::MAX)),
        observed_generation: set.metadata.generation,
        conditions: failure.map(|message| vec![creation_failed(set, message, now)]),
    };
    if set.status.as_ref() != Some(&status) {
        plan.update_status(&ReplicaSet { status: Some(status), ..set.clone() });
    }
    plan
}

/// Why Pods could not be created, as it was told first: later texts name other Pods, and telling each would be a change
/// that makes the controller try again at once.
fn creation_failed(set: &ReplicaSet, message: &str, now: Timestamp) -> ReplicaSetCondition {
    let old = set.status.as_ref().and_then(|status| status.conditions.as_ref());
    old.and_then(|all| all.first().cloned()).unwrap_or_else(|| ReplicaSetCondition {
        type_: "ReplicaFailure".into(),
        status: "True".into(),
        reason: Some("FailedCreate".into()),
        message: Some(message.into()),
        last_transition_time: Some(pods::time(now)),
    })
}
