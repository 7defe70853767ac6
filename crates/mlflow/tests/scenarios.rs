//! The specification's acceptance scenarios, through the API: one test each, named after its number. Those that are about
//! the objects alone are in `rendered.rs` and `desired.rs`, those about what the API server refuses in `admission.rs`.

mod support;

use k8s_openapi::api::{
    apps::v1::Deployment,
    batch::v1::CronJob,
    core::v1::{ConfigMap, PersistentVolumeClaim, Service, ServiceAccount},
    networking::v1::NetworkPolicy,
};
use plane::faults::{Effect, Fault};
use quintet_api::foreign::{gateway::HTTPRoute, monitoring::ServiceMonitor};
use quintet_kit::{System, run::Observed};
use quintet_mlflow::Mlflow;
use serde_json::{Value, json};
use std::time::Duration;
use support::stage::{NAMESPACE, OPENSHIFT, PLAIN, Serves, Stage, install};
use support::{Objects, at, base, container, env, pod};

fn with(more: Value) -> Value {
    let mut spec = base();
    more.as_object().expect("an object").iter().for_each(|(k, v)| spec[k] = v.clone());
    spec
}

fn condition(status: &str, reason: &str, message: &str) -> Option<(String, String, String)> {
    Some((status.into(), reason.into(), message.into()))
}

const READY: (&str, &str, &str) = ("True", "DeploymentReady", "MLflow deployment is ready and available");
const COMPLETE: (&str, &str, &str) =
    ("False", "ReconcileComplete", "MLflow reconciliation completed successfully");

/// True if everything that `wanted` says is so in `live`, whatever else there is.
fn covers(live: &Value, wanted: &Value) -> bool {
    match (live, wanted) {
        (Value::Object(live), Value::Object(wanted)) => {
            wanted.iter().all(|(name, wanted)| live.get(name).is_some_and(|live| covers(live, wanted)))
        }
        (Value::Array(live), Value::Array(wanted)) => {
            live.len() == wanted.len() && live.iter().zip(wanted).all(|(live, wanted)| covers(live, wanted))
        }
        _ => live == wanted,
    }
}

/// The stored objects are just the desired ones, defaults of the server aside.
fn assert_applied(stored: &Objects, wanted: &Objects) {
    assert_eq!(stored.keys().collect::<Vec<_>>(), wanted.keys().collect::<Vec<_>>());
    for (id, wanted) in wanted {
        assert!(
            covers(&stored[id], wanted),
            "{id}:\n{}",
            support::difference(
                &[(id.clone(), wanted.clone())].into(),
                &[(id.clone(), stored[id].clone())].into(),
            )
        );
    }
}

/// Creates the resource of a worked case; what is stored must equal the case, and what rendering it without a cluster
/// gives.
async fn assert_case(case: &str, serves: Serves, variables: &[(&str, &str)], config_maps: &[&str]) -> Stage {
    let stage = Stage::new(serves, variables).await;
    for name in config_maps {
        stage.put(json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name } })).await;
    }
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/cases/{case}.cr.yaml"));
    let resource: Value =
        serde_saphyr::from_str(&std::fs::read_to_string(path).expect("the case")).expect("YAML");
    stage.create(resource["spec"].clone()).await;
    assert_rendered(&stage, variables).await;
    let mark = stage.plane.requests().mark();
    tokio::time::sleep(Duration::from_secs(300)).await;
    assert_eq!(stage.writes(mark), Vec::<String>::new(), "at rest nothing is written");
    stage
}

/// What is stored is what rendering the stored resource, with all else that is stored, gives.
async fn assert_rendered(stage: &Stage, variables: &[(&str, &str)]) {
    let system = Mlflow::new(support::config(variables));
    let observed = Observed::new(stage.everything().await);
    let mlflow = stage.dynamic().await;
    let rendered = system.render(&mlflow, &observed).expect("it can be rendered");
    let mut rendered: Objects = rendered.to_values().into_iter().map(|o| (support::id(&o), o)).collect();
    rendered.values_mut().for_each(support::shorten);
    assert_applied(&stage.owned().await, &rendered);
}

#[tokio::test(start_paused = true)]
async fn scenario_01_the_base_resource_becomes_six_objects() {
    let stage = assert_case("minimal", PLAIN, &[], &[]).await;
    assert_eq!(stage.owned().await.len(), 6);
}

#[tokio::test(start_paused = true)]
async fn scenario_02_local_storage_is_recreated_not_rolled() {
    let serves = Serves { service_monitor: true, ..PLAIN };
    let stage = assert_case("local-sqlite", serves, &[], &[]).await;
    let deployment = stage.get::<Deployment>("mlflow").await.unwrap();
    assert_eq!(at(&deployment, "spec.strategy"), &json!({ "type": "Recreate" }));
}

