//! CA bundles that come, go and cannot be read.

use k8s_openapi::api::{apps::v1::Deployment, batch::v1::CronJob, core::v1::ConfigMap};
use serde_json::json;

use crate::{
    condition,
    support::{
        at, base, container, env, holds, pod,
        server::{PLAIN, Serves},
        spec,
        stage::Stage,
    },
};

const EIGHT: [&str; 8] = [
    "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "AWS_CA_BUNDLE",
    "PGSSLROOTCERT",
    "PGSSLMODE",
    "MLFLOW_MYSQL_CA",
    "MLFLOW_S3_IGNORE_TLS",
];

#[tokio::test(start_paused = true)]
async fn scenario_19_a_missing_bundle_holds_everything_back_until_it_is_there() {
    let stage = Stage::plain().await;
    stage.create(spec(json!({ "caBundleConfigMap": { "name": "ca-x" } }))).await;
    assert!(stage.owned().await.is_empty());
    let message = r#"CA bundle ConfigMap "ca-x" not found in namespace "opendatahub""#;
    assert_eq!(stage.condition("Available").await, condition("False", "CABundleConfigMapError", message));
    assert_eq!(stage.condition("Progressing").await, None);
    assert_eq!(at(&stage.status().await, "address.url"), "https://mlflow.opendatahub.svc:8443");
    assert_eq!(stage.events().await, [("CABundleConfigMapError".to_owned(), message.to_owned())]);

    stage.put_config_map("ca-x").await;
    let deployment = stage.get::<Deployment>("mlflow").await.expect("made as soon as the bundle is there");
    let volume = json!({ "name": "ca-bundle-0", "configMap": { "name": "ca-x", "optional": true } });
    assert!(pod(&deployment)["spec"]["volumes"].as_array().unwrap().iter().any(|v| holds(v, &volume)));
    let mount = json!({ "name": "ca-bundle-0", "mountPath": "/etc/pki/tls/certs/custom", "readOnly": true });
    let mounts = &container(&deployment, "combine-ca-bundles")["volumeMounts"];
    assert!(mounts.as_array().unwrap().contains(&mount), "{mounts}");

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
    stage.put_config_map("odh-trusted-ca-bundle").await;
    let with_bundle = stage.get::<Deployment>("mlflow").await.unwrap();
    assert!(!container(&with_bundle, "combine-ca-bundles").is_null());
    assert!(!container(&with_bundle, "ca-bundle-watcher").is_null());
    for name in EIGHT {
        assert_eq!(env(container(&with_bundle, "mlflow"), name).len(), 1, "{name}");
    }
    stage.delete::<ConfigMap>("odh-trusted-ca-bundle").await;
    assert_eq!(*pod(&stage.get::<Deployment>("mlflow").await.unwrap()), before);
}

#[tokio::test(start_paused = true)]
async fn what_a_bundle_holds_does_not_roll_the_pods() {
    let stage = Stage::plain().await;
    stage.put_config_map("odh-trusted-ca-bundle").await;
    stage.create(base()).await;
    let generation =
        async || at(&stage.get::<Deployment>("mlflow").await.unwrap(), "metadata.generation").clone();
    let before = generation().await;
    stage.edit::<ConfigMap>("odh-trusted-ca-bundle", json!({ "data": { "ca-bundle.crt": "x" } })).await;
    assert_eq!(generation().await, before);
}

#[tokio::test(start_paused = true)]
async fn the_platforms_bundle_comes_before_the_resources_own() {
    let stage = Stage::plain().await;
    stage.put_config_map("odh-trusted-ca-bundle").await;
    stage.put_config_map("mine").await;
    let gc = json!({ "schedule": "@daily" });
    stage.create(spec(json!({ "caBundleConfigMap": { "name": "mine" }, "garbageCollection": gc }))).await;
    let (server, job) = (stage.get::<Deployment>("mlflow").await, stage.get::<CronJob>("mlflow-gc").await);
    for object in [server.unwrap(), job.unwrap()] {
        let paths =
            env(container(&object, "combine-ca-bundles"), "CA_BUNDLE_MOUNT_PATHS")[0]["value"].clone();
        assert_eq!(paths, "/etc/pki/tls/certs/platform /etc/pki/tls/certs/custom");
    }
    let job = stage.get::<CronJob>("mlflow-gc").await.unwrap();
    assert!(EIGHT.iter().all(|name| env(container(&job, "mlflow-gc"), name).len() == 1));
    assert!(container(&job, "ca-bundle-watcher").is_null(), "a job ends before anything changes");
}

#[tokio::test(start_paused = true)]
async fn a_bundle_that_cannot_be_read_is_reported_and_nothing_applied() {
    let stage = Stage::plain().await;
    stage.fail_reads("configmaps", "ca-x");
    stage.create(spec(json!({ "caBundleConfigMap": { "name": "ca-x" } }))).await;
    let (status, reason, message) = stage.condition("Available").await.unwrap();
    assert_eq!((status.as_str(), reason.as_str()), ("False", "CABundleConfigMapError"));
    assert!(message.starts_with(r#"Failed to get CA bundle ConfigMap "ca-x": "#), "{message}");
    assert!(stage.owned().await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn the_platforms_bundle_that_cannot_be_read_is_reported_and_the_url_kept() {
    let stage = Stage::new(Serves { http_route: true, ..PLAIN }, &[("MLFLOW_URL", "https://gw.test")]).await;
    stage.fail_reads("configmaps", "odh-trusted-ca-bundle");
    stage.create(base()).await;
    let (status, reason, message) = stage.condition("Available").await.unwrap();
    assert_eq!((status.as_str(), reason.as_str()), ("False", "PlatformCABundleError"));
    let text = r#"Failed to check for platform CA bundle ConfigMap "odh-trusted-ca-bundle": "#;
    assert!(message.starts_with(text), "{message}");
    assert_eq!(stage.condition("Progressing").await, None);
    assert!(stage.owned().await.is_empty());
    stage.edge.relent();
    stage.until("tried again", async || stage.get::<Deployment>("mlflow").await).await;
    stage.settle().await;
    assert_eq!(stage.status().await["url"], "https://gw.test/mlflow");
    // A bundle that goes missing later is no reason to take the address away.
    stage.patch(json!({ "caBundleConfigMap": { "name": "missing" } })).await;
    assert_eq!(stage.condition("Available").await.unwrap().1, "CABundleConfigMapError");
    assert_eq!(stage.status().await["url"], "https://gw.test/mlflow");
}
