//! What other people and programs do to the objects, or did before.

use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{ConfigMap, PersistentVolumeClaim, Service, ServiceAccount},
    networking::v1::NetworkPolicy,
    rbac::v1::{ClusterRole, ClusterRoleBinding},
};
use kube::{
    Api,
    api::{DeleteParams, Patch, PatchParams},
};
use serde_json::{Value, json};

use crate::support::{at, base, container, env, pod, server::NAMESPACE, spec, stage::Stage};

#[tokio::test(start_paused = true)]
async fn scenario_14_replicas_that_somebody_changed_are_set_back() {
    let stage = Stage::plain().await;
    stage.create(spec(json!({ "replicas": 3 }))).await;
    for others in [5, 0] {
        stage.edit::<Deployment>("mlflow", json!({ "spec": { "replicas": others } })).await;
        assert_eq!(at(&stage.get::<Deployment>("mlflow").await.unwrap(), "spec.replicas"), 3);
    }
}

#[tokio::test(start_paused = true)]
async fn scenario_15_a_service_that_somebody_edited_is_mended_and_their_label_stays() {
    let stage = Stage::plain().await;
    stage.create(base()).await;
    let port = |port: i32, target: Value| json!([{ "name": "https", "protocol": "TCP", "port": port, "targetPort": target }]);
    stage.edit::<Service>("mlflow", json!({ "spec": { "ports": port(8443, json!(9999)) }, "metadata": { "labels": { "mine": "yes" } } })).await;
    let service = stage.get::<Service>("mlflow").await.unwrap();
    assert_eq!(at(&service, "spec.ports.0.targetPort"), "https");
    assert_eq!(at(&service, "metadata.labels.mine"), "yes");

    stage.edit::<Service>("mlflow", json!({ "spec": { "ports": port(9999, json!("https")) } })).await;
    let service = stage.get::<Service>("mlflow").await.unwrap();
    let ports = at(&service, "spec.ports").as_array().unwrap();
    assert_eq!((ports.len(), &ports[0]["port"]), (1, &json!(8443)));
    assert_eq!(at(&service, "metadata.labels.mine"), "yes");
}

#[tokio::test(start_paused = true)]
async fn a_container_port_that_somebody_edited_is_mended() {
    let stage = Stage::plain().await;
    stage.create(base()).await;
    stage
        .replace::<Deployment>("mlflow", |deployment| {
            let containers =
                &mut deployment.spec.as_mut().unwrap().template.spec.as_mut().unwrap().containers;
            containers[0].ports.as_mut().unwrap()[0].container_port = 9999;
        })
        .await;
    let stored = stage.get::<Deployment>("mlflow").await.unwrap();
    let ports = container(&stored, "mlflow")["ports"].as_array().unwrap().clone();
    assert_eq!((ports.len(), &ports[0]["containerPort"]), (1, &json!(8443)));
}

#[tokio::test(start_paused = true)]
async fn what_others_add_stays_and_what_is_ours_is_set_back() {
    let stage = Stage::plain().await;
    stage.create(spec(json!({ "nodeSelector": { "disk": "ssd" } }))).await;
    let sidecar = json!({ "name": "theirs", "image": "reg.test/x:1" });
    let server = json!({ "name": "mlflow", "env": [{ "name": "THEIRS", "value": "1" }] });
    let theirs = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": { "name": "mlflow", "annotations": { "theirs": "yes" } },
        "spec": { "template": { "spec": {
            "containers": [sidecar, server], "volumes": [{ "name": "theirs", "emptyDir": {} }],
        } } },
    });
    let api: Api<Deployment> = Api::namespaced(stage.admin.clone(), NAMESPACE);
    api.patch("mlflow", &PatchParams::apply("theirs"), &Patch::Apply(&theirs)).await.unwrap();
    stage.settle().await;
    // Lists that the API takes as one are ours as a whole.
    let edited =
        json!({ "spec": { "template": { "spec": { "nodeSelector": { "disk": "ssd", "zone": "a" } } } } });
    stage.edit::<Deployment>("mlflow", edited).await;
    let stored = stage.get::<Deployment>("mlflow").await.unwrap();
    assert_eq!(at(&stored, "metadata.annotations.theirs"), "yes");
    assert_eq!(container(&stored, "theirs")["image"], "reg.test/x:1");
    assert_eq!(env(container(&stored, "mlflow"), "THEIRS").len(), 1);
    assert!(pod(&stored)["spec"]["volumes"].as_array().unwrap().iter().any(|v| v["name"] == "theirs"));
    assert_eq!(pod(&stored)["spec"]["nodeSelector"], json!({ "disk": "ssd" }));
}

