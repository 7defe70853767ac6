//! Jobs and CronJobs.

use std::time::Duration;

use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::runtime::wait::await_condition;
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

use super::{api, create, from, plane, told, until};

fn job(spec: Value, script: &str) -> Job {
    let mut job = json!({
        "metadata": { "name": "j" },
        "spec": { "template": {
            "metadata": { "annotations": { "local.quintet.dev/script": script } },
            "spec": { "restartPolicy": "Never", "containers": [{ "name": "c", "image": "i" }] } } },
    });
    for (key, value) in spec.as_object().unwrap() {
        job["spec"][key] = value.clone();
    }
    from(job)
}

fn job_condition(job: &Job, kind: &str) -> Option<String> {
    let conditions = job.status.as_ref()?.conditions.as_ref()?;
    conditions.iter().find(|c| c.type_ == kind && c.status == "True")?.reason.clone()
}

#[tokio::test(start_paused = true)]
async fn a_job_completes_and_every_pod_counts_once() {
    let plane = plane();
    let client = plane.client();
    let jobs: Api<Job> = api(&client);
    let wanted = job(json!({ "completions": 5, "parallelism": 2 }), "{}");
    jobs.create(&PostParams::default(), &wanted).await.unwrap();
    let done = until(&jobs, "j", "complete", |job| job_condition(job, "Complete").is_some()).await;
    let status = done.status.clone().unwrap();
    assert_eq!((status.succeeded, status.failed, status.active), (Some(5), None, None));
    assert!(status.completion_time.is_some() && job_condition(&done, "SuccessCriteriaMet").is_some());
    let pods = api::<Pod>(&client).list(&ListParams::default()).await.unwrap().items;
    assert_eq!(pods.len(), 5);
    assert!(pods.iter().all(|pod| pod.finalizers().is_empty()), "no finalizer is left");
}

