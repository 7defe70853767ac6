//! What a resource becomes: the worked cases, and each option.

use k8s_openapi::api::{
    apps::v1::Deployment, batch::v1::CronJob, core::v1::PersistentVolumeClaim, networking::v1::NetworkPolicy,
};
use serde_json::{Value, json};

use crate::support::{
    assert_hold, at, base, case, container, env, holds, pod,
    server::{OPENSHIFT, PLAIN, Serves},
    spec,
    stage::Stage,
};

/// Creates the resource of a worked case; what is stored must be the case's objects, and stay as it is.
async fn assert_case(name: &str, serves: Serves, variables: &[(&str, &str)], config_maps: &[&str]) -> Stage {
    let stage = Stage::new(serves, variables).await;
    for name in config_maps {
        stage.put_config_map(name).await;
    }
    stage.create(case::resource(name)["spec"].clone()).await;
    let uid = stage.mlflow().await.metadata.uid.unwrap();
    let (stored, expected) = (stage.owned().await, case::objects(name, &uid));
    assert_hold(&stored, &expected);
    stage.assert_at_rest().await;
    stage
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
    let url = [("MLFLOW_URL", "https://gateway.example.com")];
    let stage = assert_case("remote-openshift", OPENSHIFT, &url, &[]).await;
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
async fn scenario_13_every_container_has_the_image_and_its_policy() {
    let stage = Stage::new(PLAIN, &[("MLFLOW_IMAGE", "reg.test/mlflow:1")]).await;
    stage.put_config_map("odh-trusted-ca-bundle").await;
    stage.create(spec(json!({ "garbageCollection": { "schedule": "0 2 * * 0" } }))).await;
    let images = async || -> Vec<(Value, Value)> {
        let (server, job) =
            (stage.get::<Deployment>("mlflow").await, stage.get::<CronJob>("mlflow-gc").await);
        let pods = [server.unwrap(), job.unwrap()].map(|object| pod(&object)["spec"].clone());
        let lists = pods.iter().flat_map(|pod| [&pod["initContainers"], &pod["containers"]]);
        let containers = lists.flat_map(|list| list.as_array().unwrap().clone());
        containers.map(|c| (c["image"].clone(), c["imagePullPolicy"].clone())).collect()
    };
    // The server fills in a policy by the image's tag where we leave it out.
    assert_eq!(images().await, vec![(json!("reg.test/mlflow:1"), json!("IfNotPresent")); 5]);
    stage.patch(json!({ "image": { "image": "reg.test/other:2", "imagePullPolicy": "Never" } })).await;
    assert_eq!(images().await, vec![(json!("reg.test/other:2"), json!("Never")); 5]);
}

#[tokio::test(start_paused = true)]
async fn scenario_16_one_limit_leaves_the_other_defaults() {
    let stage = Stage::plain().await;
    stage.create(spec(json!({ "resources": { "limits": { "memory": "6Gi" } } }))).await;
    let resources =
        json!({ "requests": { "cpu": "1", "memory": "2Gi" }, "limits": { "cpu": "4", "memory": "6Gi" } });
    assert_eq!(server(&stage).await["resources"], resources);
    // A request above a limit that nobody asked for: the API server would refuse the two together.
    stage.patch(json!({ "resources": { "limits": null, "requests": { "memory": "8Gi" } } })).await;
    let resources = json!({ "requests": { "cpu": "1", "memory": "8Gi" }, "limits": { "cpu": "4" } });
    assert_eq!(server(&stage).await["resources"], resources);
}

#[tokio::test(start_paused = true)]
async fn scenario_17_a_backend_from_a_secret_serves_the_registry_too() {
    let stage = Stage::plain().await;
    let secret = json!({ "backendStoreUri": null, "backendStoreUriFrom": { "name": "db", "key": "uri" } });
    stage.create(spec(secret)).await;
    let server = server(&stage).await;
    for name in ["MLFLOW_BACKEND_STORE_URI", "MLFLOW_REGISTRY_STORE_URI"] {
        let key = json!({ "secretKeyRef": { "name": "db", "key": "uri" } });
        assert_eq!(env(&server, name), [&json!({ "name": name, "valueFrom": key })]);
    }
}

#[tokio::test(start_paused = true)]
async fn scenario_18_a_stored_resource_without_backend_uses_sqlite() {
    let stage = Stage::plain().await;
    stage.create_before_the_rules(spec(json!({ "backendStoreUri": null }))).await;
    let server = server(&stage).await;
    for name in ["MLFLOW_BACKEND_STORE_URI", "MLFLOW_REGISTRY_STORE_URI"] {
        assert_eq!(env(&server, name), [&json!({ "name": name, "value": "sqlite:////mlflow/mlflow.db" })]);
    }
    let reasons: Vec<String> = stage.events().await.into_iter().map(|(reason, _)| reason).collect();
    assert_eq!(reasons, ["SecretMissing", "StorageMissing"], "there is nowhere to keep that file");
}

#[tokio::test(start_paused = true)]
async fn scenario_25_the_workspace_selector_reaches_server_and_job() {
    let stage = Stage::plain().await;
    let selector = json!({
        "matchLabels": { "team": "a", "mlflow-enabled": "true" },
        "matchExpressions": [{ "key": "environment", "operator": "In", "values": ["prod", "staging"] }],
    });
    stage
        .create(spec(
            json!({ "workspaceLabelSelector": selector, "garbageCollection": { "schedule": "@daily" } }),
        ))
        .await;
    let name = "MLFLOW_K8S_WORKSPACE_LABEL_SELECTOR";
    let entry = json!({ "name": name, "value": "environment in (prod,staging),mlflow-enabled=true,team=a" });
    assert_eq!(env(&server(&stage).await, name), [&entry]);
    let job = stage.get::<CronJob>("mlflow-gc").await.unwrap();
    assert_eq!(env(container(&job, "mlflow-gc"), name), [&entry]);
}

#[tokio::test(start_paused = true)]
async fn scenario_27_added_egress_comes_last() {
    let stage = Stage::plain().await;
    let rule = json!({ "ports": [{ "protocol": "TCP", "port": 15432 }] });
    stage.create(spec(json!({ "networkPolicyAdditionalEgressRules": [rule] }))).await;
    let policy = stage.get::<NetworkPolicy>("mlflow").await.unwrap();
    let egress = at(&policy, "spec.egress").as_array().unwrap();
    assert_eq!((egress.len(), &egress[5]), (6, &rule));
}

#[tokio::test(start_paused = true)]
async fn scenario_28_the_job_runs_where_and_as_whom_the_server_does_without_its_labels() {
    let stage = Stage::plain().await;
    let both = json!({
        "nodeSelector": { "disk": "ssd" },
        "tolerations": [{ "key": "dedicated", "operator": "Exists" }],
        "affinity": { "nodeAffinity": {} },
    });
    stage
        .create(spec(json!({
            "nodeSelector": both["nodeSelector"], "tolerations": both["tolerations"], "affinity": both["affinity"],
            "podSecurityContext": { "fsGroup": 2000 }, "securityContext": { "runAsUser": 7 },
            "podLabels": { "team": "x" }, "podAnnotations": { "note": "y" },
            "garbageCollection": { "schedule": "@daily" },
        })))
        .await;
    let (server, job) = (stage.get::<Deployment>("mlflow").await, stage.get::<CronJob>("mlflow-gc").await);
    let (server, job) = (server.unwrap(), job.unwrap());
    for (object, name) in [(&server, "mlflow"), (&job, "mlflow-gc")] {
        let pod = &pod(object)["spec"];
        assert!(holds(pod, &both), "{pod}");
        assert_eq!(pod["securityContext"], json!({ "fsGroup": 2000 }));
        assert_eq!(container(object, name)["securityContext"], json!({ "runAsUser": 7 }));
    }
    assert_eq!(at(pod(&server), "metadata.labels.team"), "x");
    assert_eq!(at(pod(&server), "metadata.annotations.note"), "y");
    assert_eq!(at(pod(&job), "metadata.labels"), &json!({ "app": "mlflow-gc", "component": "mlflow" }));
    assert!(at(pod(&job), "metadata.annotations").is_null());
}

#[tokio::test(start_paused = true)]
async fn scenario_29_empty_storage_asks_for_the_defaults() {
    let stage = Stage::plain().await;
    stage.create(spec(json!({ "storage": {} }))).await;
    let claim = stage.get::<PersistentVolumeClaim>("mlflow-pvc").await.unwrap();
    assert_eq!(at(&claim, "spec.resources.requests"), &json!({ "storage": "2Gi" }));
    assert_eq!(at(&claim, "spec.accessModes"), &json!(["ReadWriteOnce"]));
    assert!(at(&claim, "spec.storageClassName").is_null());
}

#[tokio::test(start_paused = true)]
async fn scenario_33_a_users_variable_replaces_the_operators_in_its_place() {
    let stage = Stage::plain().await;
    let ours = json!({ "name": "MLFLOW_DISABLE_TELEMETRY", "value": "false" });
    let twice = [json!({ "name": "A", "value": "1" }), json!({ "name": "A", "value": "2" })];
    stage.create(spec(json!({ "env": [ours, twice[0], twice[1]] }))).await;
    let server = server(&stage).await;
    assert_eq!(server["env"][0], ours);
    assert_eq!(env(&server, "MLFLOW_DISABLE_TELEMETRY"), [&ours]);
    assert_eq!(env(&server, "A"), [&twice[1]], "of two the last counts");
}

#[tokio::test(start_paused = true)]
async fn scenario_34_the_selectors_label_is_not_the_users_to_change() {
    let stage = Stage::plain().await;
    stage.create(spec(json!({ "podLabels": { "app": "x", "team": "y" } }))).await;
    let deployment = stage.get::<Deployment>("mlflow").await.unwrap();
    let labels = json!({ "app": "mlflow", "component": "mlflow", "team": "y" });
    assert_eq!(at(pod(&deployment), "metadata.labels"), &labels);
}

#[tokio::test(start_paused = true)]
async fn storage_that_is_added_later_turns_rolling_into_recreating_and_back() {
    let stage = Stage::plain().await;
    stage.create(base()).await;
    let strategy = async || at(&stage.get::<Deployment>("mlflow").await.unwrap(), "spec.strategy").clone();
    let rolling = json!({ "type": "RollingUpdate", "rollingUpdate": { "maxSurge": 1, "maxUnavailable": 0 } });
    assert_eq!(strategy().await, rolling);
    stage.patch(json!({ "storage": {} })).await;
    assert_eq!(strategy().await, json!({ "type": "Recreate" }));
    stage.patch(json!({ "storage": null })).await;
    assert_eq!(strategy().await, rolling);
}

async fn server(stage: &Stage) -> Value {
    container(&stage.get::<Deployment>("mlflow").await.unwrap(), "mlflow").clone()
}
