//! Stored registries are moved to the storage version, once.

use k8s_openapi::{
    api::events::v1::Event, apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, Client,
    api::{Patch, PatchParams, PostParams},
};
use plane::webhook::Backend;
use quintet_api::{
    crd,
    foreign::storage_migration::StorageVersionMigration,
    model_registry::{ModelRegistry, crds, v1alpha1},
};
use quintet_kit::{Hubs, Kind, metrics::Metrics};
use quintet_stage::{Server, server::install};
use serde_json::{Value, json};

use super::support::{
    base, container,
    stage::{NAMESPACE, PLAIN, Stage, in_tree_migrator, registry},
};

pub(crate) const MIGRATING: &[(&str, &str)] = &[
    ("REGISTRIES_NAMESPACE", NAMESPACE),
    ("ENABLE_MODEL_CATALOG", "false"),
    ("STORAGE_MIGRATION_SOURCE_VERSION", "v1alpha1"),
    ("STORAGE_MIGRATION_TARGET_VERSION", "v1beta1"),
];
const NOTE: &str = "storage-migration.opendatahub.io/migrated-v1alpha1-to-v1beta1";
const REQUEST: &str = "modelregistry-v1alpha1-to-v1beta1-migration";
const DEFINITION: &str = "modelregistries.modelregistry.opendatahub.io";

pub(crate) async fn stored_in_both(admin: &Client) {
    let api: Api<CustomResourceDefinition> = Api::all(admin.clone());
    let patch = Patch::Merge(json!({ "status": { "storedVersions": ["v1alpha1", "v1beta1"] } }));
    api.patch_status(DEFINITION, &PatchParams::default(), &patch).await.unwrap();
}

pub(crate) async fn stored_versions(admin: &Client) -> Value {
    let api: Api<CustomResourceDefinition> = Api::all(admin.clone());
    json!(api.get(DEFINITION).await.unwrap().status.unwrap().stored_versions)
}

/// Waits until the definition tells of no registry in the old version.
async fn until_forgotten(stage: &Stage) {
    let is_forgotten = async || (stored_versions(&stage.admin).await == json!(["v1beta1"])).then_some(());
    stage.until("the old version is forgotten", is_forgotten).await;
}

pub(crate) async fn notes(stage: &Stage) -> Vec<Option<String>> {
    let api: Api<ModelRegistry> = Api::namespaced(stage.admin.clone(), NAMESPACE);
    let all = api.list(&Default::default()).await.unwrap();
    all.into_iter().map(|r| r.metadata.annotations.unwrap_or_default().get(NOTE).cloned()).collect()
}

/// Reason and text of the events about the definition, in the order in which they came.
async fn told(stage: &Stage) -> Vec<(String, String)> {
    let events: Api<Event> = Api::namespaced(stage.admin.clone(), "default");
    let mut events = events.list(&Default::default()).await.unwrap().items;
    events.retain(|event| event.reporting_controller.as_deref() == Some("storage-migration"));
    events.sort_by_key(|event| event.metadata.name.clone());
    let about = |event: &Event| event.regarding.as_ref().and_then(|object| object.name.clone());
    assert!(events.iter().all(|event| about(event).as_deref() == Some(DEFINITION)));
    events.into_iter().map(|e| (e.reason.unwrap_or_default(), e.note.unwrap_or_default())).collect()
}

/// How many registries the metric says are in this state.
fn counted(stage: &Stage, state: &str) -> Option<u64> {
    let line = format!("quintet_storage_migration_objects{{resource=\"{DEFINITION}\",state=\"{state}\"}} ");
    let metrics = stage.metrics.encode();
    metrics.lines().find_map(|text| text.strip_prefix(&line)).map(|count| count.parse().unwrap())
}

pub(crate) async fn stage() -> Stage {
    let stage = Stage::without_operator(PLAIN, MIGRATING).await;
    for name in ["a", "b"] {
        stage.put(registry(name, base())).await;
    }
    stored_in_both(&stage.admin).await;
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
    // Whoever looks sees how far it is.
    assert_eq!(
        ["migrated", "failed", "pending"].map(|state| counted(&stage, state)),
        [Some(2), Some(0), Some(0)]
    );
    let all =
        stage.until("it is told", async || Some(told(&stage).await).filter(|told| told.len() == 4)).await;
    let way = "from v1alpha1 to v1beta1";
    let wanted = [
        ("StorageMigrationStarted", format!("moving stored registries {way}, one by one, 0 of 2 are done")),
        ("StorageMigrationProgress", format!("1 of 2 registries are moved {way}")),
        ("StorageMigrationProgress", format!("2 of 2 registries are moved {way}")),
        ("StorageMigrationSucceeded", format!("every registry is moved {way}")),
    ];
    assert_eq!(all, wanted.map(|(reason, text)| (reason.to_owned(), text)));
    // A second run, told again that something is left, rewrites nothing.
    stored_in_both(&stage.admin).await;
    let mark = stage.mark();
    stage.start().await;
    until_forgotten(&stage).await;
    assert_eq!(notes(&stage).await, first);
    let rewrites =
        || stage.writes(mark).into_iter().filter(|write| write.starts_with("patch modelregistries/"));
    assert_eq!(
        rewrites().filter(|write| !write.ends_with("/status")).collect::<Vec<_>>(),
        Vec::<String>::new()
    );
    // Unless the definition changed: it may have stored the old version meanwhile.
    let changed = json!({ "spec": { "names": { "categories": ["changed"] } } });
    stage.edit::<CustomResourceDefinition>(DEFINITION, changed).await;
    stored_in_both(&stage.admin).await;
    let mark = stage.mark();
    stage.start().await;
    until_forgotten(&stage).await;
    assert!(stage.writes(mark).contains(&"patch modelregistries/a".to_owned()), "{:?}", stage.writes(mark));
}

