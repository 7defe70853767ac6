//! Databases: those that the operator runs, and those of others.

use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{PersistentVolumeClaim, Secret, Service},
    networking::v1::NetworkPolicy,
};
use serde_json::{Value, json};

use super::support::{args, at, stage::Stage};

#[tokio::test(start_paused = true)]
async fn scenario_14_auto_provisioned_database() {
    let stage = Stage::plain().await;
    stage.create(json!({ "rest": {}, "postgres": { "generateDeployment": true } })).await;
    let claim = stage.get::<PersistentVolumeClaim>("reg-postgres-storage").await.unwrap();
    assert_eq!(at(&claim, "spec.accessModes"), &json!(["ReadWriteOnce"]));
    assert_eq!(at(&claim, "spec.resources.requests.storage"), "5Gi");
    assert!(stage.get::<Deployment>("reg-postgres").await.is_some());
    assert!(stage.get::<Service>("reg-postgres").await.is_some());
    assert!(stage.get::<NetworkPolicy>("reg-postgres").await.is_some());
    let args = args(&stage.get::<Deployment>("reg").await.unwrap(), "rest-container");
    let dsn = "--embedmd-database-dsn=postgresql://modelregistry:$(POSTGRES_PASSWORD)@reg-postgres:5432/model_registry";
    assert!(args.contains(&dsn.into()), "{args:?}");
    let secret = stage.get::<Secret>("reg-postgres-credentials").await.unwrap();
    assert_eq!(secret["data"].as_object().unwrap().len(), 2);
    stage.patch(json!({ "rest": { "port": 9000 } })).await;
    let after = stage.get::<Secret>("reg-postgres-credentials").await.unwrap();
    assert_eq!(after["data"], secret["data"], "the password stays");
    let defaults = stage.status().await["specDefaults"].as_str().unwrap().to_owned();
    let defaults: Value = serde_json::from_str(&defaults).unwrap();
    let wanted = json!({ "database": "model_registry", "generateDeployment": null, "host": "reg-postgres", "sslMode": null,
        "passwordSecret": { "key": "password", "name": "reg-postgres-credentials" }, "username": "modelregistry" });
    assert_eq!(defaults["postgres"], wanted);
    stage.assert_at_rest().await;
}

#[tokio::test(start_paused = true)]
async fn scenario_15_external_database() {
    let stage = Stage::plain().await;
    stage.create(json!({ "rest": {}, "postgres": { "host": "db" } })).await;
    assert!(stage.get::<Deployment>("reg").await.is_some());
    assert!(stage.get::<Deployment>("reg-postgres").await.is_none());
    assert!(stage.get::<NetworkPolicy>("reg-postgres").await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_database_that_nothing_uses_any_more_is_told_of_and_left() {
    let stage = Stage::plain().await;
    stage.create(json!({ "rest": {}, "postgres": { "generateDeployment": true } })).await;
    stage.patch(json!({ "postgres": { "generateDeployment": null, "host": "db" } })).await;
    assert!(stage.get::<Deployment>("reg-postgres").await.is_some());
    let events = stage.events().await;
    assert_eq!(events.iter().filter(|(reason, _)| reason == "DatabaseLeft").count(), 1, "{events:?}");
}

#[tokio::test(start_paused = true)]
async fn a_database_that_cannot_be_changed_is_made_anew_and_the_server_is_not_touched() {
    let stage = Stage::plain().await;
    let pods = json!({ "old": "yes" });
    let template =
        json!({ "metadata": { "labels": pods }, "spec": { "containers": [{ "name": "c", "image": "i" }] } });
    let spec = json!({ "selector": { "matchLabels": pods }, "template": template });
    let metadata = json!({ "name": "reg-postgres", "labels": { "app.kubernetes.io/created-by": "model-registry-operator" } });
    stage
        .put(json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec }))
        .await;
    stage.create(json!({ "rest": {}, "postgres": { "generateDeployment": true } })).await;
    let database = stage.get::<Deployment>("reg-postgres").await.unwrap();
    assert_eq!(at(&database, "spec.selector.matchLabels")["app.kubernetes.io/name"], "reg-postgres");
    // The original rolls the server once, with an address that leads nowhere.
    let server = stage.get::<Deployment>("reg").await.unwrap();
    assert_eq!(at(&server, "metadata.generation"), 1);
    assert!(args(&server, "rest-container").iter().any(|arg| arg.contains("@reg-postgres:5432/")));
}
