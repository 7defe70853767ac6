//! Objects that the original wrote are taken over: nothing restarts, and what it kept about them goes.

use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{Secret, Service},
};
use kube::api::{DynamicObject, PostParams};
use quintet_api::model_registry::ModelRegistry;
use quintet_kit::Kind;
use serde_json::{Value, json};

use super::support::{
    at,
    stage::{NO_CATALOG, PLAIN, Stage, registry},
};

const ANNOTATION: &str = "banzaicloud.com/last-applied";

/// Makes an object as the original does: as `manager`, with its annotation.
async fn as_the_original<K: Kind>(stage: &Stage, mut object: Value, owner: &ModelRegistry) {
    let reference = json!({ "apiVersion": "modelregistry.opendatahub.io/v1beta1", "kind": "ModelRegistry", "name": "reg",
        "uid": owner.metadata.uid, "controller": true, "blockOwnerDeletion": true });
    object["metadata"]["ownerReferences"] = json!([reference]);
    object["metadata"]["annotations"] = json!({ ANNOTATION: "UEsDBBQ" });
    let metadata = object["metadata"].as_object_mut().unwrap();
    for name in ["uid", "resourceVersion", "managedFields", "generation", "creationTimestamp"] {
        metadata.remove(name);
    }
    object.as_object_mut().unwrap().remove("status");
    let object: DynamicObject = serde_json::from_value(object).unwrap();
    let params = PostParams { field_manager: Some("manager".into()), ..PostParams::default() };
    stage.api::<K>().create(&params, &object).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_the_original_wrote_is_taken_over_without_a_rollout() {
    // What a registry's objects are, from a server of its own.
    let spec = json!({ "rest": {}, "postgres": { "generateDeployment": true } });
    let model = Stage::plain().await;
    model.create(spec.clone()).await;
    let mut deployment = model.get::<Deployment>("reg").await.unwrap();
    deployment["spec"]["minReadySeconds"] = json!(7); // a field that it set once and nobody wants now
    let mut database = model.get::<Deployment>("reg-postgres").await.unwrap();
    database["spec"].as_object_mut().unwrap().remove("strategy"); // it leaves that to the server, which lets it roll
    let service = model.get::<Service>("reg").await.unwrap();
    let secret = model.get::<Secret>("reg-postgres-credentials").await.unwrap();
    drop(model);

    let mut stage = Stage::without_operator(PLAIN, NO_CATALOG).await;
    stage.put(registry("reg", spec)).await;
    let owner = stage.registry().await;
    as_the_original::<Deployment>(&stage, deployment, &owner).await;
    as_the_original::<Deployment>(&stage, database.clone(), &owner).await;
    as_the_original::<Service>(&stage, service, &owner).await;
    as_the_original::<Secret>(&stage, secret.clone(), &owner).await;
    let before = stage.get::<Deployment>("reg").await.unwrap();
    stage.start().await;

    let after = stage.get::<Deployment>("reg").await.unwrap();
    assert_eq!(at(&after, "metadata.uid"), at(&before, "metadata.uid"));
    assert_eq!(at(&after, "spec.template"), at(&before, "spec.template"), "no pod restarts");
    assert!(at(&after, "spec.minReadySeconds").is_null() || at(&after, "spec.minReadySeconds") == 0);
    assert!(at(&after, "metadata.annotations")[ANNOTATION].is_null());
    let after_it = stage.get::<Deployment>("reg-postgres").await.unwrap();
    assert_eq!(at(&after_it, "spec.strategy"), &json!({ "type": "Recreate" }));
    assert_eq!(at(&after_it, "spec.template"), at(&database, "spec.template"), "nor does the database");
    let managers = at(&after, "metadata.managedFields").as_array().unwrap();
    let is = |name: &str| managers.iter().any(|fields| fields["manager"] == name);
    assert!(is("model-registry-operator") && !is("manager"), "{managers:?}");
    assert!(at(&stage.get::<Service>("reg").await.unwrap(), "metadata.annotations")[ANNOTATION].is_null());
    let kept = stage.get::<Secret>("reg-postgres-credentials").await.unwrap();
    assert_eq!(kept["data"], secret["data"], "the password is the one that the database has");
    assert!(at(&kept, "metadata.annotations")[ANNOTATION].is_null(), "and is in no annotation");
    stage.assert_at_rest().await;
}

#[tokio::test(start_paused = true)]
async fn an_object_that_lost_its_label_is_still_found() {
    let stage = Stage::plain().await;
    stage.create(super::support::base()).await;
    let label = json!({ "metadata": { "labels": { "app.kubernetes.io/created-by": null } } });
    stage.edit::<Service>("reg", label).await;
    stage.patch(json!({ "rest": { "port": 9000 } })).await;
    let service = stage.get::<Service>("reg").await.unwrap();
    assert_eq!(at(&service, "spec.ports.0.port"), 9000);
    assert_eq!(service["metadata"]["labels"]["app.kubernetes.io/created-by"], "model-registry-operator");
}
