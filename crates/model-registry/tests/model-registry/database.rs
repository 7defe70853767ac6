//! Databases: those that the operator runs, and those of others.

use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{PersistentVolumeClaim, Secret},
    networking::v1::NetworkPolicy,
};
use serde_json::{Value, json};

use super::support::{args, assert_hold, at, case_for, container, stage::Stage};

#[tokio::test(start_paused = true)]
async fn scenario_14_auto_provisioned_database() {
    let stage = Stage::plain().await;
    stage.create(json!({ "rest": {}, "postgres": { "generateDeployment": true } })).await;
    let words = [("modelregistry-sample", "reg"), ("odh-model-registries", "mr")];
    let (mut stored, mut wanted) = (stage.children().await, case_for("postgres-auto", &words));
    let credentials = "Secret/reg-postgres-credentials";
    assert!(
        stored.remove(credentials).is_some() && wanted.remove(credentials).is_some(),
        "its data is random"
    );
    assert_hold(&stored, &wanted);
    let claim = stage.get::<PersistentVolumeClaim>("reg-postgres-storage").await.unwrap();
    assert_eq!(at(&claim, "spec.accessModes"), &json!(["ReadWriteOnce"]));
    assert_eq!(at(&claim, "spec.resources.requests.storage"), "5Gi");
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
async fn a_password_that_a_url_cannot_carry_is_told_apart_from_it() {
    let stage = Stage::plain().await;
    let secret = |password: &str| json!({ "stringData": { "p": password } });
    let mut object = secret("fits");
    (object["apiVersion"], object["kind"], object["metadata"]) =
        (json!("v1"), json!("Secret"), json!({ "name": "s" }));
    stage.put(object).await;
    let key = json!({ "name": "s", "key": "p" });
    let postgres = json!({ "host": "db", "database": "d", "username": "u", "passwordSecret": key });
    stage.create(json!({ "rest": {}, "postgres": postgres })).await;
    let told = async || {
        let deployment = stage.get::<Deployment>("reg").await.unwrap();
        let env = container(&deployment, "rest-container")["env"][0].clone();
        assert_eq!(env["valueFrom"]["secretKeyRef"], key);
        (args(&deployment, "rest-container")[3].clone(), env["name"].as_str().unwrap().to_owned())
    };
    let argument =
        |password: &str| format!("--embedmd-database-dsn=postgresql://u{password}@db:5432/d?sslmode=disable");
    let within = (argument(":$(POSTGRES_PASSWORD)"), "POSTGRES_PASSWORD".to_owned());
    let apart = (argument(""), "PGPASSWORD".to_owned());
    assert_eq!(told().await, within, "what works stays as it is");
    stage.edit::<Secret>("s", secret("a/b?c#d")).await;
    assert_eq!(told().await, apart);
    stage.edit::<Secret>("s", secret("a%2Fb")).await;
    assert_eq!(told().await, within, "who encodes it means the URL");
    stage.assert_at_rest().await;
    let deployment = stage.get::<Deployment>("reg").await.unwrap().to_string();
    assert!(!deployment.contains("a%2Fb"), "the password itself is nowhere");
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
async fn a_claim_that_somebody_relabelled_is_mended() {
    let stage = Stage::plain().await;
    stage.create(json!({ "rest": {}, "postgres": { "generateDeployment": true } })).await;
    let label = |value: &str| json!({ "metadata": { "labels": { "app": value } } });
    stage.edit::<PersistentVolumeClaim>("reg-postgres-storage", label("mine")).await;
    let claim = stage.get::<PersistentVolumeClaim>("reg-postgres-storage").await.unwrap();
    assert_eq!(at(&claim, "metadata.labels.app"), "reg-postgres");
    stage.assert_at_rest().await;
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
