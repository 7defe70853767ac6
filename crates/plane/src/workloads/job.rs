//! Jobs: Pods until enough have succeeded or too many have failed, each counted exactly once.
//!
//! A finished Pod keeps a finalizer until it is counted: its uid is noted in the status, then the finalizer goes, then
//! the count grows. Whatever is interrupted, no Pod is counted twice or forgotten.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::batch::v1::{Job, JobCondition, JobSpec, JobStatus};
use k8s_openapi::api::core::v1::{EnvVar, Pod};
use serde_json::json;

use super::plan::{Plan, Write, reference};
use super::pods;

pub(super) const COMPONENT: &str = "job-controller";
const TRACKING: &str = "batch.kubernetes.io/job-tracking";
const INDEX: &str = "batch.kubernetes.io/job-completion-index";
const INDEX_VARIABLE: &str = "JOB_COMPLETION_INDEX";
const FIRST_RETRY: u64 = 10;
const LONGEST_RETRY: u64 = 600;

/// What to do next for a Job with these Pods.
pub(super) fn plan(job: &Job, owned: &[Pod], now: Timestamp) -> Plan {
    let mut plan = Plan::default();
    let Some(spec) = job.spec.as_ref() else { return plan };
    if job.metadata.deletion_timestamp.is_some() {
        owned.iter().filter(|pod| is_tracked(pod)).for_each(|pod| untrack(&mut plan, pod));
        return plan;
    }
    if let Some(end) = ended_at(job) {
        owned
            .iter()
            .filter(|pod| is_tracked(pod) && pods::is_finished(pod))
            .for_each(|pod| untrack(&mut plan, pod));
        expire(&mut plan, job, spec, end, now);
        return plan;
    }
    let mut status = job.status.clone().unwrap_or_default();
    let counted = count(&mut plan, &mut status, owned);
    if is_indexed(spec) {
        status.completed_indexes = Some(written(&completed(&status, owned))).filter(|text| !text.is_empty());
    }
    let deadline = overdue(spec, &status, now);
    let verdict = verdict(spec, &status, owned, deadline);
    let active: Vec<&Pod> = owned.iter().filter(|pod| pods::is_active(pod)).collect();
    let suspended = spec.suspend == Some(true);
    suspend(&mut plan, job, &mut status, suspended, now);
    let mut running = active.len();
    if verdict.is_some() || suspended {
        active.iter().for_each(|pod| plan.delete(*pod));
        running = 0;
    } else if counted {
        running = adjust(&mut plan, job, spec, &status, owned, now);
    }
    status.start_time = if suspended { None } else { status.start_time.or_else(|| Some(pods::time(now))) };
    let some = |count: usize| i32::try_from(count).ok().filter(|count| *count > 0);
    status.active = some(running);
    status.ready = Some(
        some(active.iter().filter(|pod| pods::is_ready(pod)).count()).filter(|_| running > 0).unwrap_or(0),
    );
    let terminating = owned.iter().filter(|pod| pods::is_terminating(pod) && !pods::is_finished(pod)).count();
    status.terminating = Some(some(terminating).unwrap_or(0));
    if let Some((interim, last, reason, message)) = verdict {
        condition(&mut status, interim, "True", reason, message, now);
        let all_gone = owned.iter().all(|pod| pods::is_finished(pod) && !is_tracked(pod));
        if counted && all_gone && terminating == 0 && running == 0 {
            finish(&mut plan, job, &mut status, last, reason, message, now);
        }
    }
    if let (Some(limit), Some(start)) = (spec.active_deadline_seconds, &status.start_time)
        && verdict.is_none()
    {
        let left = start.0.as_second().saturating_add(limit).saturating_sub(now.as_second());
        plan.again_in(Duration::from_secs(u64::try_from(left).unwrap_or(0).max(1)));
    }
    if job.status.as_ref() != Some(&status) {
        // First: what was noted must be known before finalizers go.
        plan.writes.insert(
            0,
            Write::UpdateStatus(
                serde_json::to_value(Job { status: Some(status), ..job.clone() }).unwrap_or_default(),
            ),
        );
    }
    plan
}

