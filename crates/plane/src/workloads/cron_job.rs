//! CronJobs: a Job at each scheduled time.

use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use k8s_openapi::api::batch::v1::{CronJob, CronJobSpec, CronJobStatus, Job};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::job::ended_at;
use super::plan::{Plan, Write, owner, reference};
use super::pods;
use super::schedule::Schedule;

const COMPONENT: &str = "cronjob-controller";
const SCHEDULED_AT: &str = "batch.kubernetes.io/cronjob-scheduled-timestamp";
/// With more missed times than this something is wrong with the clock, and only the last counts.
const MISSED: usize = 100;

/// What to do next, given the Jobs it controls.
pub(super) fn plan(cron: &CronJob, owned: &[Job], now: Timestamp) -> Plan {
    let mut plan = Plan::default();
    if cron.metadata.deletion_timestamp.is_some() {
        return plan;
    }
    let spec = &cron.spec;
    let mut status = cron.status.clone().unwrap_or_default();
    sync_active(&mut plan, cron, &mut status, owned);
    clean_up(&mut plan, spec, owned);
    let zone = spec.time_zone.as_deref().and_then(|name| TimeZone::get(name).ok()).unwrap_or(TimeZone::UTC);
    if let (Some(schedule), false) = (Schedule::parse(&spec.schedule), spec.suspend == Some(true)) {
        let since = status.last_schedule_time.as_ref().or(cron.metadata.creation_timestamp.as_ref());
        let mut last = since.map_or(now, |time| time.0);
        let mut due = None;
        for _ in 0..MISSED {
            match schedule.next(last, &zone).filter(|next| *next <= now) {
                Some(next) => (due, last) = (Some(next), next),
                None => break,
            }
        }
        if let Some(due) = due {
            run(&mut plan, cron, spec, &mut status, owned, due, now);
        }
        if let Some(next) = schedule.next(now, &zone) {
            plan.again_in(next.duration_since(now).unsigned_abs().max(Duration::from_millis(1)));
        }
    }
    if cron.status.as_ref() != Some(&status) && (cron.status.is_some() || status != CronJobStatus::default())
    {
        plan.update_status(&CronJob { status: Some(status), ..cron.clone() });
    }
    plan
}

fn run(
    plan: &mut Plan,
    cron: &CronJob,
    spec: &CronJobSpec,
    status: &mut CronJobStatus,
    owned: &[Job],
    due: Timestamp,
    now: Timestamp,
) {
    let late = now.as_second() - due.as_second();
    if spec.starting_deadline_seconds.is_some_and(|deadline| late > deadline) {
        return;
    }
    let running: Vec<&Job> = owned.iter().filter(|job| ended_at(job).is_none()).collect();
    match spec.concurrency_policy.as_deref() {
        Some("Forbid") if !running.is_empty() => {
            let message =
                "Not starting job because prior execution is running and concurrency policy is Forbid";
            return plan.event(COMPONENT, cron, "JobAlreadyActive", message.into());
        }
        Some("Replace") => running.iter().for_each(|job| plan.delete(*job)),
        _ => {}
    }
    let name = format!("{}-{}", cron.metadata.name.as_deref().unwrap_or_default(), due.as_second() / 60);
    status.last_schedule_time = Some(pods::time(due));
    if owned.iter().any(|job| job.metadata.name.as_ref() == Some(&name)) {
        return;
    }
    let from = spec.job_template.metadata.clone().unwrap_or_default();
    let mut annotations = from.annotations.unwrap_or_default();
    annotations.insert(SCHEDULED_AT.into(), crate::clock::seconds(due));
    let job = Job {
        metadata: ObjectMeta {
            name: Some(name.clone()),
            namespace: cron.metadata.namespace.clone(),
            labels: from.labels,
            annotations: Some(annotations),
            owner_references: Some(vec![owner(cron)]),
            ..ObjectMeta::default()
        },
        spec: spec.job_template.spec.clone(),
        status: None,
    };
    plan.create(&job);
    plan.event(COMPONENT, cron, "SuccessfulCreate", format!("Created job {name}"));
}

fn sync_active(plan: &mut Plan, cron: &CronJob, status: &mut CronJobStatus, owned: &[Job]) {
    let before = status.active.take().unwrap_or_default();
    for job in owned {
        let name = job.metadata.name.clone().unwrap_or_default();
        let was_active = before.iter().any(|reference| reference.uid == job.metadata.uid);
        let Some(end) = ended_at(job) else { continue };
        let complete = job.status.as_ref().is_some_and(|status| status.completion_time.is_some());
        if was_active {
            let how = if complete { "Complete" } else { "Failed" };
            plan.event(
                COMPONENT,
                cron,
                "SawCompletedJob",
                format!("Saw completed job: {name}, condition: {how}"),
            );
        }
        if complete && status.last_successful_time.as_ref().is_none_or(|last| last.0 < end) {
            status.last_successful_time = Some(pods::time(end));
        }
    }
    let active = owned.iter().filter(|job| ended_at(job).is_none()).map(|job| {
        let known = before.iter().find(|reference| reference.uid == job.metadata.uid).cloned();
        known.unwrap_or_else(|| k8s_openapi::api::core::v1::ObjectReference {
            resource_version: job.metadata.resource_version.clone(),
            ..reference(job)
        })
    });
    let active: Vec<_> = active.collect();
    status.active = (!active.is_empty()).then_some(active);
}

/// Deletes the oldest finished Jobs beyond the history limits.
fn clean_up(plan: &mut Plan, spec: &CronJobSpec, owned: &[Job]) {
    for (complete, keep) in [
        (true, spec.successful_jobs_history_limit.unwrap_or(3)),
        (false, spec.failed_jobs_history_limit.unwrap_or(1)),
    ] {
        let succeeded =
            |job: &Job| job.status.as_ref().is_some_and(|status| status.completion_time.is_some());
        let mut jobs: Vec<&Job> = owned
            .iter()
            .filter(|job| {
                ended_at(job).is_some()
                    && succeeded(job) == complete
                    && job.metadata.deletion_timestamp.is_none()
            })
            .collect();
        jobs.sort_by_key(|job| (ended_at(job), job.metadata.name.clone()));
        let excess = jobs.len().saturating_sub(usize::try_from(keep).unwrap_or(0));
        for job in jobs.into_iter().take(excess) {
            plan.writes.push(Write::Delete { object: reference(job), grace: None, foreground: false });
        }
    }
}
