//! Stored registries are moved to the storage version, once.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api,
    api::{Patch, PatchParams},
};
use quintet_api::{crd, foreign::storage_migration::StorageVersionMigration, model_registry::ModelRegistry};
use quintet_stage::server::install;
use serde_json::{Value, json};

use super::support::{
    base,
    stage::{NAMESPACE, PLAIN, Stage, registry},
};

const MIGRATING: &[(&str, &str)] = &[
    ("REGISTRIES_NAMESPACE", NAMESPACE),
    ("ENABLE_MODEL_CATALOG", "false"),
    ("STORAGE_MIGRATION_SOURCE_VERSION", "v1alpha1"),
    ("STORAGE_MIGRATION_TARGET_VERSION", "v1beta1"),
];
const NOTE: &str = "storage-migration.opendatahub.io/migrated-v1alpha1-to-v1beta1";
const REQUEST: &str = "modelregistry-v1alpha1-to-v1beta1-migration";
const DEFINITION: &str = "modelregistries.modelregistry.opendatahub.io";

async fn stored_in_both(stage: &Stage) {
    let api: Api<CustomResourceDefinition> = Api::all(stage.admin.clone());
    let patch = Patch::Merge(json!({ "status": { "storedVersions": ["v1alpha1", "v1beta1"] } }));
    api.patch_status(DEFINITION, &PatchParams::default(), &patch).await.unwrap();
}

pub(crate) async fn stored_versions(stage: &Stage) -> Value {
    stage.get::<CustomResourceDefinition>(DEFINITION).await.unwrap()["status"]["storedVersions"].clone()
}

/// Waits until the definition tells of no registry in the old version.
async fn until_forgotten(stage: &Stage) {
    let is_forgotten = async || (stored_versions(stage).await == json!(["v1beta1"])).then_some(());
    stage.until("the old version is forgotten", is_forgotten).await;
}

pub(crate) async fn notes(stage: &Stage) -> Vec<Option<String>> {
    let api: Api<ModelRegistry> = Api::namespaced(stage.admin.clone(), NAMESPACE);
    let all = api.list(&Default::default()).await.unwrap();
    all.into_iter().map(|r| r.metadata.annotations.unwrap_or_default().get(NOTE).cloned()).collect()
}

pub(crate) async fn stage() -> Stage {
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
    stage.start().await;
    assert_eq!(notes(&stage).await, [None, None], "everything else is more urgent at a start");
    until_forgotten(&stage).await;
    let first = notes(&stage).await;
    assert!(first.iter().all(Option::is_some), "{first:?}");
    // A second run, told again that something is left, rewrites nothing.
    stored_in_both(&stage).await;
    let mark = stage.mark();
    stage.start().await;
    until_forgotten(&stage).await;
    assert_eq!(notes(&stage).await, first);
    assert!(
        stage.writes(mark).iter().all(|write| !write.contains("modelregistries/a")),
        "{:?}",
        stage.writes(mark)
    );
}

#[tokio::test(start_paused = true)]
async fn the_clusters_migrator_is_asked_where_there_is_one() {
    let mut stage = stage().await;
    install(&stage.admin, crd::of::<StorageVersionMigration>()).await;
    stage.start().await;
    let asked = stage.until("a request", async || stage.get::<StorageVersionMigration>(REQUEST).await).await;
    assert_eq!(asked["spec"]["resource"]["version"], "v1beta1");
    assert_eq!(stored_versions(&stage).await, json!(["v1alpha1", "v1beta1"]), "it is waited for");
    // A process that takes over meanwhile asks no second time, and waits as well.
    let mark = stage.mark();
    stage.start().await;
    let api: Api<StorageVersionMigration> = Api::all(stage.admin.clone());
    let done =
        Patch::Merge(json!({ "status": { "conditions": [{ "type": "Succeeded", "status": "True" }] } }));
    api.patch_status(REQUEST, &PatchParams::default(), &done).await.unwrap();
    until_forgotten(&stage).await;
    assert_eq!(notes(&stage).await, [None, None], "no registry was written by hand");
    assert!(stage.writes(mark).iter().all(|write| !write.contains("storageversionmigrations")));
}

#[tokio::test(start_paused = true)]
async fn a_migrator_that_fails_is_replaced_by_hand() {
    let mut stage = stage().await;
    install(&stage.admin, crd::of::<StorageVersionMigration>()).await;
    stage.start().await;
    stage.until("a request", async || stage.get::<StorageVersionMigration>(REQUEST).await).await;
    let api: Api<StorageVersionMigration> = Api::all(stage.admin.clone());
    let failed =
        Patch::Merge(json!({ "status": { "conditions": [{ "type": "Failed", "status": "True" }] } }));
    api.patch_status(REQUEST, &PatchParams::default(), &failed).await.unwrap();
    until_forgotten(&stage).await;
    assert!(notes(&stage).await.iter().all(Option::is_some));
}