#[tokio::test(start_paused = true)]
async fn scenario_03_remote_stores_on_openshift() {
    let stage =
        assert_case("remote-openshift", OPENSHIFT, &[("MLFLOW_URL", "https://gateway.example.com")], &[])
            .await;
    assert!(stage.get::<PersistentVolumeClaim>("mlflow-pvc").await.is_none());
    stage.ready(2).await;
    assert_eq!(stage.status().await["url"], "https://gateway.example.com/mlflow");
    assert_eq!(at(&stage.status().await, "address.url"), "https://mlflow.opendatahub.svc:8443");
}

#[tokio::test(start_paused = true)]
async fn scenario_04_every_option() {
    let url = [("MLFLOW_URL", "https://gateway.example.com:9443/base")];
    assert_case("every-option-openshift", OPENSHIFT, &url, &["odh-trusted-ca-bundle", "my-ca-bundle"]).await;
}

#[tokio::test(start_paused = true)]
async fn scenario_05_a_server_that_is_not_ready_says_how_far_it_is() {
    let stage = Stage::plain().await;
    stage.create(base()).await;
    let status = stage.status().await;
    assert_eq!(at(&status, "address.url"), "https://mlflow.opendatahub.svc:8443");
    assert!(status.get("url").is_none());
    let message = "MLflow deployment not ready: 0/1 replicas ready";
    assert_eq!(stage.condition("Available").await, condition("False", "DeploymentNotReady", message));
    assert_eq!(stage.condition("Progressing").await, None);
}

#[tokio::test(start_paused = true)]
async fn scenario_06_a_ready_server_is_available() {
    let stage = Stage::plain().await;
    stage.create(base()).await;
    stage.ready(1).await;
    assert_eq!(stage.condition("Available").await, condition(READY.0, READY.1, READY.2));
    assert_eq!(stage.condition("Progressing").await, condition(COMPLETE.0, COMPLETE.1, COMPLETE.2));
}

#[tokio::test(start_paused = true)]
async fn scenario_07_a_server_that_fails_later_is_not_available_but_still_complete() {
    let stage = Stage::plain().await;
    stage.create(base()).await;
    stage.ready(1).await;
    stage.ready(0).await;
    let message = "MLflow deployment not ready: 0/1 replicas ready";
    assert_eq!(stage.condition("Available").await, condition("False", "DeploymentNotReady", message));
    assert_eq!(stage.condition("Progressing").await, condition(COMPLETE.0, COMPLETE.1, COMPLETE.2));
}

#[tokio::test(start_paused = true)]
async fn a_deployment_scaled_to_zero_says_so_until_it_is_scaled_back() {
    let stage = Stage::plain().await;
    stage.create(base()).await;
    // The operator scales it back at once; what it reports in between is tested without a server.
    stage.edit::<Deployment>("mlflow", json!({ "spec": { "replicas": 0 } })).await;
    assert_eq!(at(&stage.get::<Deployment>("mlflow").await.unwrap(), "spec.replicas"), 1);
}

#[tokio::test(start_paused = true)]
async fn scenario_08_the_route_gives_the_url() {
    let serves = Serves { http_route: true, ..PLAIN };
    let stage = Stage::new(serves, &[("MLFLOW_URL", "https://gw.test")]).await;
    stage.create(base()).await;
    let route = stage.get::<HTTPRoute>("mlflow").await.unwrap();
    let prefixes: Vec<&Value> =
        at(&route, "spec.rules").as_array().unwrap().iter().map(|r| at(r, "matches.0.path.value")).collect();
    assert_eq!(prefixes, ["/mlflow/api", "/mlflow/v1", "/mlflow"]);
    assert_eq!(stage.status().await["url"], "https://gw.test/mlflow");
}

#[tokio::test(start_paused = true)]
async fn scenario_09_without_a_configured_url_there_is_a_route_but_no_url() {
    let stage = Stage::new(Serves { http_route: true, ..PLAIN }, &[]).await;
    stage.create(base()).await;
    assert!(stage.get::<HTTPRoute>("mlflow").await.is_some());
    assert!(stage.status().await.get("url").is_none());
}

#[tokio::test(start_paused = true)]
async fn scenario_10_without_the_route_api_there_is_no_url() {
    let stage = Stage::new(PLAIN, &[("MLFLOW_URL", "https://gw.test")]).await;
    stage.create(base()).await;
    assert!(stage.status().await.get("url").is_none());
}

