//! Whatever goes wrong, the end is the same: death after any write, watches that lag, break and lose their place, writes
//! that are refused or whose answer is lost, and walks through the resource's fields.
//!
//! `QUINTET_WALKS=200` takes as many walks as a release does; by default it is a handful.

mod support;

use std::{collections::BTreeMap, time::Duration};

use k8s_openapi::api::apps::v1::Deployment;
use kube::{
    Api,
    api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams},
    discovery::ApiResource,
};
use plane::Plane;
use quintet_api::mlflow::MLflow;
use quintet_harness::faults::{Chaos, Edge, World, explore, objects};
use quintet_kit::metrics::Metrics;
use rand::{RngExt, SeedableRng, rngs::StdRng};
use serde_json::{Value, json};
use support::{
    base, config,
    server::{NAMESPACE, OPENSHIFT, child_kinds, identity, plane},
    spec,
    stage::operator,
};

/// What a user does to the resource, one step after the other: a merge patch of its specification, or its deletion.
enum Step {
    Create(Value),
    Change(Value),
    Ready,
    Delete,
}

/// A cluster with all optional APIs, the operator, and some steps.
struct Steps(Vec<Step>);

impl World for Steps {
    type Server = Plane;

    async fn server(&self) -> Plane {
        plane(OPENSHIFT).await
    }

    async fn operate(&self, plane: &Plane, edge: &Edge) {
        let client = edge.client(plane.service().with_user(identity()));
        let _running = operator(client, config(&[("MLFLOW_URL", "https://gw.test")]), Metrics::new());
        std::future::pending().await
    }

    async fn story(&self, plane: &Plane, settle: &explore::Settle<'_>) {
        let api: Api<DynamicObject> = Api::all_with(plane.client(), &ApiResource::erase::<MLflow>(&()));
        for step in &self.0 {
            match step {
                Step::Create(spec) => {
                    let object = json!({ "apiVersion": "mlflow.opendatahub.io/v1", "kind": "MLflow",
                        "metadata": { "name": "mlflow" }, "spec": spec });
                    let object = serde_json::from_value(object).expect("an object");
                    api.create(&PostParams::default(), &object).await.expect("it is accepted");
                }
                Step::Change(spec) => {
                    let patch = Patch::Merge(json!({ "spec": spec }));
                    api.patch("mlflow", &PatchParams::default(), &patch).await.expect("it is accepted");
                }
                Step::Ready => ready(plane).await,
                Step::Delete => drop(api.delete("mlflow", &DeleteParams::default()).await.expect("it goes")),
            }
            settle.now().await;
        }
    }

    async fn state(&self, plane: &Plane) -> BTreeMap<String, Value> {
        let mut kinds = child_kinds();
        kinds.push(ApiResource::erase::<MLflow>(&()));
        let mut found = objects(&plane.client(), &kinds).await.expect("objects");
        // What every cluster has, and what the test made.
        found.retain(|id, object| {
            id.starts_with("MLflow ") || id.contains("mlflow") || object.get("ownerReferences").is_some()
        });
        found
    }
}

/// Says that all of the server's pods are ready, as the Deployment controller would.
async fn ready(plane: &Plane) {
    let api: Api<Deployment> = Api::namespaced(plane.client(), NAMESPACE);
    let deployment = api.get("mlflow").await.expect("the Deployment");
    let replicas = deployment.spec.as_ref().and_then(|spec| spec.replicas);
    let status = json!({ "observedGeneration": deployment.metadata.generation, "replicas": replicas,
        "updatedReplicas": replicas, "readyReplicas": replicas, "availableReplicas": replicas });
    let patch = Patch::Merge(json!({ "status": status }));
    api.patch_status("mlflow", &PatchParams::default(), &patch).await.expect("it is accepted");
}

/// Everything on, something changed, something off, gone.
fn long_story() -> Steps {
    Steps(vec![
        Step::Create(spec(json!({ "storage": {}, "garbageCollection": { "schedule": "@daily" } }))),
        Step::Change(json!({ "replicas": 2, "env": [{ "name": "A", "value": "b" }] })),
        Step::Change(json!({ "garbageCollection": null, "serviceAccountName": "other" })),
        Step::Ready,
    ])
}

#[tokio::test(start_paused = true)]
async fn death_after_any_write_changes_nothing_in_the_end() {
    let deaths = explore::deaths(&long_story()).await;
    assert!(deaths > 15, "{deaths} writes are too few for that story");
}

#[tokio::test(start_paused = true)]
async fn a_deleted_resource_leaves_nothing_behind_whenever_the_process_dies() {
    let story = Steps(vec![
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
    let chaos =
        Chaos { broken_watch: 0.2, expired_watch: 0.3, lag: Duration::from_secs(20), ..Chaos::default() };
    explore::chaos(&long_story(), &chaos, 1..=3).await;
}

#[tokio::test(start_paused = true)]
async fn refused_conflicting_and_unanswered_writes_change_nothing_in_the_end() {
    let chaos = Chaos { refused: 0.2, unanswered: 0.2, conflict: 0.2, ..Chaos::default() };
    explore::chaos(&long_story(), &chaos, 1..=3).await;
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
    let walks: u64 = std::env::var("QUINTET_WALKS").ok().and_then(|n| n.parse().ok()).unwrap_or(3);
    let straight = Steps(vec![Step::Create(base()), Step::Ready]);
    let straight = explore::tell(&straight, &Edge::new(0)).await.state;
    for seed in 1..=walks {
        let mut random = StdRng::seed_from_u64(seed);
        let mut steps = vec![Step::Create(base())];
        steps.extend((0..20).map(|_| Step::Change(random_change(&mut random))));
        steps.extend([Step::Change(back()), Step::Ready]);
        let edge = Edge::new(seed);
        edge.set_chaos(Chaos { refused: 0.05, unanswered: 0.05, broken_watch: 0.05, ..Chaos::default() });
        let end = explore::tell(&Steps(steps), &edge).await;
        assert!(end.writes < 400, "walk {seed}: {} writes for 21 changes is a loop", end.writes);
        // By design a claim and accounts of other names stay: see the scenarios.
        let mut end = end.state;
        end.retain(|id, _| {
            !id.starts_with("PersistentVolumeClaim ")
                && (!id.starts_with("ServiceAccount ") || id.ends_with("/mlflow-sa"))
        });
        let differences = support::difference(&straight, &end);
        assert!(differences.is_empty(), "walk with seed {seed}:\n{differences}");
    }
}