fn is_tracked(pod: &Pod) -> bool {
    pod.metadata.finalizers.iter().flatten().any(|finalizer| finalizer == TRACKING)
}

fn untrack(plan: &mut Plan, pod: &Pod) {
    let mut freed = pod.clone();
    freed.metadata.finalizers.get_or_insert_default().retain(|finalizer| finalizer != TRACKING);
    plan.update(&freed);
}

/// Takes finished Pods into the count. True when all are in.
fn count(plan: &mut Plan, status: &mut JobStatus, owned: &[Pod]) -> bool {
    let mut uncounted = status.uncounted_terminated_pods.take().unwrap_or_default();
    let tracked =
        |uid: &String| owned.iter().any(|pod| pod.metadata.uid.as_ref() == Some(uid) && is_tracked(pod));
    let settle = |list: &mut Option<Vec<String>>, total: &mut Option<i32>| {
        let list = list.get_or_insert_default();
        let before = list.len();
        list.retain(tracked);
        let settled = i32::try_from(before - list.len()).unwrap_or(0);
        if settled > 0 {
            *total = Some(total.unwrap_or(0) + settled);
        }
    };
    settle(&mut uncounted.succeeded, &mut status.succeeded);
    settle(&mut uncounted.failed, &mut status.failed);
    for pod in owned.iter().filter(|pod| is_tracked(pod) && pods::is_finished(pod)) {
        let list =
            if pods::phase(pod) == "Succeeded" { &mut uncounted.succeeded } else { &mut uncounted.failed };
        let (list, uid) = (list.get_or_insert_default(), pod.metadata.uid.clone().unwrap_or_default());
        if !list.contains(&uid) {
            list.push(uid);
        }
        untrack(plan, pod);
    }
    let empty = |list: &Option<Vec<String>>| list.as_ref().is_none_or(Vec::is_empty);
    let done = empty(&uncounted.succeeded) && empty(&uncounted.failed);
    uncounted.succeeded = uncounted.succeeded.filter(|list| !list.is_empty());
    uncounted.failed = uncounted.failed.filter(|list| !list.is_empty());
    status.uncounted_terminated_pods = Some(uncounted);
    done
}

fn totals(status: &JobStatus) -> (i32, i32) {
    let pending = |list: Option<&Vec<String>>| i32::try_from(list.map_or(0, Vec::len)).unwrap_or(0);
    let uncounted = status.uncounted_terminated_pods.as_ref();
    (
        status.succeeded.unwrap_or(0) + pending(uncounted.and_then(|u| u.succeeded.as_ref())),
        status.failed.unwrap_or(0) + pending(uncounted.and_then(|u| u.failed.as_ref())),
    )
}

fn overdue(spec: &JobSpec, status: &JobStatus, now: Timestamp) -> bool {
    let (Some(limit), Some(start)) = (spec.active_deadline_seconds, &status.start_time) else { return false };
    now.as_second() - start.0.as_second() >= limit
}

/// How the Job ends, if it does: the condition that says so at once, the final one, reason and message.
type Verdict = (&'static str, &'static str, &'static str, &'static str);

fn verdict(spec: &JobSpec, status: &JobStatus, owned: &[Pod], overdue: bool) -> Option<Verdict> {
    let (succeeded, failed) = totals(status);
    let enough = match spec.completions {
        Some(wanted) => succeeded >= wanted,
        // Work queue: one success and nobody left working.
        None => succeeded > 0 && !owned.iter().any(pods::is_active),
    };
    if enough {
        return Some((
            "SuccessCriteriaMet",
            "Complete",
            "CompletionsReached",
            "Reached expected number of succeeded pods",
        ));
    }
    let restarts = |pod: &Pod| -> i32 {
        let statuses = pod.status.as_ref().and_then(|status| status.container_statuses.as_ref());
        statuses.into_iter().flatten().map(|status| status.restart_count).sum()
    };
    let restarted: i32 = owned.iter().filter(|pod| pods::is_active(pod)).map(restarts).sum();
    let limit = spec.backoff_limit.unwrap_or(6);
    if failed > limit || restarted > limit {
        return Some((
            "FailureTarget",
            "Failed",
            "BackoffLimitExceeded",
            "Job has reached the specified backoff limit",
        ));
    }
    overdue.then_some((
        "FailureTarget",
        "Failed",
        "DeadlineExceeded",
        "Job was active longer than specified deadline",
    ))
}