#[tokio::test(start_paused = true)]
async fn an_api_that_is_installed_later_is_picked_up() {
    let stage = Stage::new(PLAIN, &[("MLFLOW_URL", "https://gw.test")]).await;
    stage.create(base()).await;
    install(&stage.admin, quintet_api::crd::of::<HTTPRoute>()).await;
    install(&stage.admin, quintet_api::crd::of::<ServiceMonitor>()).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(stage.get::<HTTPRoute>("mlflow").await.is_some());
    assert!(stage.get::<ServiceMonitor>("mlflow-metrics-monitor").await.is_some());
    assert_eq!(stage.status().await["url"], "https://gw.test/mlflow");
}

#[tokio::test(start_paused = true)]
async fn a_route_that_the_gateway_refuses_is_a_condition() {
    let stage = Stage::new(Serves { http_route: true, ..PLAIN }, &[("MLFLOW_URL", "https://gw.test")]).await;
    stage.create(base()).await;
    assert_eq!(stage.condition("RouteAccepted").await, None);
    let said = |type_: &str, status: &str, reason: &str| {
        json!({ "type": type_, "status": status, "reason": reason, "message": "no such gateway",
            "lastTransitionTime": "2026-01-01T00:00:00Z" })
    };
    let parent = |conditions: Value| json!({ "parents": [{ "parentRef": { "name": "g" }, "controllerName": "c", "conditions": conditions }] });
    let routes: kube::Api<HTTPRoute> = kube::Api::namespaced(stage.admin.clone(), NAMESPACE);
    for (conditions, expected) in [
        (json!([said("Accepted", "False", "NoMatchingParent")]), "False"),
        (json!([said("Accepted", "True", "Accepted"), said("ResolvedRefs", "True", "ResolvedRefs")]), "True"),
        (
            json!([said("Accepted", "True", "Accepted"), said("ResolvedRefs", "False", "BackendNotFound")]),
            "False",
        ),
    ] {
        let patch = kube::api::Patch::Merge(json!({ "status": parent(conditions) }));
        routes.patch_status("mlflow", &Default::default(), &patch).await.unwrap();
        stage.settle().await;
        assert_eq!(stage.condition("RouteAccepted").await.unwrap().0, expected);
        assert_eq!(stage.status().await["url"], "https://gw.test/mlflow", "the URL stays");
    }
}

#[tokio::test(start_paused = true)]
async fn scenario_14_replicas_that_somebody_changed_are_set_back() {
    let stage = Stage::plain().await;
    stage.create(with(json!({ "replicas": 3 }))).await;
    stage.edit::<Deployment>("mlflow", json!({ "spec": { "replicas": 5 } })).await;
    assert_eq!(at(&stage.get::<Deployment>("mlflow").await.unwrap(), "spec.replicas"), 3);
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
    let api: kube::Api<Deployment> = kube::Api::namespaced(stage.admin.clone(), NAMESPACE);
    let mut deployment = api.get("mlflow").await.unwrap();
    let containers = &mut deployment.spec.as_mut().unwrap().template.spec.as_mut().unwrap().containers;
    containers[0].ports.as_mut().unwrap()[0].container_port = 9999;
    api.replace("mlflow", &Default::default(), &deployment).await.unwrap();
    stage.settle().await;
    let stored = stage.get::<Deployment>("mlflow").await.unwrap();
    let ports = container(&stored, "mlflow")["ports"].as_array().unwrap().clone();
    assert_eq!((ports.len(), &ports[0]["containerPort"]), (1, &json!(8443)));
}

#[tokio::test(start_paused = true)]
async fn kinds_that_the_original_does_not_watch_are_mended_too() {
    let stage = Stage::plain().await;
    stage.create(with(json!({ "garbageCollection": { "schedule": "@daily" } }))).await;
    stage.delete::<NetworkPolicy>("mlflow").await;
    stage.delete::<ServiceAccount>("mlflow-gc-sa").await;
    assert!(stage.get::<NetworkPolicy>("mlflow").await.is_some());
    assert!(stage.get::<ServiceAccount>("mlflow-gc-sa").await.is_some());
}