#[tokio::test(start_paused = true)]
async fn kinds_that_the_original_does_not_watch_are_mended_too() {
    let stage = Stage::plain().await;
    stage.create(spec(json!({ "garbageCollection": { "schedule": "@daily" } }))).await;
    stage.delete::<NetworkPolicy>("mlflow").await;
    stage.delete::<ServiceAccount>("mlflow-gc-sa").await;
    assert!(stage.get::<NetworkPolicy>("mlflow").await.is_some());
    assert!(stage.get::<ServiceAccount>("mlflow-gc-sa").await.is_some());
    let roles: Api<ClusterRole> = Api::all(stage.admin.clone());
    let bindings: Api<ClusterRoleBinding> = Api::all(stage.admin.clone());
    roles.delete("mlflow-gc", &DeleteParams::default()).await.unwrap();
    bindings.delete("mlflow-gc", &DeleteParams::default()).await.unwrap();
    stage.settle().await;
    roles.get("mlflow-gc").await.unwrap();
    bindings.get("mlflow-gc").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_shared_role_is_mended_although_nobody_controls_it() {
    let stage = Stage::plain().await;
    stage.create(base()).await;
    let roles: Api<ClusterRole> = Api::all(stage.admin.clone());
    let before = roles.get("mlflow").await.unwrap();
    assert!(before.metadata.owner_references.unwrap()[0].controller.is_none());
    roles.patch("mlflow", &PatchParams::default(), &Patch::Merge(json!({ "rules": [] }))).await.unwrap();
    stage.settle().await;
    assert_eq!(roles.get("mlflow").await.unwrap().rules, before.rules);
    roles.delete("mlflow", &DeleteParams::default()).await.unwrap();
    stage.settle().await;
    assert_eq!(roles.get("mlflow").await.unwrap().rules, before.rules);
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_exists_is_used_and_never_touched() {
    let stage = Stage::plain().await;
    let claim = json!({ "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": { "name": "mlflow-pvc" },
        "spec": { "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } } });
    stage.put(claim).await;
    stage.create(spec(json!({ "storage": { "resources": { "requests": { "storage": "9Gi" } } } }))).await;
    let claim = stage.get::<PersistentVolumeClaim>("mlflow-pvc").await.unwrap();
    assert_eq!(at(&claim, "spec.resources.requests.storage"), "1Gi");
    assert!(claim["metadata"].get("ownerReferences").is_none());
    let reasons: Vec<String> = stage.events().await.into_iter().map(|(reason, _)| reason).collect();
    assert!(reasons.contains(&"StorageDiffers".to_owned()), "{reasons:?}");
}

#[tokio::test(start_paused = true)]
async fn a_claim_stays_when_storage_is_removed_and_a_lost_one_is_made_again() {
    let stage = Stage::plain().await;
    stage.create(spec(json!({ "storage": {} }))).await;
    let uid =
        async || at(&stage.get::<PersistentVolumeClaim>("mlflow-pvc").await.unwrap(), "metadata.uid").clone();
    let first = uid().await;
    stage.patch(json!({ "storage": null })).await;
    assert_eq!(uid().await, first, "data stays");
    assert_eq!(at(&stage.get::<Deployment>("mlflow").await.unwrap(), "spec.strategy.type"), "RollingUpdate");
    // Once no pod uses it, a real cluster lets it go.
    stage.ready(1).await;
    stage.until("pods without the claim", async || stage.pods_without("mlflow-pvc").await).await;
    stage.patch(json!({ "storage": {} })).await;
    assert_eq!(uid().await, first, "used again");
    stage.patch(json!({ "storage": null })).await;
    stage.ready(1).await;
    stage.until("pods without the claim", async || stage.pods_without("mlflow-pvc").await).await;
    stage.delete::<PersistentVolumeClaim>("mlflow-pvc").await;
    stage.patch(json!({ "storage": {} })).await;
    assert_ne!(uid().await, first, "made again");
}

#[tokio::test(start_paused = true)]
async fn the_old_account_stays_when_the_name_changes() {
    let stage = Stage::plain().await;
    stage.create(base()).await;
    stage.patch(json!({ "serviceAccountName": "other" })).await;
    assert!(stage.get::<ServiceAccount>("mlflow-sa").await.is_some());
    assert!(stage.get::<ServiceAccount>("other").await.is_some());
    let bindings: Api<ClusterRoleBinding> = Api::all(stage.admin.clone());
    let subjects = bindings.get("mlflow").await.unwrap().subjects.unwrap();
    assert_eq!(subjects.iter().map(|s| s.name.as_str()).collect::<Vec<_>>(), ["other"]);
}

#[tokio::test(start_paused = true)]
async fn an_account_of_another_controller_is_left_alone_and_named() {
    let stage = Stage::plain().await;
    stage.put_config_map("theirs").await;
    let uid = at(&stage.get::<ConfigMap>("theirs").await.unwrap(), "metadata.uid").clone();
    let owner =
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": "theirs", "uid": uid, "controller": true });
    let account = json!({ "apiVersion": "v1", "kind": "ServiceAccount",
        "metadata": { "name": "mlflow-sa", "ownerReferences": [owner] } });
    stage.put(account).await;
    stage.create(base()).await;
    let (_, reason, message) = stage.condition("Available").await.unwrap();
    assert_eq!(reason, "ApplyFailed");
    assert!(message.starts_with("Failed to apply ServiceAccount/mlflow-sa: "), "{message}");
    assert!(message.contains("is controlled by ConfigMap theirs"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn a_service_that_nobody_owns_is_taken_over() {
    let stage = Stage::plain().await;
    let service = json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": "mlflow", "labels": { "old": "yes" } },
        "spec": { "ports": [{ "name": "https", "port": 8443, "targetPort": 1 }], "selector": { "app": "mlflow" } } });
    stage.put(service).await;
    stage.create(base()).await;
    let service = stage.get::<Service>("mlflow").await.unwrap();
    assert_eq!(at(&service, "metadata.ownerReferences.0.kind"), "MLflow");
    assert_eq!(
        at(&service, "metadata.labels"),
        &json!({ "app": "mlflow", "component": "mlflow", "old": "yes" })
    );
    assert_eq!(at(&service, "spec.ports.0.targetPort"), "https");
}

#[tokio::test(start_paused = true)]
async fn a_deployment_with_another_selector_is_refused_and_the_rest_applied() {
    let stage = Stage::plain().await;
    let labels = json!({ "app": "somebody-elses" });
    let theirs = json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "mlflow" }, "spec": {
        "replicas": 0, "selector": { "matchLabels": labels },
        "template": { "metadata": { "labels": labels }, "spec": { "containers": [{ "name": "x", "image": "reg.test/x:1" }] } },
    } });
    stage.put(theirs).await;
    stage.create(base()).await;
    let (_, reason, message) = stage.condition("Available").await.unwrap();
    assert_eq!(reason, "ApplyFailed");
    assert!(message.starts_with("Failed to apply Deployment/mlflow: "), "{message}");
    assert!(message.contains("field is immutable"), "{message}");
    assert!(stage.get::<NetworkPolicy>("mlflow").await.is_some());
    stage.delete::<Deployment>("mlflow").await;
    let made = stage.until("the Deployment is gone and made again", async || {
        let found = stage.get::<Deployment>("mlflow").await?;
        (at(&found, "spec.selector.matchLabels.app") == "mlflow").then_some(())
    });
    made.await;
}