/// Creates or deletes Pods; tells how many run then.
fn adjust(
    plan: &mut Plan,
    job: &Job,
    spec: &JobSpec,
    status: &JobStatus,
    owned: &[Pod],
    now: Timestamp,
) -> usize {
    let mut active: Vec<&Pod> = owned.iter().filter(|pod| pods::is_active(pod)).collect();
    let (succeeded, failed) = totals(status);
    let parallel = spec.parallelism.unwrap_or(1);
    let wanted = match spec.completions {
        Some(completions) => parallel.min(completions - succeeded),
        None if succeeded > 0 => i32::try_from(active.len()).unwrap_or(0).min(parallel),
        None => parallel,
    };
    let wanted = usize::try_from(wanted).unwrap_or(0);
    if active.len() > wanted {
        active.sort_by_key(|pod| pods::deletion_rank(pod));
        active.iter().take(active.len() - wanted).for_each(|pod| plan.delete(*pod));
        return wanted;
    }
    let missing = wanted - active.len();
    if missing > 0 && failed > 0 {
        let wait = FIRST_RETRY << u32::try_from(failed - 1).unwrap_or(0).min(6);
        let last = owned.iter().filter(|pod| pods::phase(pod) == "Failed").filter_map(finished_at).max();
        let due = last.map(|last| last.as_second() + i64::try_from(wait.min(LONGEST_RETRY)).unwrap_or(0));
        if let Some(left) = due.map(|due| due - now.as_second()).filter(|left| *left > 0) {
            plan.again_in(Duration::from_secs(u64::try_from(left).unwrap_or(1)));
            return active.len();
        }
    }
    let indexed = is_indexed(spec);
    let mut taken = completed(status, owned);
    taken.extend(owned.iter().filter(|pod| pods::phase(pod) != "Failed").filter_map(index));
    let mut free = (0..spec.completions.unwrap_or(i32::MAX)).filter(|index| !taken.contains(index));
    for _ in 0..missing {
        plan.create(&new_pod(job, spec, if indexed { free.next() } else { None }));
    }
    wanted
}

fn new_pod(job: &Job, spec: &JobSpec, index: Option<i32>) -> Pod {
    let mut pod = pods::of_template(job, &spec.template);
    pod.metadata.finalizers.get_or_insert_default().push(TRACKING.into());
    if let Some(index) = index {
        let name = job.metadata.name.as_deref().unwrap_or_default();
        pod.metadata.generate_name = Some(format!("{name}-{index}-"));
        pod.metadata.labels.get_or_insert_default().insert(INDEX.into(), index.to_string());
        pod.metadata.annotations.get_or_insert_default().insert(INDEX.into(), index.to_string());
        let own = pod.spec.get_or_insert_default();
        own.hostname.get_or_insert_with(|| format!("{name}-{index}"));
        for container in own.init_containers.iter_mut().flatten().chain(&mut own.containers) {
            let variables = container.env.get_or_insert_default();
            if !variables.iter().any(|known| known.name == INDEX_VARIABLE) {
                let source = json!({ "fieldRef": { "fieldPath": format!("metadata.labels['{INDEX}']") } });
                variables.push(EnvVar {
                    name: INDEX_VARIABLE.into(),
                    value: None,
                    value_from: serde_json::from_value(source).ok(),
                });
            }
        }
    }
    pod
}

fn is_indexed(spec: &JobSpec) -> bool {
    spec.completion_mode.as_deref() == Some("Indexed")
}

/// The indexes that have succeeded, as far as is noted or seen.
fn completed(status: &JobStatus, owned: &[Pod]) -> BTreeSet<i32> {
    let noted = status.completed_indexes.iter().flat_map(|text| text.split(',')).filter_map(|part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse().ok()?..=last.parse().ok()?)
    });
    let seen = owned.iter().filter(|pod| pods::phase(pod) == "Succeeded").filter_map(index);
    noted.flatten().chain(seen).collect()
}

