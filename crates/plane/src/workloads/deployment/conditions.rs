//! The status of a Deployment: counts, and the conditions that tell how the rollout goes.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{Deployment, DeploymentCondition, DeploymentSpec, DeploymentStatus};

use super::super::plan::Plan;
use super::super::pods;
use super::replica_sets::{Sets, asked};
use super::{REVISION, max_unavailable, replicas};

const AVAILABLE: &str = "Available";
const PROGRESSING: &str = "Progressing";
const FAILURE: &str = "ReplicaFailure";
const DONE: &str = "NewReplicaSetAvailable";
const TIMED_OUT: &str = "ProgressDeadlineExceeded";
/// "No deadline" is written as the largest number.
const NO_DEADLINE: i32 = i32::MAX;

type Conditions = Vec<DeploymentCondition>;

/// The status without its conditions.
pub(super) fn counts(deployment: &Deployment, spec: &DeploymentSpec, sets: &Sets<'_>) -> DeploymentStatus {
    let old = deployment.status.clone().unwrap_or_default();
    let status = |of: fn(&k8s_openapi::api::apps::v1::ReplicaSetStatus) -> i32| -> i32 {
        sets.all().filter_map(|set| set.status.as_ref()).map(of).sum()
    };
    let some = |count: i32| (count > 0).then_some(count);
    let (total, available) = (status(|s| s.replicas), sets.available());
    let asked_for: i32 = sets.all().map(asked).sum();
    let updated = sets.new.and_then(|set| set.status.as_ref()).map_or(0, |s| s.replicas);
    debug_assert!(spec.selector.match_labels.is_some() || spec.selector.match_expressions.is_some());
    DeploymentStatus {
        observed_generation: deployment.metadata.generation,
        replicas: some(total),
        updated_replicas: some(updated),
        ready_replicas: some(status(|s| s.ready_replicas.unwrap_or(0))),
        available_replicas: some(available),
        unavailable_replicas: some((asked_for - available).max(0)),
        terminating_replicas: Some(status(|s| s.terminating_replicas.unwrap_or(0))),
        collision_count: old.collision_count,
        conditions: old.conditions,
    }
}

/// Whether everything asked for is there, new and available.
pub(super) fn is_complete(deployment: &Deployment, spec: &DeploymentSpec, status: &DeploymentStatus) -> bool {
    let wanted = replicas(spec);
    status.updated_replicas.unwrap_or(0) == wanted
        && status.replicas.unwrap_or(0) == wanted
        && status.available_replicas.unwrap_or(0) == wanted
        && status.observed_generation >= deployment.metadata.generation
}

pub(super) fn has_progress(deployment: &Deployment) -> bool {
    let conditions = deployment.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.is_some_and(|all| find(all, PROGRESSING).is_some())
}

/// Writes the revision, and what happened to get there.
pub(super) fn note_revision(
    plan: &mut Plan,
    deployment: &Deployment,
    revision: &str,
    note: Option<(&str, String)>,
    now: Timestamp,
) {
    let mut updated = deployment.clone();
    updated.metadata.annotations.get_or_insert_default().insert(REVISION.into(), revision.into());
    if let (Some((reason, message)), true) = (note, has_deadline(deployment.spec.as_ref())) {
        let conditions = updated.status.get_or_insert_default().conditions.get_or_insert_default();
        set(conditions, PROGRESSING, "True", reason, message, now);
    }
    plan.update_status(&updated);
}

/// Tells that the rollout was paused or resumed. True if that was news.
pub(super) fn sync_paused(
    plan: &mut Plan,
    deployment: &Deployment,
    spec: &DeploymentSpec,
    now: Timestamp,
) -> bool {
    if !has_deadline(Some(spec)) {
        return false;
    }
    let mut updated = deployment.clone();
    let conditions = updated.status.get_or_insert_default().conditions.get_or_insert_default();
    let reason = find(conditions, PROGRESSING).and_then(|c| c.reason.as_deref());
    let (paused, told) = (spec.paused == Some(true), reason == Some("DeploymentPaused"));
    if reason == Some(TIMED_OUT) || paused == told {
        return false;
    }
    let (reason, message) = if paused {
        ("DeploymentPaused", "Deployment is paused")
    } else {
        ("DeploymentResumed", "Deployment is resumed")
    };
    set(conditions, PROGRESSING, "Unknown", reason, message.into(), now);
    plan.update_status(&updated);
    true
}

/// Writes the status if it changed, and plans to look again when the deadline passes.
pub(super) fn sync(
    plan: &mut Plan,
    deployment: &Deployment,
    spec: &DeploymentSpec,
    sets: &Sets<'_>,
    now: Timestamp,
) {
    let mut status = counts(deployment, spec, sets);
    let mut conditions = status.conditions.take().unwrap_or_default();
    availability(&mut conditions, spec, &status, now);
    progress(plan, &mut conditions, deployment, spec, sets, &status, now);
    failure(&mut conditions, sets, now);
    status.conditions = (!conditions.is_empty()).then_some(conditions);
    if deployment.status.as_ref() != Some(&status) {
        let mut updated = deployment.clone();
        updated.status = Some(status);
        plan.update_status(&updated);
    }
}

