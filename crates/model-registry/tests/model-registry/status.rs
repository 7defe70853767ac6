//! What the status tells, by its sources in the specification's order: Deployment, pods, Endpoints, Routes. What needs a
//! Deployment or pod to say something in particular is in `paused/status.rs`.

use futures::FutureExt;
use k8s_openapi::api::{apps::v1::Deployment, core::v1::Pod};
use quintet_stage::Play;
use serde_json::json;

use super::{
    proxy::admit,
    support::{
        base, condition, is_done, is_up, sample,
        stage::{NO_CATALOG, PLAIN, Stage, available, play},
        with,
    },
};

pub(crate) const DOWN: &str = "DeploymentUnavailable";

/// A registry with the Secret that it names, so that nothing is missing.
pub(crate) async fn stage() -> Stage {
    let stage = Stage::plain().await;
    stage.put(json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "s" } })).await;
    stage.create(base()).await;
    stage
}

#[tokio::test(start_paused = true)]
async fn scenario_02_becomes_available() {
    let stage = Stage::plain().await;
    stage.create(json!({ "rest": {}, "postgres": sample() })).await;
    stage.up().await;
    assert_eq!(stage.condition("Available").await, is_up());
    assert_eq!(stage.condition("Progressing").await, is_done());
    let status = stage.status().await;
    assert_eq!(status["hosts"], json!(["reg.mr.svc.cluster.local", "reg.mr", "reg"]));
    assert_eq!(status["hostsStr"], "reg.mr.svc.cluster.local,reg.mr,reg");
    assert!(status["conditions"].as_array().unwrap().iter().all(|c| c["observedGeneration"] == 1));
    let passes = stage.passes("modelregistry");
    stage.assert_at_rest().await;
    if !stage.is_real() {
        assert_eq!(
            stage.passes("modelregistry"),
            passes,
            "it is not looked at again: there Leases and nodes go on"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn scenario_27_pod_waiting() {
    let stage = stage().await;
    let waiting = json!({ "containerStatuses": [
        { "name": "rest-container", "ready": true, "image": "", "imageID": "", "restartCount": 0 },
        { "name": "kube-rbac-proxy", "ready": false, "image": "", "imageID": "", "restartCount": 0,
            "state": { "waiting": { "reason": "ContainerCreating" } } } ] });
    stage.pod("p", &["rest-container", "kube-rbac-proxy"], waiting).await;
    stage.down().await;
    let text = "Deployment is unavailable: pod p has unready containers [kube-rbac-proxy: {waiting: {reason: ContainerCreating, message: }}]";
    assert_eq!(stage.condition("Available").await, condition("False", DOWN, text));
    let passes = stage.passes("modelregistry");
    stage
        .until("it is looked at again", async || (stage.passes("modelregistry") > passes).then_some(()))
        .await;
}

#[tokio::test(start_paused = true)]
async fn scenario_28_route_not_admitted() {
    let stage = Stage::openshift().await;
    stage.create(with(json!({ "kubeRBACProxy": {} }))).await;
    stage.up().await;
    let unavailable = |message: &str| condition("False", "ResourcesUnavailable", message);
    if !stage.is_real() {
        let none = "No Pods found for Deployment reg";
        assert_eq!(stage.condition("Available").await, unavailable(none), "there a Deployment has its pods");
    }
    stage.pod("p", &["rest-container"], json!({})).await;
    let without = "kube-rbac-proxy proxy unavailable in Pod p";
    assert_eq!(stage.condition("Available").await, unavailable(without));
    stage.delete::<Pod>("p").await;
    stage.pod("q", &["rest-container", "kube-rbac-proxy"], json!({})).await;
    let silent = "KubeRBACProxy Route reg-https is unavailable: ";
    assert_eq!(stage.condition("Available").await, unavailable(silent));
    admit(&stage, "False").await;
    let text = "KubeRBACProxy Route reg-https is unavailable: Host reg-rest.example.com in Route reg-https is unavailable: {reason: HostAlreadyClaimed, message: m}";
    assert_eq!(stage.condition("Available").await, unavailable(text));
    assert_eq!(stage.condition("KubeRBACProxyAvailable").await, unavailable(text));
    // A server that goes down takes the proxy with it: the original shows what was true once.
    admit(&stage, "True").await;
    assert_eq!(stage.condition("KubeRBACProxyAvailable").await.unwrap().0, "True");
    stage.down().await;
    assert_eq!(stage.condition("KubeRBACProxyAvailable").await.unwrap().0, "False");
}

#[tokio::test(start_paused = true)]
async fn scenario_29_no_ready_endpoints() {
    let stage = stage().await;
    if !stage.is_real() {
        stage.report::<Deployment>("reg", available("2025-12-31T23:00:00Z")).await;
        let text = "Service endpoints not found: endpoints \"reg\" not found";
        assert_eq!(
            stage.condition("Available").await,
            condition("False", DOWN, text),
            "there a Service has them"
        );
    }
    stage.up().await;
    assert_eq!(stage.condition("Available").await, is_up());
    stage.endpoints(json!([])).await;
    let text = "Service endpoints not ready - no ready addresses available";
    assert_eq!(stage.condition("Available").await, condition("False", DOWN, text));
}

#[tokio::test(start_paused = true)]
async fn outside_openshift_no_route_is_waited_for() {
    let stage = Stage::plain().await;
    stage.create(with(json!({ "kubeRBACProxy": {} }))).await;
    stage.up().await;
    stage.pod("p", &["rest-container", "kube-rbac-proxy"], json!({})).await;
    assert_eq!(stage.condition("Available").await.unwrap().0, "True");
    assert_eq!(stage.status().await["hosts"].as_array().unwrap().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn the_defaults_are_told_as_a_merge_patch() {
    let stage = Stage::plain().await;
    stage.create(json!({ "rest": {}, "postgres": { "host": "db" } })).await;
    let defaults = stage.status().await["specDefaults"].as_str().unwrap().to_owned();
    assert_eq!(
        defaults,
        r#"{"postgres":{"image":"quay.io/sclorg/postgresql-16-c10s:latest"},"rest":{"image":"quay.io/opendatahub/model-registry:latest","resources":{"limits":{"memory":"256Mi"},"requests":{"cpu":"100m","memory":"256Mi"}}}}"#
    );
}

#[tokio::test(start_paused = true)]
async fn a_grpc_server_that_nobody_runs_is_told_of() {
    let stage = Stage::plain().await;
    stage.create(with(json!({ "grpc": {} }))).await;
    let is_told = async || stage.events().await.iter().any(|(reason, _)| reason == "GrpcIgnored");
    assert!(!is_told().await, "who asks for nothing misses nothing");
    stage.patch(json!({ "grpc": { "port": 9191 } })).await;
    assert!(is_told().await);
}

#[tokio::test(start_paused = true)]
async fn an_image_is_taken_off_when_everything_is_spelled_out() {
    let stage = Stage::plain().await;
    let resources = json!({ "requests": { "cpu": "100m" } });
    let rest = json!({ "image": "quay.io/opendatahub/model-registry:latest", "resources": resources });
    stage.create(with(json!({ "rest": rest }))).await;
    let spec = serde_json::to_value(stage.registry().await.spec).unwrap();
    assert!(spec["rest"].get("image").is_none());
    assert_eq!(spec["rest"]["resources"], resources, "what is the user's stays");
    stage.assert_at_rest().await;
}

#[tokio::test(start_paused = true)]
async fn what_can_be_noticed_can_be_switched_off() {
    let off = "registry-events=off,registry-generation=off,registry-missing=off,registry-invalid-status=off";
    let stage = Stage::new(PLAIN, &[NO_CATALOG, &[("QUINTET_DIFFERENCES", off)]].concat()).await;
    stage.create(json!({ "rest": {}, "postgres": { "generateDeployment": true } })).await;
    stage.patch(json!({ "postgres": { "generateDeployment": null, "host": "db", "passwordSecret": { "name": "s", "key": "p" } } })).await;
    stage.down().await;
    let (_, _, message) = stage.condition("Available").await.unwrap();
    assert!(!message.contains("Secret"), "{message}");
    let conditions = stage.status().await["conditions"].as_array().unwrap().clone();
    assert!(
        conditions.iter().all(|condition| condition.get("observedGeneration").is_none()),
        "{conditions:?}"
    );
    let events = stage.events().await;
    assert!(events.iter().all(|(reason, _)| reason.starts_with("Service")), "{events:?}");
}

#[tokio::test(start_paused = true)]
async fn a_registry_without_a_specification_says_what_it_needs() {
    let stage = Stage::plain().await;
    stage
        .put(json!({ "apiVersion": "modelregistry.opendatahub.io/v1beta1", "kind": "ModelRegistry",
        "metadata": { "name": "reg" } }))
        .await;
    let (status, reason, message) = stage.condition("Available").await.unwrap();
    assert_eq!((status.as_str(), reason.as_str()), ("False", "ConfigurationError"));
    assert!(
        message.contains("[spec.postgres: Required value: ")
            && message.contains(", spec.mysql: Required value: ")
    );
    stage.assert_at_rest().await;
}

#[tokio::test(start_paused = true)]
async fn a_registry_that_became_invalid_says_so_unless_that_is_switched_off() {
    let told = async |switch: &str| {
        let switched = [NO_CATALOG, &[("QUINTET_DIFFERENCES", switch)]].concat();
        // What is not told cannot be compared with what is rendered.
        let play = Play { look: |_| std::future::ready(()).boxed(), ..play(PLAIN, &switched) };
        let stage = quintet_stage::Stage::new(play).await;
        stage.create(base()).await;
        stage.patch(json!({ "mysql": { "host": "" } })).await;
        stage.condition("Available").await.unwrap()
    };
    let (status, reason, message) = told("").await;
    assert_eq!((status.as_str(), reason.as_str()), ("False", "ConfigurationError"));
    assert!(message.contains("required one of `postgres` or `mysql` database"), "{message}");
    assert_eq!(told("registry-invalid-status=off").await.1, DOWN, "what was true before");
}
