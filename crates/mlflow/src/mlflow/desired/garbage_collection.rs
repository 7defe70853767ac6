//! The job that removes deleted runs and experiments for good.

use k8s_openapi::{
    api::{
        batch::v1::{CronJob, CronJobSpec, JobSpec, JobTemplateSpec},
        core::v1::{Container, PodSpec, PodTemplateSpec},
    },
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use quintet_api::mlflow::GarbageCollection;
use quintet_kit::parts::resources;

use super::{environment, plan::Plan};
use crate::mlflow::names::GC_SERVICE_ACCOUNT;

pub(super) fn cron_job(plan: &Plan<'_>, gc: &GarbageCollection) -> CronJob {
    let pod = PodSpec {
        restart_policy: Some("Never".into()),
        volumes: Some(plan.volumes().into_iter().chain(plan.ca.volumes()).collect()),
        containers: vec![container(plan, gc)],
        ..plan.pod(GC_SERVICE_ACCOUNT)
    };
    let labels = ObjectMeta { labels: Some(plan.names.gc_labels()), ..ObjectMeta::default() };
    CronJob {
        metadata: plan.gc_meta(plan.names.gc()),
        spec: CronJobSpec {
            schedule: gc.schedule.clone(),
            concurrency_policy: Some("Forbid".into()),
            successful_jobs_history_limit: Some(3),
            failed_jobs_history_limit: Some(3),
            job_template: JobTemplateSpec {
                metadata: None,
                spec: Some(JobSpec {
                    backoff_limit: Some(1),
                    template: PodTemplateSpec { metadata: Some(labels), spec: Some(pod) },
                    ..JobSpec::default()
                }),
            },
            ..CronJobSpec::default()
        },
        status: None,
    }
}

fn container(plan: &Plan<'_>, gc: &GarbageCollection) -> Container {
    let amounts =
        resources::defaults(&[("cpu", "100m"), ("memory", "256Mi")], &[("cpu", "500m"), ("memory", "512Mi")]);
    let mut arguments = vec!["gc".into(), environment::backend_argument(plan)];
    arguments.extend(gc.older_than.as_ref().map(|age| format!("--older-than={age}")));
    arguments.push("--all-workspaces".into());
    Container {
        command: Some(vec!["mlflow".into()]),
        args: Some(arguments),
        env: Some(environment::garbage_collection(plan)),
        env_from: environment::from(plan),
        volume_mounts: Some(plan.mounts().into_iter().chain(plan.ca.mount()).collect()),
        resources: Some(resources::merge(amounts, gc.resources.as_ref())),
        ..plan.container("mlflow-gc")
    }
}