fn availability(
    conditions: &mut Conditions,
    spec: &DeploymentSpec,
    status: &DeploymentStatus,
    now: Timestamp,
) {
    let enough = status.available_replicas.unwrap_or(0) >= replicas(spec) - max_unavailable(spec);
    if enough {
        let message = "Deployment has minimum availability.";
        set(conditions, AVAILABLE, "True", "MinimumReplicasAvailable", message.into(), now);
    } else {
        let message = "Deployment does not have minimum availability.";
        set(conditions, AVAILABLE, "False", "MinimumReplicasUnavailable", message.into(), now);
    }
}

fn progress(
    plan: &mut Plan,
    conditions: &mut Conditions,
    deployment: &Deployment,
    spec: &DeploymentSpec,
    sets: &Sets<'_>,
    status: &DeploymentStatus,
    now: Timestamp,
) {
    if !has_deadline(Some(spec)) {
        conditions.retain(|condition| condition.type_ != PROGRESSING);
        return;
    }
    let current = find(conditions, PROGRESSING).cloned();
    let reason = current.as_ref().and_then(|condition| condition.reason.as_deref());
    if spec.paused == Some(true) || status.replicas == status.updated_replicas && reason == Some(DONE) {
        return;
    }
    let what = match sets.new.and_then(|set| set.metadata.name.as_deref()) {
        Some(set) => format!("ReplicaSet {set:?}"),
        None => format!("Deployment {:?}", deployment.metadata.name.as_deref().unwrap_or_default()),
    };
    if is_complete(deployment, spec, status) {
        return set(
            conditions,
            PROGRESSING,
            "True",
            DONE,
            format!("{what} has successfully progressed."),
            now,
        );
    }
    if has_moved(deployment.status.as_ref(), status) {
        // Each step of progress starts the deadline anew, hence a rewrite of the same reason.
        let since =
            current.filter(|condition| condition.status == "True").and_then(|c| c.last_transition_time);
        conditions.retain(|condition| condition.type_ != PROGRESSING);
        set(conditions, PROGRESSING, "True", "ReplicaSetUpdated", format!("{what} is progressing."), now);
        if let (Some(since), Some(condition)) = (since, conditions.last_mut()) {
            condition.last_transition_time = Some(since);
        }
        return plan.again_in(deadline(spec));
    }
    let Some(from) =
        current.as_ref().filter(|_| reason != Some(DONE)).and_then(|c| c.last_update_time.as_ref())
    else {
        return;
    };
    let waited = now.duration_since(from.0).unsigned_abs();
    if reason == Some(TIMED_OUT) || waited >= deadline(spec) {
        set(conditions, PROGRESSING, "False", TIMED_OUT, format!("{what} has timed out progressing."), now);
    } else {
        plan.again_in(deadline(spec) - waited);
    }
}

/// More new Pods, fewer old ones, more ready or more available than when last told.
fn has_moved(old: Option<&DeploymentStatus>, new: &DeploymentStatus) -> bool {
    let none = DeploymentStatus::default();
    let old = old.unwrap_or(&none);
    let updated = |status: &DeploymentStatus| status.updated_replicas.unwrap_or(0);
    let outdated = |status: &DeploymentStatus| status.replicas.unwrap_or(0) - updated(status);
    updated(new) > updated(old)
        || outdated(new) < outdated(old)
        || new.ready_replicas > old.ready_replicas
        || new.available_replicas > old.available_replicas
}

/// Passes on why Pods could not be created.
fn failure(conditions: &mut Conditions, sets: &Sets<'_>, now: Timestamp) {
    let found = sets.new.into_iter().chain(sets.old.iter().copied()).find_map(|replica_set| {
        let own = replica_set.status.as_ref()?.conditions.as_ref()?;
        own.iter().find(|condition| condition.type_ == FAILURE && condition.status == "True")
    });
    match found {
        Some(condition) => {
            let text = |text: &Option<String>| text.clone().unwrap_or_default();
            set(conditions, FAILURE, "True", &text(&condition.reason), text(&condition.message), now);
        }
        None => conditions.retain(|condition| condition.type_ != FAILURE),
    }
}

fn has_deadline(spec: Option<&DeploymentSpec>) -> bool {
    spec.and_then(|spec| spec.progress_deadline_seconds) != Some(NO_DEADLINE)
}

fn deadline(spec: &DeploymentSpec) -> Duration {
    Duration::from_secs(u64::try_from(spec.progress_deadline_seconds.unwrap_or(600)).unwrap_or(0))
}

fn find<'a>(conditions: &'a Conditions, kind: &str) -> Option<&'a DeploymentCondition> {
    conditions.iter().find(|condition| condition.type_ == kind)
}

/// A condition that says the same as before is left alone; a changed one goes to the end.
fn set(conditions: &mut Conditions, kind: &str, status: &str, reason: &str, message: String, now: Timestamp) {
    let old = find(conditions, kind);
    if old.is_some_and(|old| old.status == status && old.reason.as_deref() == Some(reason)) {
        return;
    }
    let since = old.filter(|old| old.status == status).and_then(|old| old.last_transition_time.clone());
    let now = pods::time(now);
    conditions.retain(|condition| condition.type_ != kind);
    conditions.push(DeploymentCondition {
        type_: kind.into(),
        status: status.into(),
        reason: Some(reason.into()),
        message: Some(message),
        last_transition_time: since.or_else(|| Some(now.clone())),
        last_update_time: Some(now),
    });
}
