//! What the status tells, by its sources in the specification's order: Deployment, pods, logs, Endpoints, Routes.

use kube::api::{Patch, PatchParams};
use quintet_api::foreign::openshift::Route;
use serde_json::{Value, json};

use super::{
    scenarios::condition,
    support::{
        base,
        stage::{NAMESPACE, NO_CATALOG, OPENSHIFT, PLAIN, Stage, available},
        with,
    },
};

/// The Secret that the base registry names, so that nothing is missing.
async fn stage() -> Stage {
    let stage = Stage::new(PLAIN, NO_CATALOG).await;
    stage.put(json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "s" } })).await;
    stage.create(base()).await;
    stage
}

fn unavailable(replicas: i32, message: &str) -> Value {
    json!({ "unavailableReplicas": replicas, "conditions": [
        { "type": "Available", "status": "False", "message": message }, { "type": "Progressing", "status": "True" } ] })
}

const DOWN: &str = "DeploymentUnavailable";

#[tokio::test(start_paused = true)]
async fn before_the_deployment_says_anything_it_is_unavailable() {
    let stage = stage().await;
    assert_eq!(stage.condition("Available").await, condition("False", DOWN, "Deployment is unavailable: "));
}

#[tokio::test(start_paused = true)]
async fn the_deployments_strongest_objection_is_told() {
    let stage = stage().await;
    stage.deployment_status("reg", unavailable(0, "too few")).await;
    assert_eq!(
        stage.condition("Available").await,
        condition("False", DOWN, "Deployment is unavailable: too few")
    );
    let all = json!({ "conditions": [
        { "type": "Available", "status": "True", "message": "a" }, { "type": "Progressing", "status": "False", "message": "stuck" },
        { "type": "ReplicaFailure", "status": "True", "message": "quota" } ] });
    stage.deployment_status("reg", all).await;
    assert_eq!(
        stage.condition("Available").await,
        condition("False", DOWN, "Deployment is unavailable: quota")
    );
}

#[tokio::test(start_paused = true)]
async fn scenario_27_pod_waiting() {
    let stage = stage().await;
    let waiting = json!({ "containerStatuses": [
        { "name": "rest-container", "ready": true, "image": "", "imageID": "", "restartCount": 0 },
        { "name": "kube-rbac-proxy", "ready": false, "image": "", "imageID": "", "restartCount": 0,
            "state": { "waiting": { "reason": "ContainerCreating" } } } ] });
    stage.pod("p", &["rest-container", "kube-rbac-proxy"], waiting).await;
    stage.deployment_status("reg", unavailable(1, "too few")).await;
    let text = "Deployment is unavailable: pod p has unready containers [kube-rbac-proxy: {waiting: {reason: ContainerCreating, message: }}]";
    assert_eq!(stage.condition("Available").await, condition("False", DOWN, text));
}

#[tokio::test(start_paused = true)]
async fn pods_are_looked_at_in_order_and_those_that_go_are_not() {
    let stage = stage().await;
    stage.deployment_status("reg", unavailable(2, "too few")).await;
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
    stage
        .edit::<k8s_openapi::api::core::v1::Pod>("a", json!({ "metadata": { "finalizers": ["test/stay"] } }))
        .await;
    stage.delete::<k8s_openapi::api::core::v1::Pod>("a").await;
    assert_eq!(stage.condition("Available").await, condition("False", DOWN, &text("b", "B")));
}

#[tokio::test(start_paused = true)]
async fn what_is_missing_is_named() {
    let stage = Stage::new(PLAIN, NO_CATALOG).await;
    stage.create(base()).await;
    stage.deployment_status("reg", unavailable(0, "too few")).await;
    let text = r#"Deployment is unavailable: too few (Secret "s" not found in namespace "mr")"#;
    assert_eq!(stage.condition("Available").await, condition("False", DOWN, text));
    stage.put(json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "s" } })).await;
    assert_eq!(
        stage.condition("Available").await,
        condition("False", DOWN, "Deployment is unavailable: too few")
    );
}

#[tokio::test(start_paused = true)]
async fn scenario_29_no_ready_endpoints() {
    let stage = stage().await;
    stage.deployment_status("reg", available("2025-12-31T23:00:00Z")).await;
    let text = "Service endpoints not found: endpoints \"reg\" not found";
    assert_eq!(stage.condition("Available").await, condition("False", DOWN, text));
    stage.endpoints("reg", json!([])).await;
    let text = "Service endpoints not ready - no ready addresses available";
    assert_eq!(stage.condition("Available").await, condition("False", DOWN, text));
}