#[tokio::test(start_paused = true)]
async fn a_job_that_keeps_failing_gives_up() {
    let plane = plane();
    let jobs: Api<Job> = api(&plane.client());
    jobs.create(&PostParams::default(), &job(json!({ "backoffLimit": 2 }), r#"{"exit": {"code": 1}}"#))
        .await
        .unwrap();
    let failed = until(&jobs, "j", "failed", |job| job_condition(job, "Failed").is_some()).await;
    assert_eq!(job_condition(&failed, "Failed").as_deref(), Some("BackoffLimitExceeded"));
    assert_eq!(failed.status.unwrap().failed, Some(3));
}

#[tokio::test(start_paused = true)]
async fn a_job_is_suspended_resumed_and_expires() {
    let plane = plane();
    let jobs: Api<Job> = api(&plane.client());
    let wanted = job(json!({ "suspend": true, "ttlSecondsAfterFinished": 30 }), "{}");
    jobs.create(&PostParams::default(), &wanted).await.unwrap();
    until(&jobs, "j", "suspended", |job| job_condition(job, "Suspended").as_deref() == Some("JobSuspended"))
        .await;
    let resume = Patch::Merge(json!({ "spec": { "suspend": false } }));
    jobs.patch("j", &PatchParams::default(), &resume).await.unwrap();
    until(&jobs, "j", "complete", |job| job_condition(job, "Complete").is_some()).await;
    let uid = jobs.get("j").await.unwrap().uid().unwrap();
    let gone = kube::runtime::conditions::is_deleted(&uid);
    tokio::time::timeout(Duration::from_secs(120), await_condition(jobs.clone(), "j", gone))
        .await
        .expect("expired")
        .unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_cron_job_fires_on_time() {
    let plane = plane();
    let client = plane.client();
    let crons: Api<CronJob> = api(&client);
    let template = json!({ "spec": { "template": { "spec": { "restartPolicy": "Never", "containers": [{ "name": "c", "image": "i" }] } } } });
    let cron = json!({ "metadata": { "name": "cj" }, "spec": { "schedule": "*/5 * * * *", "jobTemplate": template } });
    crons.create(&PostParams::default(), &from(cron)).await.unwrap();
    tokio::time::sleep(Duration::from_secs(3600)).await;
    let cron = crons.get("cj").await.unwrap();
    let status = cron.status.unwrap();
    assert!(status.last_schedule_time.is_some() && status.last_successful_time.is_some());
    let jobs = api::<Job>(&client).list(&ListParams::default()).await.unwrap().items;
    assert_eq!(jobs.len(), 3, "the history limit holds");
    assert!(jobs.iter().all(|job| job.name_any().starts_with("cj-")));
}

#[tokio::test(start_paused = true)]
async fn an_indexed_job_completes_every_index_once() {
    let plane = plane();
    let client = plane.client();
    let wanted = job(json!({ "completions": 4, "parallelism": 2, "completionMode": "Indexed" }), "{}");
    let jobs: Api<Job> = api(&client);
    jobs.create(&PostParams::default(), &wanted).await.unwrap();
    let done = until(&jobs, "j", "complete", |job| job_condition(job, "Complete").is_some()).await;
    assert_eq!(done.status.unwrap().completed_indexes.as_deref(), Some("0-3"));
    let pods = api::<Pod>(&client).list(&ListParams::default()).await.unwrap().items;
    let mut hosts: Vec<String> = pods.into_iter().map(|pod| pod.spec.unwrap().hostname.unwrap()).collect();
    hosts.sort();
    assert_eq!(hosts, ["j-0", "j-1", "j-2", "j-3"]);
}

#[tokio::test(start_paused = true)]
async fn no_more_pods_run_at_once_than_asked_for() {
    let plane = plane();
    let client = plane.client();
    let wanted =
        job(json!({ "completions": 6, "parallelism": 2 }), r#"{"exit": {"code": 0, "after": "10s"}}"#);
    let jobs: Api<Job> = api(&client);
    jobs.create(&PostParams::default(), &wanted).await.unwrap();
    let busy =
        until(&jobs, "j", "busy", |job| job.status.as_ref().is_some_and(|s| s.active == Some(2))).await;
    assert!(busy.status.unwrap().succeeded.is_none());
    let more = Patch::Merge(json!({ "spec": { "parallelism": 3 } }));
    jobs.patch("j", &PatchParams::default(), &more).await.unwrap();
    until(&jobs, "j", "busier", |job| job.status.as_ref().is_some_and(|s| s.active == Some(3))).await;
    let done = until(&jobs, "j", "complete", |job| job_condition(job, "Complete").is_some()).await;
    assert_eq!(done.status.unwrap().succeeded, Some(6));
}

#[tokio::test(start_paused = true)]
async fn a_job_that_takes_too_long_is_ended() {
    let plane = plane();
    let client = plane.client();
    let jobs: Api<Job> = api(&client);
    jobs.create(&PostParams::default(), &job(json!({ "activeDeadlineSeconds": 30 }), r#"{"exit": "never"}"#))
        .await
        .unwrap();
    let failed = until(&jobs, "j", "failed", |job| job_condition(job, "Failed").is_some()).await;
    assert_eq!(job_condition(&failed, "Failed").as_deref(), Some("DeadlineExceeded"));
    assert_eq!(failed.status.unwrap().active, None);
    assert_eq!(told(&client, "DeadlineExceeded").await, ["Job was active longer than specified deadline"]);
}

#[tokio::test(start_paused = true)]
async fn a_job_whose_pod_fails_twice_succeeds_at_the_third_try() {
    let plane = plane();
    let mut wanted = job(json!({ "backoffLimit": 3 }), r#"{"exit": {"code": 1, "times": 2}}"#);
    wanted.spec.as_mut().unwrap().template.spec.as_mut().unwrap().restart_policy = Some("OnFailure".into());
    let jobs: Api<Job> = api(&plane.client());
    jobs.create(&PostParams::default(), &wanted).await.unwrap();
    let done = until(&jobs, "j", "complete", |job| job_condition(job, "Complete").is_some()).await;
    assert_eq!((done.status.clone().unwrap().succeeded, done.status.unwrap().failed), (Some(1), None));
}

/// A CronJob of every minute whose Jobs take 130 seconds; its Jobs after five minutes and a bit, with those still active.
async fn overlapping(policy: &str) -> (Client, usize, usize, plane::Plane) {
    let plane = plane();
    let client = plane.client();
    let annotations = json!({ "local.quintet.dev/script": r#"{"exit": {"code": 0, "after": "130s"}}"# });
    let pod = json!({ "metadata": { "annotations": annotations }, "spec": { "restartPolicy": "Never", "containers": [{ "name": "c", "image": "i" }] } });
    let cron = json!({ "metadata": { "name": "cj" }, "spec": { "schedule": "* * * * *", "concurrencyPolicy": policy,
        "successfulJobsHistoryLimit": 10, "jobTemplate": { "spec": { "template": pod } } } });
    create::<CronJob>(&client, cron).await;
    tokio::time::sleep(Duration::from_secs(310)).await;
    let jobs = api::<Job>(&client).list(&ListParams::default()).await.unwrap().items.len();
    let cron = api::<CronJob>(&client).get("cj").await.unwrap();
    let active = cron.status.and_then(|status| status.active).map_or(0, |active| active.len());
    (client, jobs, active, plane)
}

#[tokio::test(start_paused = true)]
async fn runs_that_overlap_are_allowed_forbidden_or_replaced() {
    let (_, jobs, active, _plane) = overlapping("Allow").await;
    assert!(jobs >= 5 && active >= 2, "{jobs} {active}");
    let (client, jobs, active, _plane) = overlapping("Forbid").await;
    assert!(jobs <= 3 && active <= 1, "{jobs} {active}");
    assert!(!told(&client, "JobAlreadyActive").await.is_empty());
    let (_, jobs, active, _plane) = overlapping("Replace").await;
    assert!(jobs == 1 && active == 1, "only the latest is left: {jobs} {active}");
}

#[tokio::test(start_paused = true)]
async fn a_suspended_cron_job_rests() {
    let plane = plane();
    let client = plane.client();
    let template = json!({ "spec": { "template": { "spec": { "restartPolicy": "Never", "containers": [{ "name": "c", "image": "i" }] } } } });
    let cron = json!({ "metadata": { "name": "cj" }, "spec": { "schedule": "* * * * *", "suspend": true, "jobTemplate": template } });
    create::<CronJob>(&client, cron).await;
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert!(api::<Job>(&client).list(&ListParams::default()).await.unwrap().items.is_empty());
}