#[tokio::test(start_paused = true)]
async fn a_migration_that_is_cut_off_goes_on_where_it_was() {
    let mut stage = stage().await;
    stage.start().await;
    stage.edge.refuse(
        |asked| asked.verb == "patch" && asked.name == "b" && asked.subresource.is_empty(),
        http::StatusCode::SERVICE_UNAVAILABLE,
        "not now",
    );
    let is_half = async || Some(notes(&stage).await).filter(|notes| notes[0].is_some());
    let half = stage.until("the first is moved", is_half).await;
    assert_eq!(half[1], None);
    stage.stop();
    stage.edge.relent();
    assert_eq!(
        stored_versions(&stage.admin).await,
        json!(["v1alpha1", "v1beta1"]),
        "not before all are moved"
    );
    let mark = stage.mark();
    stage.start().await;
    until_forgotten(&stage).await;
    let all = notes(&stage).await;
    assert!(all[0] == half[0] && all[1].is_some(), "{all:?}");
    assert!(!stage.writes(mark).contains(&"patch modelregistries/a".to_owned()), "{:?}", stage.writes(mark));
}

/// The kind of a request to a migrator.
fn requested(definition: &CustomResourceDefinition) -> kube::core::ApiResource {
    let (group, version) = (&definition.spec.group, &definition.spec.versions[0].name);
    kube::core::ApiResource::from_gvk(&kube::core::GroupVersionKind::gvk(
        group,
        version,
        "StorageVersionMigration",
    ))
}

fn requests(stage: &Stage, definition: &CustomResourceDefinition) -> Api<kube::api::DynamicObject> {
    Api::all_with(stage.admin.clone(), &requested(definition))
}