#[tokio::test(start_paused = true)]
async fn scenario_19_a_missing_bundle_holds_everything_back_until_it_is_there() {
    let stage = Stage::plain().await;
    stage.create(with(json!({ "caBundleConfigMap": { "name": "ca-x" } }))).await;
    assert!(stage.owned().await.is_empty());
    let message = r#"CA bundle ConfigMap "ca-x" not found in namespace "opendatahub""#;
    assert_eq!(stage.condition("Available").await, condition("False", "CABundleConfigMapError", message));
    assert_eq!(stage.condition("Progressing").await, None);
    assert_eq!(at(&stage.status().await, "address.url"), "https://mlflow.opendatahub.svc:8443");
    assert_eq!(stage.events().await, [("CABundleConfigMapError".to_owned(), message.to_owned())]);

    stage.put(json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "ca-x" } })).await;
    let deployment = stage.get::<Deployment>("mlflow").await.expect("made as soon as the bundle is there");
    let volume = json!({ "name": "ca-bundle-0", "configMap": { "name": "ca-x", "optional": true } });
    assert!(pod(&deployment)["spec"]["volumes"].as_array().unwrap().iter().any(|v| covers(v, &volume)));

    stage.delete::<ConfigMap>("ca-x").await;
    assert_eq!(stage.condition("Available").await, condition("False", "CABundleConfigMapError", message));
    assert!(stage.get::<Deployment>("mlflow").await.is_some(), "what runs goes on");
}

#[tokio::test(start_paused = true)]
async fn scenario_20_the_platforms_bundle_comes_and_goes() {
    let stage = Stage::plain().await;
    stage.create(base()).await;
    stage.ready(1).await;
    let before = pod(&stage.get::<Deployment>("mlflow").await.unwrap()).clone();
    let bundle =
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "odh-trusted-ca-bundle" } });
    stage.put(bundle).await;
    let with_bundle = stage.get::<Deployment>("mlflow").await.unwrap();
    assert!(!container(&with_bundle, "combine-ca-bundles").is_null());
    assert!(!container(&with_bundle, "ca-bundle-watcher").is_null());
    let server = container(&with_bundle, "mlflow");
    for name in ["SSL_CERT_FILE", "PGSSLMODE", "MLFLOW_S3_IGNORE_TLS"] {
        assert_eq!(env(server, name).len(), 1, "{name}");
    }
    stage.delete::<ConfigMap>("odh-trusted-ca-bundle").await;
    assert_eq!(*pod(&stage.get::<Deployment>("mlflow").await.unwrap()), before);
}

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
async fn garbage_collection_of_somebody_else_is_not_deleted() {
    let stage = Stage::plain().await;
    let account = json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": "mlflow-gc-sa", "labels": { "app": "mlflow-gc" } } });
    stage.put(account).await;
    stage.create(base()).await;
    assert!(stage.get::<ServiceAccount>("mlflow-gc-sa").await.is_some());
}

#[tokio::test(start_paused = true)]
async fn an_account_called_like_the_jobs_does_not_loop() {
    let stage = Stage::plain().await;
    stage.create(with(json!({ "serviceAccountName": "mlflow-gc-sa" }))).await;
    let mark = stage.plane.requests().mark();
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(stage.writes(mark), Vec::<String>::new());
    assert!(stage.get::<ServiceAccount>("mlflow-gc-sa").await.is_some());
}

#[tokio::test(start_paused = true)]
async fn scenario_23_a_schedule_that_the_server_refuses_does_not_hold_the_server_back() {
    let stage = Stage::plain().await;
    refuse(&stage, "cronjobs");
    stage.create(with(json!({ "garbageCollection": { "schedule": "nonsense" } }))).await;
    let (status, reason, message) = stage.condition("Available").await.unwrap();
    assert_eq!((status.as_str(), reason.as_str()), ("False", "ApplyFailed"));
    assert!(message.starts_with("Failed to apply CronJob/mlflow-gc: "), "{message}");
    let (status, reason, message) = stage.condition("Progressing").await.unwrap();
    assert_eq!((status.as_str(), reason.as_str()), ("False", "ApplyFailed"));
    assert!(message.starts_with("Failed to apply resources: "), "{message}");
    assert!(stage.get::<Deployment>("mlflow").await.is_some());
    assert!(stage.get::<CronJob>("mlflow-gc").await.is_none());
}

/// The API refuses every write of a kind.
fn refuse(stage: &Stage, resource: &'static str) {
    let refusal = plane::status::Error::new(422, "Invalid", "no");
    let fault = Fault::new(Effect::Refuse(refusal)).on(move |r| r.is_write() && r.resource == resource);
    stage.plane.faults().add(fault);
}

#[tokio::test(start_paused = true)]
async fn a_link_that_cannot_be_written_leaves_the_url_as_it_was() {
    let stage = Stage::new(OPENSHIFT, &[("MLFLOW_URL", "https://gw.test")]).await;
    refuse(&stage, "consolelinks");
    stage.create(base()).await;
    let message = "Failed to reconcile ConsoleLink: no";
    assert_eq!(stage.condition("Available").await, condition("False", "ConsoleLinkFailed", message));
    assert_eq!(stage.condition("Progressing").await, None);
    assert!(stage.status().await.get("url").is_none());
}

