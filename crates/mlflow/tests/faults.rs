//! Whatever goes wrong, the end is the same: death after any write, watches that lag, break and lose their place, writes
//! that are refused or whose answer is lost, and walks through the resource's fields.
//!
//! `QUINTET_WALKS=200` takes as many walks as a release does; by default it is a handful.

mod support;

use futures::{FutureExt, future::BoxFuture};
use k8s_openapi::api::apps::v1::Deployment;
use kube::{
    Api, Client,
    api::{Patch, PatchParams},
};
use quintet_harness::faults::{Edge, explore};
use quintet_stage::story::{Step, Story, Walks, each_write_goes_wrong, watches_go_wrong, writes_go_wrong};
use rand::{RngExt, rngs::StdRng};
use serde_json::{Value, json};
use support::{
    base,
    server::{NAMESPACE, OPENSHIFT, play},
    spec,
};

/// The resource on a cluster with all optional APIs.
fn story(steps: Vec<Step>) -> Story {
    let play = play(OPENSHIFT, &[("MLFLOW_URL", "https://gw.test")]);
    // Not what every cluster has, nor what the test made.
    let counts = |id: &str, object: &mut Value| {
        id.starts_with("MLflow ") || id.contains("mlflow") || object.get("ownerReferences").is_some()
    };
    Story { play, steps, counts }
}

/// Says that all of the server's pods are ready, as the Deployment controller would.
fn ready(admin: &Client) -> BoxFuture<'_, ()> {
    async {
        let api: Api<Deployment> = Api::namespaced(admin.clone(), NAMESPACE);
        let deployment = api.get("mlflow").await.expect("the Deployment");
        let replicas = deployment.spec.as_ref().and_then(|spec| spec.replicas);
        let status = json!({ "observedGeneration": deployment.metadata.generation, "replicas": replicas,
            "updatedReplicas": replicas, "readyReplicas": replicas, "availableReplicas": replicas });
        let patch = Patch::Merge(json!({ "status": status }));
        api.patch_status("mlflow", &PatchParams::default(), &patch).await.expect("it is accepted");
    }
    .boxed()
}

/// Everything on, something changed, something off, gone.
fn long_story() -> Story {
    story(vec![
        Step::Create(spec(json!({ "storage": {}, "garbageCollection": { "schedule": "@daily" } }))),
        Step::Change(json!({ "replicas": 2, "env": [{ "name": "A", "value": "b" }] })),
        Step::Change(json!({ "garbageCollection": null, "serviceAccountName": "other" })),
        Step::Do(ready),
    ])
}

#[tokio::test(start_paused = true)]
async fn death_after_any_write_changes_nothing_in_the_end() {
    let deaths = explore::deaths(&long_story()).await;
    assert!(deaths > 15, "{deaths} writes are too few for that story");
}

#[tokio::test(start_paused = true)]
async fn a_deleted_resource_leaves_nothing_behind_whenever_the_process_dies() {
    let story = story(vec![
        Step::Create(spec(json!({ "storage": {}, "garbageCollection": { "schedule": "@daily" } }))),
        Step::Delete,
    ]);
    explore::deaths(&story).await;
    let end = explore::tell(&story, &Edge::new(0)).await;
    let left: Vec<&String> = end.state.keys().filter(|id| !id.contains("operator")).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test(start_paused = true)]
async fn late_broken_and_expired_watches_change_nothing_in_the_end() {
    watches_go_wrong(&long_story()).await;
}

#[tokio::test(start_paused = true)]
async fn refused_conflicting_and_unanswered_writes_change_nothing_in_the_end() {
    writes_go_wrong(&long_story()).await;
}

#[tokio::test(start_paused = true)]
async fn one_write_that_goes_wrong_changes_nothing_in_the_end() {
    each_write_goes_wrong(&long_story()).await;
}

/// One change of one field, as a merge patch.
fn random_change(random: &mut StdRng) -> Value {
    let changes = [
        json!({ "replicas": random.random_range(1..4) }),
        json!({ "workers": random.random_range(1..9) }),
        json!({ "serviceAccountName": (["mlflow-sa", "a", "b"][random.random_range(0..3)]) }),
        json!({ "garbageCollection": { "schedule": "@daily", "olderThan": "7d" } }),
        json!({ "garbageCollection": null }),
        json!({ "storage": {} }),
        json!({ "env": [{ "name": "A", "value": "1" }, { "name": "PGSSLMODE", "value": "disable" }] }),
        json!({ "env": [{ "name": "B", "value": "2" }, { "name": "B", "value": "3" }] }),
        json!({ "env": null }),
        json!({ "podLabels": { "team": "x", "app": "y" } }),
        json!({ "podLabels": null }),
        json!({ "nodeSelector": { "disk": "ssd" }, "affinity": {}, "tolerations": [{ "operator": "Exists" }] }),
        json!({ "nodeSelector": null, "affinity": null, "tolerations": null }),
        json!({ "resources": { "requests": { "memory": "8Gi" } } }),
        json!({ "resources": null }),
        json!({ "serveArtifacts": true, "artifactsDestination": "s3://x" }),
        json!({ "serveArtifacts": false, "artifactsDestination": null }),
        json!({ "networkPolicyAdditionalEgressRules": [{ "ports": [{ "port": 1 }] }] }),
        json!({ "networkPolicyAdditionalEgressRules": null }),
        json!({ "workspaceLabelSelector": { "matchLabels": { "a": "b" } } }),
        json!({ "workspaceLabelSelector": { "matchExpressions": [{ "key": "a", "operator": "Nonsense" }] } }),
        json!({ "workspaceLabelSelector": null }),
        json!({ "backendStoreUri": null, "backendStoreUriFrom": { "name": "db", "key": "uri" } }),
        json!({ "backendStoreUriFrom": null, "backendStoreUri": "postgresql://db-host:5432/mlflow" }),
    ];
    changes[random.random_range(0..changes.len())].clone()
}

/// Everything that a walk may have set, back to what it was.
fn back() -> Value {
    let fields = [
        "serviceAccountName",
        "garbageCollection",
        "env",
        "podLabels",
        "nodeSelector",
        "affinity",
        "tolerations",
        "resources",
        "artifactsDestination",
        "networkPolicyAdditionalEgressRules",
        "workspaceLabelSelector",
        "backendStoreUriFrom",
        "storage",
        "serveArtifacts",
        "replicas",
        "workers",
    ];
    let mut patch: Value = fields.map(|field| (field.to_owned(), Value::Null)).into_iter().collect();
    patch["backendStoreUri"] = base()["backendStoreUri"].clone();
    patch
}

#[tokio::test(start_paused = true)]
async fn a_walk_through_the_fields_ends_as_if_one_had_gone_straight() {
    let straight = story(vec![Step::Create(base())]);
    // By design a claim and accounts of other names stay: see the scenarios.
    let counts = |id: &str, object: &mut Value| {
        let stays = id.starts_with("PersistentVolumeClaim ")
            || (id.starts_with("ServiceAccount ") && !id.ends_with("/mlflow-sa"));
        let is_ours = id.contains("mlflow") || object.get("ownerReferences").is_some();
        is_ours && !stays
    };
    Walks {
        straight: Story { counts, ..straight },
        change: random_change,
        back: back(),
        end: vec![Step::Do(ready)],
        most_writes: 400,
    }
    .take()
    .await;
}
