//! What a status tells of Deployments and pods that say this or that.

use std::time::Duration;

use k8s_openapi::api::{apps::v1::Deployment, core::v1::Pod};
use serde_json::json;

use crate::{
    status::{DOWN, stage},
    support::{
        base, condition, is_up,
        stage::{Stage, available, unavailable},
    },
};

#[tokio::test(start_paused = true)]
async fn before_the_deployment_says_anything_it_is_unavailable() {
    let stage = stage().await;
    assert_eq!(stage.condition("Available").await, condition("False", DOWN, "Deployment is unavailable: "));
}

#[tokio::test(start_paused = true)]
async fn the_deployments_strongest_objection_is_told() {
    let stage = stage().await;
    stage.report::<Deployment>("reg", unavailable(0, "too few")).await;
    assert_eq!(
        stage.condition("Available").await,
        condition("False", DOWN, "Deployment is unavailable: too few")
    );
    let all = json!({ "conditions": [
        { "type": "Available", "status": "True", "message": "a" }, { "type": "Progressing", "status": "False", "message": "stuck" },
        { "type": "ReplicaFailure", "status": "True", "message": "quota" } ] });
    stage.report::<Deployment>("reg", all).await;
    assert_eq!(
        stage.condition("Available").await,
        condition("False", DOWN, "Deployment is unavailable: quota")
    );
}

#[tokio::test(start_paused = true)]
async fn pods_are_looked_at_in_order_and_those_that_go_are_not() {
    let stage = stage().await;
    stage.report::<Deployment>("reg", unavailable(2, "too few")).await;
    assert_eq!(
        stage.condition("Available").await,
        condition("False", DOWN, "Deployment is unavailable: 2 containers unavailable")
    );
    let ready = |reason: &str| json!({ "conditions": [{ "type": "Ready", "status": "False", "reason": reason, "message": "m" }] });
    stage.pod("b", &["rest-container"], ready("B")).await;
    stage.pod("a", &["rest-container"], ready("A")).await;
    let text = |pod: &str, reason: &str| {
        format!("Deployment is unavailable: pod {pod} containers not ready: {{reason: {reason}, message: m}}")
    };
    assert_eq!(stage.condition("Available").await, condition("False", DOWN, &text("a", "A")));
    stage.edit::<Pod>("a", json!({ "metadata": { "finalizers": ["test/stay"] } })).await;
    stage.delete::<Pod>("a").await;
    assert_eq!(stage.condition("Available").await, condition("False", DOWN, &text("b", "B")));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_ended_well_is_not_ready_all_the_same() {
    let stage = stage().await;
    stage.report::<Deployment>("reg", unavailable(1, "too few")).await;
    let ended = json!({ "containerStatuses": [{ "name": "rest-container", "ready": false, "image": "", "imageID": "",
        "restartCount": 0, "state": { "terminated": { "exitCode": 0, "reason": "Completed" } } }] });
    stage.pod("p", &["rest-container"], ended).await;
    let text = "Deployment is unavailable: pod p has unready containers [rest-container: {terminated: {reason: Completed, message: }}]";
    assert_eq!(stage.condition("Available").await, condition("False", DOWN, text));
}

#[tokio::test(start_paused = true)]
async fn what_is_missing_is_named() {
    let stage = Stage::plain().await;
    stage.create(base()).await;
    let text = r#"Deployment is unavailable: Secret "s" not found in namespace "mr""#;
    assert_eq!(
        stage.condition("Available").await,
        condition("False", DOWN, text),
        "the Deployment is silent yet"
    );
    stage.report::<Deployment>("reg", unavailable(0, "too few")).await;
    let text = r#"Deployment is unavailable: too few (Secret "s" not found in namespace "mr")"#;
    assert_eq!(stage.condition("Available").await, condition("False", DOWN, text));
    stage.put(json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "s" } })).await;
    assert_eq!(
        stage.condition("Available").await,
        condition("False", DOWN, "Deployment is unavailable: too few")
    );
}

#[tokio::test(start_paused = true)]
async fn a_deployment_must_stay_available_for_a_while() {
    let stage = stage().await;
    stage.up().await;
    // The operator's clock began at midnight, some seconds ago.
    stage.report::<Deployment>("reg", available("2026-01-01T00:01:00Z")).await;
    let text = "Deployment only recently available";
    assert_eq!(stage.condition("Available").await, condition("False", "DeploymentCooldown", text));
    tokio::time::sleep(Duration::from_secs(70)).await;
    assert_eq!(stage.condition("Available").await, is_up());
    stage.assert_at_rest().await;
}

#[tokio::test(start_paused = true)]
async fn what_the_log_of_a_server_that_does_not_come_up_says_is_told() {
    let failed =
        "E0101 Check failed: absl::OkStatus() == status (OK vs. INTERNAL: no host) mysql_real_connect failed";
    let said = async |line: &str| {
        let script = json!({ "log": ["starting", line], "exit": { "code": 1, "after": "1s" } });
        let stage = Stage::with_pods(script).await;
        let secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "s" }, "data": { "p": "eA==" } });
        stage.put(secret).await;
        stage.create(base()).await;
        stage.condition("Available").await
    };
    let text = "database configuration error: mysql_real_connect failed: INTERNAL: no host";
    assert_eq!(said(failed).await, condition("False", "ConfigurationError", text));
    let text = "rest container alert: {{ALERT}} upgrade the database first";
    let alert = "{{ALERT}} upgrade the database first";
    assert_eq!(said(alert).await, condition("False", "ResourcesAlert", text));
}
