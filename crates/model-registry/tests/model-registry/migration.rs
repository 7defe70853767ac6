//! Stored registries are moved to the storage version, once.

use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api,
    api::{Patch, PatchParams},
};
use quintet_api::{crd, foreign::storage_migration::StorageVersionMigration, model_registry::ModelRegistry};
use serde_json::{Value, json};

use super::support::{
    base,
    stage::{NAMESPACE, PLAIN, Stage, install, registry},
};

const MIGRATING: &[(&str, &str)] = &[
    ("REGISTRIES_NAMESPACE", NAMESPACE),
    ("ENABLE_MODEL_CATALOG", "false"),
    ("STORAGE_MIGRATION_SOURCE_VERSION", "v1alpha1"),
    ("STORAGE_MIGRATION_TARGET_VERSION", "v1beta1"),
];
const NOTE: &str = "storage-migration.opendatahub.io/migrated-v1alpha1-to-v1beta1";
const DEFINITION: &str = "modelregistries.modelregistry.opendatahub.io";

async fn stored_in_both(stage: &Stage) {
    let api: Api<CustomResourceDefinition> = Api::all(stage.admin.clone());
    let patch = Patch::Merge(json!({ "status": { "storedVersions": ["v1alpha1", "v1beta1"] } }));
    api.patch_status(DEFINITION, &PatchParams::default(), &patch).await.unwrap();
}

async fn stored_versions(stage: &Stage) -> Value {
    stage.get::<CustomResourceDefinition>(DEFINITION).await.unwrap()["status"]["storedVersions"].clone()
}

async fn notes(stage: &Stage) -> Vec<Option<String>> {
    let api: Api<ModelRegistry> = Api::namespaced(stage.admin.clone(), NAMESPACE);
    let all = api.list(&Default::default()).await.unwrap();
    all.into_iter().map(|r| r.metadata.annotations.unwrap_or_default().get(NOTE).cloned()).collect()
}

async fn stage() -> Stage {
    let stage = Stage::without_operator(PLAIN, MIGRATING).await;
    for name in ["a", "b"] {
        stage.put(registry(name, base())).await;
    }
    stored_in_both(&stage).await;
    stage
}

#[tokio::test(start_paused = true)]
async fn scenario_39_manual_migration() {
    let mut stage = stage().await;
    stage.start(MIGRATING).await;
    assert_eq!(notes(&stage).await, [None, None], "everything else is more urgent at a start");
    tokio::time::sleep(Duration::from_secs(60)).await;
    let first = notes(&stage).await;
    assert!(first.iter().all(Option::is_some), "{first:?}");
    assert_eq!(stored_versions(&stage).await, json!(["v1beta1"]));
    // A second run, told again that something is left, rewrites nothing.
    stored_in_both(&stage).await;
    let mark = stage.plane.requests().mark();
    stage.start(MIGRATING).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(notes(&stage).await, first);
    assert!(
        stage.writes(mark).iter().all(|write| !write.contains("modelregistries/a")),
        "{:?}",
        stage.writes(mark)
    );
}

#[tokio::test(start_paused = true)]
async fn a_migration_that_is_refused_is_tried_again_and_goes_on_where_it_was() {
    let mut stage = stage().await;
    let error = plane::status::Error::new(500, "InternalError", "not now");
    let refused = plane::faults::Fault::new(plane::faults::Effect::Refuse(error)).on(|r| {
        r.verb == "patch" && r.resource == "modelregistries" && r.name == "b" && r.subresource.is_empty()
    });
    stage.start(MIGRATING).await;
    stage.plane.faults().add(refused.times(1));
    tokio::time::sleep(Duration::from_secs(60)).await;
    let half = notes(&stage).await;
    assert!(half[0].is_some() && half[1].is_none(), "{half:?}");
    assert_eq!(stored_versions(&stage).await, json!(["v1alpha1", "v1beta1"]), "not before all are done");
    tokio::time::sleep(Duration::from_secs(1200)).await;
    let all = notes(&stage).await;
    assert_eq!(all[0], half[0]);
    assert!(all[1].is_some());
    assert_eq!(stored_versions(&stage).await, json!(["v1beta1"]));
}

#[tokio::test(start_paused = true)]
async fn the_clusters_migrator_is_asked_where_there_is_one() {
    let mut stage = stage().await;
    install(&stage.admin, crd::of::<StorageVersionMigration>()).await;
    stage.start(MIGRATING).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    let name = "modelregistry-v1alpha1-to-v1beta1-migration";
    let asked = stage.get::<StorageVersionMigration>(name).await.expect("a request");
    assert_eq!(asked["spec"]["resource"]["version"], "v1beta1");
    assert_eq!(stored_versions(&stage).await, json!(["v1alpha1", "v1beta1"]), "it is waited for");
    let api: Api<StorageVersionMigration> = Api::all(stage.admin.clone());
    let done =
        Patch::Merge(json!({ "status": { "conditions": [{ "type": "Succeeded", "status": "True" }] } }));
    api.patch_status(name, &PatchParams::default(), &done).await.unwrap();
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(stored_versions(&stage).await, json!(["v1beta1"]));
    assert_eq!(notes(&stage).await, [None, None], "no registry was written by hand");
}

#[tokio::test(start_paused = true)]
async fn a_migrator_that_fails_is_replaced_by_hand() {
    let mut stage = stage().await;
    install(&stage.admin, crd::of::<StorageVersionMigration>()).await;
    stage.start(MIGRATING).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    let api: Api<StorageVersionMigration> = Api::all(stage.admin.clone());
    let failed =
        Patch::Merge(json!({ "status": { "conditions": [{ "type": "Failed", "status": "True" }] } }));
    api.patch_status("modelregistry-v1alpha1-to-v1beta1-migration", &PatchParams::default(), &failed)
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(notes(&stage).await.iter().all(Option::is_some));
    assert_eq!(stored_versions(&stage).await, json!(["v1beta1"]));
}
