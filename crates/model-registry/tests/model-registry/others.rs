//! What other people and programs do to the objects, or did before.

use std::time::Duration;

use http::StatusCode;
use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{ConfigMap, Service, ServiceAccount},
    networking::v1::NetworkPolicy,
    rbac::v1::Role,
};
use kube::api::Patch;
use quintet_api::{foreign::openshift::Route, model_registry::ModelRegistry};
use quintet_harness::faults::{Asked, Chaos};
use serde_json::{Value, json};

use super::support::{
    args, at, base, condition, container, covers, is_done,
    stage::{Stage, registry},
    with,
};

fn leftover(api_version: &str, kind: &str, name: &str, app: &str, spec: Value) -> Value {
    let labels = json!({ "app": app, "component": "model-registry", "app.kubernetes.io/created-by": "model-registry-operator" });
    json!({ "apiVersion": api_version, "kind": kind, "metadata": { "name": name, "labels": labels }, "spec": spec })
}

fn leftovers(prefix: &str, app: &str) -> [Value; 4] {
    let pods = json!({ "matchLabels": { "x": "y" } });
    let template = json!({ "metadata": { "labels": { "x": "y" } }, "spec": { "containers": [{ "name": "c", "image": "i" }] } });
    let catalog = format!("{prefix}-catalog");
    [
        leftover("apps/v1", "Deployment", &catalog, app, json!({ "selector": pods, "template": template })),
        leftover("v1", "Service", &catalog, app, json!({ "ports": [{ "port": 1 }] })),
        leftover(
            "route.openshift.io/v1",
            "Route",
            &format!("{catalog}-https"),
            app,
            json!({ "to": { "kind": "Service", "name": "x" } }),
        ),
        leftover(
            "networking.k8s.io/v1",
            "NetworkPolicy",
            &format!("{catalog}-https-route"),
            app,
            json!({ "podSelector": {} }),
        ),
    ]
}

