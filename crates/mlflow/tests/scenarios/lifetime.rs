//! How a resource and its operator begin and end.

use k8s_openapi::{
    api::{apps::v1::Deployment, core::v1::Namespace},
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{Api, api::DeleteParams};
use serde_json::json;

use crate::support::{
    at, base,
    server::{NAMESPACE, PLAIN, server},
    spec,
    stage::Stage,
};

#[tokio::test(start_paused = true)]
async fn scenario_32_a_deleted_resource_is_written_for_no_more() {
    let stage = Stage::plain().await;
    let mlflow =
        stage.create(spec(json!({ "garbageCollection": { "schedule": "@daily" }, "storage": {} }))).await;
    assert!(mlflow.metadata.finalizers.is_none());
    let uid = mlflow.metadata.uid.unwrap();
    let owned = stage.owned().await;
    assert_eq!(owned.len(), 11);
    for (id, object) in &owned {
        let owners = at(object, "metadata.ownerReferences").as_array().unwrap();
        assert!(owners.iter().any(|owner| owner["uid"] == uid.as_str()), "{id}");
    }
    let mark = stage.mark();
    stage.delete_subject().await;
    stage.rest().await;
    assert_eq!(stage.writes(mark), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_resource_that_is_made_anew_at_once_has_its_server() {
    let stage = Stage::plain().await;
    stage.create(base()).await;
    stage.delete_subject().await;
    let uid = stage
        .until("a new resource", async || stage.try_create(base()).await.ok())
        .await
        .metadata
        .uid
        .unwrap();
    stage.rest().await;
    stage.settle().await;
    let owned = stage.owned().await;
    assert_eq!(owned.len(), 6, "{:?}", owned.keys());
    for (id, object) in &owned {
        let owners = at(object, "metadata.ownerReferences").as_array().unwrap();
        assert!(owners.iter().any(|owner| owner["uid"] == uid.as_str()), "{id}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_operator_that_starts_before_its_namespace_and_definitions_waits_for_them() {
    let server = server(PLAIN).await;
    let admin = server.admin();
    let definitions: Api<CustomResourceDefinition> = Api::all(admin.clone());
    definitions.delete("mlflows.mlflow.opendatahub.io", &DeleteParams::default()).await.unwrap();
    let namespaces: Api<Namespace> = Api::all(admin.clone());
    namespaces.delete(NAMESPACE, &DeleteParams::default()).await.unwrap();
    while namespaces.get_opt(NAMESPACE).await.unwrap().is_some()
        || definitions.get_opt("mlflows.mlflow.opendatahub.io").await.unwrap().is_some()
    {
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    let stage = Stage::on(server, &[]).await;
    stage.rest().await;
    stage.prepare().await;
    stage.until("the definition is served", async || stage.try_create(base()).await.ok()).await;
    stage.until("the server", async || stage.get::<Deployment>("mlflow").await).await;
    stage.settle().await;
}