/// Indexes as a status writes them: `0-2,5`.
fn written(indexes: &BTreeSet<i32>) -> String {
    let mut runs: Vec<(i32, i32)> = vec![];
    for index in indexes {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == *index => *last = *index,
            _ => runs.push((*index, *index)),
        }
    }
    let run = |(first, last): &(i32, i32)| match last - first {
        0 => first.to_string(),
        1 => format!("{first},{last}"),
        _ => format!("{first}-{last}"),
    };
    runs.iter().map(run).collect::<Vec<_>>().join(",")
}

fn index(pod: &Pod) -> Option<i32> {
    pod.metadata.annotations.as_ref()?.get(INDEX)?.parse().ok()
}

fn finished_at(pod: &Pod) -> Option<Timestamp> {
    let statuses = pod.status.as_ref()?.container_statuses.as_ref()?;
    let ends =
        statuses.iter().filter_map(|status| status.state.as_ref()?.terminated.as_ref()?.finished_at.as_ref());
    ends.map(|time| time.0).max()
}

fn suspend(plan: &mut Plan, job: &Job, status: &mut JobStatus, suspended: bool, now: Timestamp) {
    let known =
        status.conditions.iter().flatten().find(|c| c.type_ == "Suspended").map(|c| c.status == "True");
    match (suspended, known) {
        (true, None | Some(false)) => {
            condition(status, "Suspended", "True", "JobSuspended", "Job suspended", now);
            plan.event(COMPONENT, job, "Suspended", "Job suspended".into());
        }
        (false, Some(true)) => {
            condition(status, "Suspended", "False", "JobResumed", "Job resumed", now);
            plan.event(COMPONENT, job, "Resumed", "Job resumed".into());
            status.start_time = None;
        }
        _ => {}
    }
}

fn finish(
    plan: &mut Plan,
    job: &Job,
    status: &mut JobStatus,
    last: &'static str,
    reason: &'static str,
    message: &'static str,
    now: Timestamp,
) {
    condition(status, last, "True", reason, message, now);
    if last == "Complete" {
        status.completion_time = Some(pods::time(now));
        plan.event(COMPONENT, job, "Completed", "Job completed".into());
    } else {
        plan.warn(COMPONENT, job, reason, message.into());
    }
}

/// When the Job ended, if it did.
pub(super) fn ended_at(job: &Job) -> Option<Timestamp> {
    let conditions = job.status.as_ref()?.conditions.as_ref()?;
    let end = conditions
        .iter()
        .find(|c| matches!(c.type_.as_str(), "Complete" | "Failed") && c.status == "True")?;
    Some(end.last_transition_time.as_ref().map_or(Timestamp::MIN, |time| time.0))
}

fn expire(plan: &mut Plan, job: &Job, spec: &JobSpec, end: Timestamp, now: Timestamp) {
    let Some(ttl) = spec.ttl_seconds_after_finished else { return };
    let left = end.as_second() + i64::from(ttl) - now.as_second();
    if left > 0 {
        plan.again_in(Duration::from_secs(u64::try_from(left).unwrap_or(1)));
    } else {
        plan.writes.push(Write::Delete { object: reference(job), grace: None, foreground: true });
    }
}

fn condition(status: &mut JobStatus, kind: &str, value: &str, reason: &str, message: &str, now: Timestamp) {
    let conditions = status.conditions.get_or_insert_default();
    if conditions.iter().any(|c| c.type_ == kind && c.status == value) {
        return;
    }
    let new = JobCondition {
        type_: kind.into(),
        status: value.into(),
        reason: Some(reason.into()),
        message: Some(message.into()),
        last_probe_time: Some(pods::time(now)),
        last_transition_time: Some(pods::time(now)),
    };
    match conditions.iter_mut().find(|c| c.type_ == kind) {
        Some(old) => *old = new,
        None => conditions.push(new),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_are_written_short_and_read_back() {
        let indexes = BTreeSet::from([0, 1, 2, 4, 5, 7]);
        assert_eq!(written(&indexes), "0-2,4,5,7");
        let status = JobStatus { completed_indexes: Some(written(&indexes)), ..JobStatus::default() };
        assert_eq!(completed(&status, &[]), indexes);
        assert_eq!(written(&BTreeSet::new()), "");
    }
}
