//! What is said about a resource: conditions, addresses, events.

use k8s_openapi::api::apps::v1::Deployment;
use serde_json::json;

use crate::{
    complete, condition, not_ready, ready,
    support::{at, base, server::PLAIN, spec, stage::Stage},
};

#[tokio::test(start_paused = true)]
async fn scenario_05_a_server_that_is_not_ready_says_how_far_it_is() {
    let stage = Stage::plain().await;
    stage.create(base()).await;
    let status = stage.status().await;
    assert_eq!(at(&status, "address.url"), "https://mlflow.opendatahub.svc:8443");
    assert!(status.get("url").is_none());
    assert_eq!(stage.condition("Available").await, not_ready(0, 1));
    assert_eq!(stage.condition("Progressing").await, None);
    let before = (stage.reconciles("requeue_after"), stage.reconciles("success"));
    stage.rest().await;
    assert!(stage.reconciles("requeue_after") > before.0, "looked at again without being asked");
    assert_eq!(stage.reconciles("success"), before.1);
}

#[tokio::test(start_paused = true)]
async fn scenario_06_a_ready_server_is_available() {
    let stage = Stage::plain().await;
    stage.create(base()).await;
    stage.ready(1).await;
    assert_eq!(stage.condition("Available").await, ready());
    assert_eq!(stage.condition("Progressing").await, complete());
    let before = (stage.reconciles("requeue_after"), stage.reconciles("success"));
    stage.rest().await;
    let after = (stage.reconciles("requeue_after"), stage.reconciles("success"));
    assert_eq!(after, before, "nothing is due");
}

#[tokio::test(start_paused = true)]
async fn scenario_07_a_server_that_fails_later_is_not_available_but_still_complete() {
    let stage = Stage::plain().await;
    stage.create(base()).await;
    stage.ready(1).await;
    stage.ready(0).await;
    assert_eq!(stage.condition("Available").await, not_ready(0, 1));
    assert_eq!(stage.condition("Progressing").await, complete());
}

#[tokio::test(start_paused = true)]
async fn scenario_24_a_selector_that_is_none_is_reported_and_not_tried_again() {
    let stage = Stage::plain().await;
    let selector = json!({ "matchExpressions": [{ "key": "a", "operator": "InvalidOp" }] });
    stage.create(spec(json!({ "workspaceLabelSelector": selector }))).await;
    let text = r#"invalid workspaceLabelSelector: "InvalidOp" is not a valid label selector operator"#;
    for type_ in ["Available", "Progressing"] {
        let (status, reason, message) = stage.condition(type_).await.unwrap();
        assert_eq!((status.as_str(), reason.as_str()), ("False", "RenderFailed"));
        assert!(message.starts_with("Failed to render Helm chart: ") && message.contains(text), "{message}");
    }
    assert!(stage.owned().await.is_empty());
    let before = stage.reconciles("error");
    stage.rest().await;
    assert_eq!(stage.reconciles("error"), before, "only a change can help");
    stage.patch(json!({ "workspaceLabelSelector": null })).await;
    assert!(stage.get::<Deployment>("mlflow").await.is_some());
}

#[tokio::test(start_paused = true)]
async fn claims_on_devices_are_refused_with_a_reason() {
    let stage = Stage::plain().await;
    stage.create(spec(json!({ "resources": { "claims": [{ "name": "gpu" }] } }))).await;
    let (_, reason, message) = stage.condition("Available").await.unwrap();
    assert_eq!(reason, "RenderFailed");
    assert!(message.contains("resources.claims is not supported"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn a_transition_time_moves_with_the_status_alone() {
    let stage = Stage::plain().await;
    stage.create(base()).await;
    let since = async || {
        let status = stage.status().await;
        status["conditions"].as_array().unwrap().iter().find(|c| c["type"] == "Available").unwrap()
            ["lastTransitionTime"]
            .clone()
    };
    let first = since().await;
    stage.rest().await;
    stage
        .patch(
            json!({ "workspaceLabelSelector": { "matchExpressions": [{ "key": "a", "operator": "No" }] } }),
        )
        .await;
    assert_eq!(stage.condition("Available").await.unwrap().1, "RenderFailed");
    assert_eq!(since().await, first, "another reason for the same status");
    stage.patch(json!({ "workspaceLabelSelector": null })).await;
    stage.ready(1).await;
    assert_ne!(since().await, first);
}

#[tokio::test(start_paused = true)]
async fn what_the_conditions_do_not_say_is_an_event_once() {
    let stage = Stage::plain().await;
    stage.create(spec(json!({ "podLabels": { "app": "x" }, "defaultArtifactRoot": "" }))).await;
    stage.rest().await;
    let reasons: Vec<String> = stage.events().await.into_iter().map(|(reason, _)| reason).collect();
    assert_eq!(reasons, ["ArtifactsNotKept", "PodLabelIgnored", "SecretMissing"]);
}

#[tokio::test(start_paused = true)]
async fn a_status_that_somebody_wrote_is_set_right() {
    let stage = Stage::plain().await;
    stage.create(base()).await;
    let right = stage.status().await;
    let mlflows = kube::Api::<quintet_api::mlflow::MLflow>::all(stage.admin.clone());
    let wrong = kube::api::Patch::Merge(json!({ "status": { "address": { "url": "https://else.where" } } }));
    mlflows.patch_status("mlflow", &Default::default(), &wrong).await.unwrap();
    stage.settle().await;
    assert_eq!(stage.status().await, right);
    assert_eq!(
        stage.condition("Available").await,
        condition("False", "DeploymentNotReady", "MLflow deployment not ready: 0/1 replicas ready")
    );
}

#[tokio::test(start_paused = true)]
async fn events_and_what_else_the_original_does_not_say_can_be_switched_off() {
    let off = ["mlflow-events", "mlflow-generation", "mlflow-route-condition", "mlflow-rollout-ready"];
    let off = off.map(|id| format!("{id}=off")).join(",");
    let stage = Stage::new(PLAIN, &[("QUINTET_DIFFERENCES", &off)]).await;
    stage.create(spec(json!({ "podLabels": { "app": "x" } }))).await;
    stage.ready(1).await;
    assert_eq!(stage.events().await, []);
    assert_eq!(stage.condition("Available").await, ready());
    let status = stage.status().await;
    assert!(status["conditions"].as_array().unwrap().iter().all(|c| c.get("observedGeneration").is_none()));
}
