//! The garbage collection that is switched on and off.

use k8s_openapi::api::{apps::v1::Deployment, batch::v1::CronJob, core::v1::ServiceAccount};
use serde_json::json;

use crate::support::{at, base, container, holds, pod, spec, stage::Stage};

#[tokio::test(start_paused = true)]
async fn scenario_21_garbage_collection_comes_and_goes() {
    let stage = Stage::plain().await;
    stage.create(base()).await;
    let before = stage.owned().await;
    stage.patch(json!({ "garbageCollection": { "schedule": "0 2 * * 0" } })).await;
    let during = stage.owned().await;
    let added: Vec<&str> = during.keys().filter(|id| !before.contains_key(*id)).map(String::as_str).collect();
    let four = [
        "ClusterRole/mlflow-gc",
        "ClusterRoleBinding/mlflow-gc",
        "CronJob/mlflow-gc",
        "ServiceAccount/mlflow-gc-sa",
    ];
    assert_eq!(added, four);
    let subjects = at(&during["ClusterRoleBinding/mlflow"], "subjects").as_array().unwrap();
    assert_eq!((subjects.len(), &subjects[0]["name"]), (1, &json!("mlflow-sa")));
    stage.patch(json!({ "garbageCollection": null })).await;
    assert_eq!(stage.owned().await, before);
}

#[tokio::test(start_paused = true)]
async fn scenario_22_the_job_mounts_the_claim() {
    let stage = Stage::plain().await;
    stage.create(spec(json!({ "storage": {}, "garbageCollection": { "schedule": "0 2 * * 0" } }))).await;
    let job = stage.get::<CronJob>("mlflow-gc").await.unwrap();
    let claim = json!({ "name": "mlflow-storage", "persistentVolumeClaim": { "claimName": "mlflow-pvc" } });
    assert!(pod(&job)["spec"]["volumes"].as_array().unwrap().contains(&claim));
    let mount = json!({ "name": "mlflow-storage", "mountPath": "/mlflow" });
    assert!(container(&job, "mlflow-gc")["volumeMounts"].as_array().unwrap().contains(&mount));
}

#[tokio::test(start_paused = true)]
async fn scenario_23_a_schedule_that_the_server_refuses_does_not_hold_the_server_back() {
    let stage = Stage::plain().await;
    stage.create(spec(json!({ "garbageCollection": { "schedule": "nonsense" } }))).await;
    let (status, reason, message) = stage.condition("Available").await.unwrap();
    assert_eq!((status.as_str(), reason.as_str()), ("False", "ApplyFailed"));
    assert!(message.starts_with("Failed to apply CronJob/mlflow-gc: "), "{message}");
    assert!(message.contains(r#"spec.schedule: Invalid value: "nonsense""#), "{message}");
    let (status, reason, message) = stage.condition("Progressing").await.unwrap();
    assert_eq!((status.as_str(), reason.as_str()), ("False", "ApplyFailed"));
    assert!(message.starts_with("Failed to apply resources: "), "{message}");
    assert!(stage.get::<Deployment>("mlflow").await.is_some());
    assert!(stage.get::<CronJob>("mlflow-gc").await.is_none());
    stage.patch(json!({ "garbageCollection": { "schedule": "@weekly" } })).await;
    assert!(stage.get::<CronJob>("mlflow-gc").await.is_some());
    assert_eq!(stage.condition("Available").await.unwrap().1, "DeploymentNotReady");
}

#[tokio::test(start_paused = true)]
async fn the_jobs_options_follow_the_resource() {
    let stage = Stage::plain().await;
    let gc =
        json!({ "schedule": "@daily", "olderThan": "30d", "resources": { "requests": { "cpu": "0.2" } } });
    stage.create(spec(json!({ "garbageCollection": gc, "env": [{ "name": "A", "value": "b" }] }))).await;
    let job = stage.get::<CronJob>("mlflow-gc").await.unwrap();
    let container = container(&job, "mlflow-gc");
    let uri = "--backend-store-uri=postgresql://db-host:5432/mlflow";
    assert_eq!(container["args"], json!(["gc", uri, "--older-than=30d", "--all-workspaces"]));
    let resources = json!({ "requests": { "cpu": "200m", "memory": "256Mi" }, "limits": { "cpu": "500m", "memory": "512Mi" } });
    assert_eq!(container["resources"], resources);
    assert!(crate::support::env(container, "A").is_empty(), "the server's variables are not the job's");
    let fixed = json!({ "concurrencyPolicy": "Forbid", "successfulJobsHistoryLimit": 3, "failedJobsHistoryLimit": 3 });
    assert!(holds(&job["spec"], &fixed));
    stage.patch(json!({ "garbageCollection": { "olderThan": null } })).await;
    let job = stage.get::<CronJob>("mlflow-gc").await.unwrap();
    let args = &crate::support::container(&job, "mlflow-gc")["args"];
    assert_eq!(*args, json!(["gc", uri, "--all-workspaces"]));
}

#[tokio::test(start_paused = true)]
async fn garbage_collection_of_somebody_else_is_not_deleted() {
    let stage = Stage::plain().await;
    let account = json!({ "apiVersion": "v1", "kind": "ServiceAccount",
        "metadata": { "name": "mlflow-gc-sa", "labels": { "app": "mlflow-gc" } } });
    stage.put(account).await;
    stage.create(base()).await;
    assert!(stage.get::<ServiceAccount>("mlflow-gc-sa").await.is_some());
}

#[tokio::test(start_paused = true)]
async fn an_account_called_like_the_jobs_does_not_loop() {
    let stage = Stage::plain().await;
    stage.create(spec(json!({ "serviceAccountName": "mlflow-gc-sa" }))).await;
    let mark = stage.mark();
    stage.rest().await;
    assert_eq!(stage.writes(mark), Vec::<String>::new());
    assert!(stage.get::<ServiceAccount>("mlflow-gc-sa").await.is_some());
    stage.patch(json!({ "garbageCollection": { "schedule": "@daily" } })).await;
    let (_, reason, message) = stage.condition("Available").await.unwrap();
    assert_eq!(reason, "RenderFailed");
    assert!(message.contains("choose another name"), "{message}");
}