#[tokio::test(start_paused = true)]
async fn scenario_17_legacy_catalog_leftovers() {
    let stage = Stage::openshift().await;
    for object in leftovers("reg", "reg") {
        stage.put(object).await;
    }
    stage.create(base()).await;
    assert!(stage.get::<Deployment>("reg-catalog").await.is_none());
    assert!(stage.get::<Service>("reg-catalog").await.is_none());
    assert!(stage.get::<Route>("reg-catalog-https").await.is_none());
    assert!(stage.get::<NetworkPolicy>("reg-catalog-https-route").await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_registry_called_model_does_not_touch_the_catalog() {
    let stage = Stage::openshift().await;
    // What the shared catalog has, and what a registry called x-catalog would have.
    for object in leftovers("model", "model-catalog").into_iter().chain(leftovers("x", "x-catalog")) {
        stage.put(object).await;
    }
    let mark = stage.mark();
    stage.put(registry("model", base())).await;
    stage.put(registry("x", base())).await;
    for name in ["model-catalog", "x-catalog"] {
        assert!(stage.get::<Deployment>(name).await.is_some());
        assert!(stage.get::<Service>(name).await.is_some());
        assert!(stage.get::<Route>(&format!("{name}-https")).await.is_some());
        assert!(stage.get::<NetworkPolicy>(&format!("{name}-https-route")).await.is_some());
    }
    assert!(stage.writes(mark).iter().all(|write| !write.starts_with("delete")));
    stage.assert_at_rest().await;
}

#[tokio::test(start_paused = true)]
async fn scenario_18_drift() {
    let stage = Stage::plain().await;
    stage.create(base()).await;
    stage.up().await;
    let before = stage.get::<Deployment>("reg").await.unwrap();
    let states = stage.states().await;
    stage
        .replace::<Deployment>("reg", |edited| {
            let spec = edited.spec.as_mut().unwrap();
            spec.replicas = Some(3);
            spec.template.spec.as_mut().unwrap().containers[0].args.as_mut().unwrap()[1] = "--port=1".into();
        })
        .await;
    let after = stage.get::<Deployment>("reg").await.unwrap();
    assert_eq!(after["spec"], before["spec"]);
    assert!(stage.events().await.iter().any(|(reason, _)| reason == "ServiceUpdated"));
    let updating = condition("True", "UpdatingDeployment", "Updating deployment");
    stage.until("that pass says so", async || states.said("Progressing", &updating)).await;
    assert_eq!(stage.condition("Progressing").await, is_done(), "and the next finds nothing to do");
}

#[tokio::test(start_paused = true)]
async fn what_others_add_stays_and_what_must_be_false_is_kept_so() {
    let stage = Stage::plain().await;
    stage.create(base()).await;
    stage
        .replace::<Deployment>("reg", |edited| {
            let spec = edited.spec.as_mut().unwrap().template.spec.as_mut().unwrap();
            spec.containers[0].security_context.as_mut().unwrap().allow_privilege_escalation = Some(true);
            let sidecar = json!({ "name": "sidecar", "image": "mesh" });
            spec.containers.push(serde_json::from_value(sidecar).unwrap());
        })
        .await;
    stage.patch(json!({ "rest": { "port": 9000 } })).await;
    let after = stage.get::<Deployment>("reg").await.unwrap();
    assert_eq!(container(&after, "sidecar")["image"], "mesh");
    assert_eq!(container(&after, "rest-container")["securityContext"]["allowPrivilegeEscalation"], false);
}

#[tokio::test(start_paused = true)]
async fn scenario_19_immutable_selector() {
    let stage = Stage::plain().await;
    let pods = json!({ "matchLabels": { "old": "yes" } });
    let template = json!({ "metadata": { "labels": { "old": "yes" } }, "spec": { "containers": [{ "name": "c", "image": "i" }] } });
    let metadata =
        json!({ "name": "reg", "labels": { "app.kubernetes.io/created-by": "model-registry-operator" } });
    stage
        .put(json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata,
        "spec": { "selector": pods, "template": template } }))
        .await;
    let uid = at(&stage.get::<Deployment>("reg").await.unwrap(), "metadata.uid").clone();
    stage.create(base()).await;
    let deployment = stage.get::<Deployment>("reg").await.unwrap();
    assert_ne!(at(&deployment, "metadata.uid"), &uid);
    let selector = json!({ "app": "reg", "component": "model-registry", "app.kubernetes.io/name": "reg" });
    assert_eq!(at(&deployment, "spec.selector.matchLabels"), &selector);
}

#[tokio::test(start_paused = true)]
async fn a_forbidden_write_never_deletes_a_running_deployment() {
    let stage = Stage::plain().await;
    stage.create(base()).await;
    let uid = at(&stage.get::<Deployment>("reg").await.unwrap(), "metadata.uid").clone();
    let writes = |asked: &Asked| asked.is_write() && asked.resource == "deployments";
    stage.edge.refuse(writes, StatusCode::FORBIDDEN, "exceeded quota: field is immutable");
    let mark = stage.mark();
    stage.patch(json!({ "rest": { "port": 9000 } })).await;
    assert!(stage.writes(mark).iter().all(|write| !write.starts_with("delete")));
    let message = stage.condition("Available").await.unwrap();
    assert_eq!((message.0.as_str(), message.1.as_str()), ("False", "DeploymentUnavailable"));
    assert!(
        message.2.starts_with("unexpected reconcile error: ") && message.2.contains("exceeded quota"),
        "{message:?}"
    );
    stage.edge.relent();
    let deployment = stage.until("in the end it is as wanted", async || {
        let deployment = stage.get::<Deployment>("reg").await.unwrap();
        args(&deployment, "rest-container").contains(&"--port=9000".into()).then_some(deployment)
    });
    assert_eq!(at(&deployment.await, "metadata.uid"), &uid, "the same Deployment");
}