#[tokio::test(start_paused = true)]
async fn a_deployment_must_stay_available_for_a_while() {
    let stage = stage().await;
    stage.up("reg").await;
    // The operator's clock began at midnight, some seconds ago.
    stage.deployment_status("reg", available("2026-01-01T00:01:00Z")).await;
    let text = "Deployment only recently available";
    assert_eq!(stage.condition("Available").await, condition("False", "DeploymentCooldown", text));
    tokio::time::sleep(std::time::Duration::from_secs(70)).await;
    assert_eq!(
        stage.condition("Available").await,
        condition("True", "DeploymentAvailable", "Deployment is available")
    );
    stage.assert_at_rest().await;
}

#[tokio::test(start_paused = true)]
async fn scenario_28_route_not_admitted() {
    let stage = Stage::new(OPENSHIFT, NO_CATALOG).await;
    stage.create(with(json!({ "kubeRBACProxy": {} }))).await;
    stage.up("reg").await;
    let none = "No Pods found for Deployment reg";
    assert_eq!(stage.condition("Available").await, condition("False", "ResourcesUnavailable", none));
    stage.pod("p", &["rest-container"], json!({})).await;
    let without = "kube-rbac-proxy proxy unavailable in Pod p";
    assert_eq!(stage.condition("Available").await, condition("False", "ResourcesUnavailable", without));
    stage.delete::<k8s_openapi::api::core::v1::Pod>("p").await;
    stage.pod("q", &["rest-container", "kube-rbac-proxy"], json!({})).await;
    let silent = "KubeRBACProxy Route reg-https is unavailable: ";
    assert_eq!(stage.condition("Available").await, condition("False", "ResourcesUnavailable", silent));
    let routes: kube::Api<Route> = kube::Api::namespaced(stage.admin.clone(), NAMESPACE);
    let said = |status: &str| {
        let admitted =
            json!({ "type": "Admitted", "status": status, "reason": "HostAlreadyClaimed", "message": "m" });
        Patch::Merge(
            json!({ "status": { "ingress": [{ "host": "reg-rest.example.com", "conditions": [admitted] }] } }),
        )
    };
    routes.patch_status("reg-https", &PatchParams::default(), &said("False")).await.unwrap();
    stage.settle().await;
    let text = "KubeRBACProxy Route reg-https is unavailable: Host reg-rest.example.com in Route reg-https is unavailable: {reason: HostAlreadyClaimed, message: m}";
    assert_eq!(stage.condition("Available").await, condition("False", "ResourcesUnavailable", text));
    assert_eq!(
        stage.condition("KubeRBACProxyAvailable").await,
        condition("False", "ResourcesUnavailable", text)
    );
    // A server that goes down takes the proxy with it: the original shows what was true once.
    routes.patch_status("reg-https", &PatchParams::default(), &said("True")).await.unwrap();
    stage.deployment_status("reg", unavailable(0, "gone")).await;
    assert_eq!(stage.condition("KubeRBACProxyAvailable").await.unwrap().0, "False");
}

#[tokio::test(start_paused = true)]
async fn outside_openshift_no_route_is_waited_for() {
    let stage = Stage::new(PLAIN, NO_CATALOG).await;
    stage.create(with(json!({ "kubeRBACProxy": {} }))).await;
    stage.up("reg").await;
    stage.pod("p", &["rest-container", "kube-rbac-proxy"], json!({})).await;
    assert_eq!(stage.condition("Available").await.unwrap().0, "True");
    assert_eq!(stage.status().await["hosts"].as_array().unwrap().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn the_defaults_are_told_as_a_merge_patch() {
    let stage = Stage::new(PLAIN, NO_CATALOG).await;
    stage.create(json!({ "rest": {}, "postgres": { "host": "db" } })).await;
    let defaults = stage.status().await["specDefaults"].as_str().unwrap().to_owned();
    assert_eq!(
        defaults,
        r#"{"postgres":{"image":"quay.io/sclorg/postgresql-16-c10s:latest"},"rest":{"image":"quay.io/opendatahub/model-registry:latest","resources":{"limits":{"memory":"256Mi"},"requests":{"cpu":"100m","memory":"256Mi"}}}}"#
    );
}

#[tokio::test(start_paused = true)]
async fn an_image_is_taken_off_when_everything_is_spelled_out() {
    let stage = Stage::new(PLAIN, NO_CATALOG).await;
    let resources = json!({ "requests": { "cpu": "100m" } });
    let rest = json!({ "image": "quay.io/opendatahub/model-registry:latest", "resources": resources });
    stage.create(with(json!({ "rest": rest }))).await;
    let spec = serde_json::to_value(stage.registry().await.spec).unwrap();
    assert!(spec["rest"].get("image").is_none());
    assert_eq!(spec["rest"]["resources"], resources, "what is the user's stays");
    stage.assert_at_rest().await;
}