/// Says what a migrator found out.
async fn report(stage: &Stage, definition: &CustomResourceDefinition, condition: (&str, &str)) {
    let api = requests(stage, definition);
    let asked = stage.until("a request", async || api.get_opt(REQUEST).await.unwrap()).await;
    assert_eq!(asked.data["spec"]["resource"]["resource"], "modelregistries");
    let (type_, status) = condition;
    let patch = json!({ "status": { "conditions": [{ "type": type_, "status": status }] } });
    api.patch_status(REQUEST, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_clusters_migrator_is_asked_where_there_is_one() {
    for definition in [crd::of::<StorageVersionMigration>(), in_tree_migrator()] {
        let mut stage = stage().await;
        install(&stage.admin, definition.clone()).await;
        stage.start().await;
        report(&stage, &definition, ("Running", "True")).await;
        assert_eq!(stored_versions(&stage.admin).await, json!(["v1alpha1", "v1beta1"]), "it is waited for");
        // A process that takes over meanwhile asks no second time, and waits as well.
        let mark = stage.mark();
        stage.start().await;
        report(&stage, &definition, ("Succeeded", "True")).await;
        until_forgotten(&stage).await;
        assert_eq!(notes(&stage).await, [None, None], "no registry was written by hand");
        assert!(stage.writes(mark).iter().all(|write| !write.contains("storageversionmigrations")));
        let told = told(&stage).await;
        assert!(
            told[0].1.contains("by the cluster's migrator") && told[0].1.contains(&definition.spec.group),
            "{told:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_migrator_that_fails_is_replaced_by_hand() {
    for definition in [crd::of::<StorageVersionMigration>(), in_tree_migrator()] {
        let mut stage = stage().await;
        install(&stage.admin, definition.clone()).await;
        stage.start().await;
        report(&stage, &definition, ("Failed", "True")).await;
        until_forgotten(&stage).await;
        assert!(notes(&stage).await.iter().all(Option::is_some));
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_migrator_did_for_an_earlier_definition_does_not_count() {
    for definition in [crd::of::<StorageVersionMigration>(), in_tree_migrator()] {
        let mut stage = stage().await;
        install(&stage.admin, definition.clone()).await;
        // As the original left it, before somebody went back to an older release and forth again.
        let api = requests(&stage, &definition);
        let resource = json!({ "group": "modelregistry.opendatahub.io", "version": "v1beta1", "resource": "modelregistries" });
        let mut old = kube::api::DynamicObject::new(REQUEST, &requested(&definition));
        old.data = json!({ "spec": { "resource": resource } });
        let uid = api.create(&PostParams::default(), &old).await.unwrap().metadata.uid;
        report(&stage, &definition, ("Succeeded", "True")).await;
        stage.start().await;
        let is_new = async || {
            let found = api.get_opt(REQUEST).await.unwrap()?;
            (found.metadata.uid != uid).then_some(())
        };
        stage.until("it is asked anew", is_new).await;
        assert_eq!(stored_versions(&stage.admin).await, json!(["v1alpha1", "v1beta1"]));
        report(&stage, &definition, ("Succeeded", "True")).await;
        until_forgotten(&stage).await;
    }
}

/// The registries' definition, storing this version and converting by webhook.
fn storing(version: &str) -> CustomResourceDefinition {
    let mut definition = json!(crds().remove(0));
    for one in definition["spec"]["versions"].as_array_mut().unwrap() {
        one["storage"] = json!(one["name"] == version);
    }
    let service = json!({ "namespace": "opendatahub", "name": "hooks", "path": "/convert" });
    definition["spec"]["conversion"] = json!({ "strategy": "Webhook",
        "webhook": { "clientConfig": { "service": service }, "conversionReviewVersions": ["v1beta1", "v1"] } });
    serde_json::from_value(definition).unwrap()
}

/// The operator's own conversion, in this process.
fn conversion(stage: &Stage) -> Backend {
    let metrics = Metrics::new();
    let hooks = stage.play.system.webhooks(&Hubs::new(stage.admin.clone(), metrics.clone()));
    Backend::InProcess(hooks.router(&metrics))
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_stores_the_old_version_starts_up_and_ends_with_the_new_one_alone() {
    let mut stage = Stage::without_operator(PLAIN, MIGRATING).await;
    let Server::Plane(plane) = &stage.server else { return }; // the real tier has no webhook in this process
    let backends = plane.webhook_backends();
    backends.insert("opendatahub", "hooks", conversion(&stage));
    // As the release before v1beta1 was left.
    install(&stage.admin, storing("v1alpha1")).await;
    let old: Api<v1alpha1::ModelRegistry> = Api::namespaced(stage.admin.clone(), NAMESPACE);
    for (name, more) in
        [("meshed", json!({ "istio": { "gateway": { "domain": "d.test" } } })), ("plain", json!({}))]
    {
        let mut spec = json!({ "mysql": { "host": "db", "database": "d", "username": "u" } });
        more.as_object().unwrap().iter().for_each(|(field, value)| spec[field] = value.clone());
        // A client of old: the definition asks for both servers.
        (spec["rest"], spec["grpc"]) = (json!({}), json!({}));
        if let Some(gateway) = spec.pointer_mut("/istio/gateway") {
            (gateway["rest"], gateway["grpc"]) = (json!({}), json!({}));
        }
        let object = json!({ "apiVersion": v1alpha1::ModelRegistry::gvk().api_version(), "kind": "ModelRegistry",
            "metadata": { "name": name }, "spec": spec });
        old.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
    }
    install(&stage.admin, storing("v1beta1")).await;
    let stored = stored_versions(&stage.admin).await;
    assert!(stored.as_array().unwrap().contains(&json!("v1alpha1")), "{stored}");
    let new: Api<ModelRegistry> = Api::namespaced(stage.admin.clone(), NAMESPACE);
    backends.remove("opendatahub", "hooks");
    new.get("plain").await.expect_err("it is stored in the old version: nobody can convert it now");
    backends.insert("opendatahub", "hooks", conversion(&stage));

    stage.start().await;
    until_forgotten(&stage).await;
    stage.settle().await;
    let meshed = stage.get::<ModelRegistry>("meshed").await.unwrap();
    assert_eq!(meshed["spec"]["kubeRBACProxy"]["domain"], "d.test", "{meshed}");
    assert_eq!((meshed["spec"].get("istio"), meshed["spec"].get("oauthProxy")), (None, None));
    let deployment = stage.get::<k8s_openapi::api::apps::v1::Deployment>("meshed").await.unwrap();
    assert!(!container(&deployment, "kube-rbac-proxy").is_null());
    let Server::Plane(plane) = &stage.server else { unreachable!("it was one above") };
    plane.webhook_backends().remove("opendatahub", "hooks");
    for name in ["meshed", "plain"] {
        new.get(name).await.expect("it is stored in the new version: nobody has to convert it");
    }
    old.get("plain").await.expect_err("the old version is served by conversion alone");
}