#[tokio::test(start_paused = true)]
async fn children_that_are_deleted_or_edited_are_mended() {
    let stage = Stage::plain().await;
    stage.create(with(json!({ "kubeRBACProxy": {} }))).await;
    stage.delete::<Role>("registry-user-reg").await;
    stage.delete::<ServiceAccount>("reg").await;
    stage
        .edit::<ConfigMap>(
            "reg-kube-rbac-proxy-config",
            json!({ "data": { "config-file.yaml": "authorization: {}" } }),
        )
        .await;
    assert!(stage.get::<Role>("registry-user-reg").await.is_some());
    assert!(stage.get::<ServiceAccount>("reg").await.is_some());
    let map = stage.get::<ConfigMap>("reg-kube-rbac-proxy-config").await.unwrap();
    assert!(
        at(&map, "data")["config-file.yaml"].as_str().unwrap().contains("name: reg"),
        "nobody is let in by an edit"
    );
    let ports = json!([{ "name": "https-api", "port": 9999, "protocol": "TCP" }]);
    stage.edit::<Service>("reg", json!({ "spec": { "ports": ports } })).await;
    let service = stage.get::<Service>("reg").await.unwrap();
    assert!(covers(at(&service, "spec.ports"), &json!([{ "name": "https-api", "port": 8443 }])), "{service}");
}

#[tokio::test(start_paused = true)]
async fn a_container_port_that_somebody_edited_is_mended() {
    let stage = Stage::plain().await;
    stage.create(base()).await;
    stage
        .replace::<Deployment>("reg", |deployment| {
            let pod = deployment.spec.as_mut().unwrap().template.spec.as_mut().unwrap();
            pod.containers[0].ports.as_mut().unwrap()[0].container_port = 9999;
        })
        .await;
    let stored = stage.get::<Deployment>("reg").await.unwrap();
    let ports = container(&stored, "rest-container")["ports"].as_array().unwrap().clone();
    assert_eq!((ports.len(), &ports[0]["containerPort"]), (1, &json!(8080)));
}

#[tokio::test(start_paused = true)]
async fn foreign_secrets_and_config_maps_are_not_kept() {
    let stage = Stage::plain().await;
    stage.create(base()).await;
    for n in 0..40 {
        let object = |kind: &str| json!({ "apiVersion": "v1", "kind": kind, "metadata": { "name": format!("foreign-{n}") } });
        stage.try_put(object("Secret")).await.unwrap();
        stage.try_put(object("ConfigMap")).await.unwrap();
    }
    stage.settle().await;
    // Secret s is named by the registry, and not there; all others concern nobody.
    for kind in ["Secret", "ConfigMap"] {
        let gauge =
            format!("quintet_cache_objects{{group=\"\",kind=\"{kind}\",selection=\"namespace mr\"}} 0");
        let metrics = stage.metrics.encode();
        let shown: Vec<&str> = metrics.lines().filter(|line| line.contains("cache_objects")).collect();
        assert!(metrics.contains(&gauge), "{shown:#?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_deployment_that_the_cache_does_not_show_yet_is_no_error() {
    let stage = Stage::plain().await;
    let lag = Chaos { lag: Duration::from_secs(3), ..Chaos::default() };
    stage.edge.set_chaos(lag);
    let states = stage.states().await;
    stage.try_create(base()).await.unwrap();
    let available = async || stage.condition("Available").await;
    stage.until("something is known of it", available).await;
    let creating = condition("True", "CreatingDeployment", "Creating deployment");
    assert_eq!(states.said("Progressing", &creating), Some(()));
    assert!(!states.any(|state| state.data["status"].to_string().contains("unexpected reconcile error")));
}

#[tokio::test(start_paused = true)]
async fn a_conflict_is_nobodys_news() {
    let stage = Stage::plain().await;
    stage.create(base()).await;
    stage.up().await;
    let writes = |asked: &Asked| asked.is_write() && asked.resource == "services";
    stage.edge.refuse(writes, StatusCode::CONFLICT, "the object has been modified");
    let states = stage.states().await;
    let patch = json!({ "spec": { "rest": { "port": 9000 } } });
    stage.api::<ModelRegistry>().patch("reg", &Default::default(), &Patch::Merge(patch)).await.unwrap();
    stage.until("it is tried", async || (stage.edge.refusals() > 1).then_some(())).await;
    stage.edge.relent();
    let is_changed = async || {
        let service = stage.get::<Service>("reg").await?;
        (at(&service, "spec.ports.0.port") == 9000).then_some(())
    };
    stage.until("the Service is changed", is_changed).await;
    assert!(!states.any(|state| state.data["status"].to_string().contains("unexpected reconcile error")));
}