#[tokio::test(start_paused = true)]
async fn scenario_24_a_selector_that_is_none_is_reported_and_not_tried_again() {
    let stage = Stage::plain().await;
    let selector = json!({ "matchExpressions": [{ "key": "a", "operator": "InvalidOp" }] });
    stage.create(with(json!({ "workspaceLabelSelector": selector }))).await;
    let text = r#"invalid workspaceLabelSelector: "InvalidOp" is not a valid label selector operator"#;
    for type_ in ["Available", "Progressing"] {
        let (status, reason, message) = stage.condition(type_).await.unwrap();
        assert_eq!((status.as_str(), reason.as_str()), ("False", "RenderFailed"));
        assert!(message.starts_with("Failed to render Helm chart: ") && message.contains(text), "{message}");
    }
    assert!(stage.owned().await.is_empty());
    stage.patch(json!({ "workspaceLabelSelector": null })).await;
    assert!(stage.get::<Deployment>("mlflow").await.is_some());
}

#[tokio::test(start_paused = true)]
async fn scenario_32_a_deleted_resource_is_written_for_no_more() {
    let stage = Stage::plain().await;
    let mlflow =
        stage.create(with(json!({ "garbageCollection": { "schedule": "@daily" }, "storage": {} }))).await;
    assert!(mlflow.metadata.finalizers.is_none());
    let uid = mlflow.metadata.uid.unwrap();
    let owned = stage.owned().await;
    assert_eq!(owned.len(), 11);
    for (id, object) in &owned {
        let owners = at(object, "metadata.ownerReferences").as_array().unwrap();
        assert!(owners.iter().any(|owner| owner["uid"] == uid.as_str()), "{id}");
    }
    let mark = stage.plane.requests().mark();
    kube::Api::<quintet_api::mlflow::MLflow>::all(stage.admin.clone())
        .delete("mlflow", &Default::default())
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(stage.writes(mark), ["delete mlflows/mlflow"]);
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_exists_is_used_and_never_touched() {
    let stage = Stage::plain().await;
    let claim = json!({ "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": { "name": "mlflow-pvc" },
        "spec": { "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } } });
    stage.put(claim).await;
    stage.create(with(json!({ "storage": { "resources": { "requests": { "storage": "9Gi" } } } }))).await;
    let claim = stage.get::<PersistentVolumeClaim>("mlflow-pvc").await.unwrap();
    assert_eq!(at(&claim, "spec.resources.requests.storage"), "1Gi");
    assert!(claim["metadata"].get("ownerReferences").is_none());
}

#[tokio::test(start_paused = true)]
async fn a_claim_stays_when_storage_is_removed_and_a_lost_one_is_made_again() {
    let stage = Stage::plain().await;
    stage.create(with(json!({ "storage": {} }))).await;
    stage.delete::<PersistentVolumeClaim>("mlflow-pvc").await;
    assert!(stage.get::<PersistentVolumeClaim>("mlflow-pvc").await.is_some(), "made again");
    stage.patch(json!({ "storage": null })).await;
    assert!(stage.get::<PersistentVolumeClaim>("mlflow-pvc").await.is_some(), "data stays");
    assert_eq!(at(&stage.get::<Deployment>("mlflow").await.unwrap(), "spec.strategy.type"), "RollingUpdate");
}

#[tokio::test(start_paused = true)]
async fn the_old_account_stays_when_the_name_changes() {
    let stage = Stage::plain().await;
    stage.create(base()).await;
    stage.patch(json!({ "serviceAccountName": "other" })).await;
    assert!(stage.get::<ServiceAccount>("mlflow-sa").await.is_some());
    assert!(stage.get::<ServiceAccount>("other").await.is_some());
}

#[tokio::test(start_paused = true)]
async fn an_account_of_another_controller_is_left_alone_and_named() {
    let stage = Stage::plain().await;
    stage.put(json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "theirs" } })).await;
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
async fn what_the_conditions_do_not_say_is_an_event_once() {
    let stage = Stage::plain().await;
    stage.create(with(json!({ "podLabels": { "app": "x" } }))).await;
    tokio::time::sleep(Duration::from_secs(600)).await;
    let reasons: Vec<String> = stage.events().await.into_iter().map(|(reason, _)| reason).collect();
    assert_eq!(reasons, ["PodLabelIgnored", "SecretMissing"]);
}
