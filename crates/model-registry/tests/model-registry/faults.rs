//! Whatever goes wrong, the end is the same: death after any write, watches that lag, break and lose their place, writes
//! that are refused or whose answer is lost, and walks through a registry's fields.
//!
//! `QUINTET_WALKS=200` takes as many walks as a release does; by default it is a handful.

use std::{collections::BTreeMap, time::Duration};

use kube::{
    Api,
    api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams},
};
use plane::Plane;
use quintet_api::model_registry::ModelRegistry;
use quintet_harness::faults::{Chaos, Edge, World, explore, objects};
use quintet_kit::{Kind, metrics::Metrics};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use serde_json::{Value, json};

use super::support::{
    base, difference,
    stage::{NAMESPACE, NO_CATALOG, OPENSHIFT, child_kinds, identity, operator, registry, server},
    with,
};

/// What a user does, one step after the other.
enum Step {
    Create(Value),
    Change(Value),
    Delete,
}

/// A cluster with OpenShift's APIs, the operator, and some steps.
struct Steps {
    variables: &'static [(&'static str, &'static str)],
    steps: Vec<Step>,
}

impl Steps {
    fn of_registry(steps: Vec<Step>) -> Self {
        Steps { variables: NO_CATALOG, steps }
    }
}

impl World for Steps {
    type Server = Plane;

    async fn server(&self) -> Plane {
        server(OPENSHIFT, self.variables).await
    }

    async fn operate(&self, plane: &Plane, edge: &Edge) {
        let client = edge.client(plane.service().with_user(identity()));
        let _running = operator(client, self.variables, Metrics::new());
        std::future::pending().await
    }

    async fn story(&self, plane: &Plane, settle: &explore::Settle<'_>) {
        let resource = ModelRegistry::api_resource();
        let api: Api<DynamicObject> = Api::namespaced_with(plane.client(), NAMESPACE, &resource);
        for step in &self.steps {
            match step {
                Step::Create(spec) => {
                    let object = serde_json::from_value(registry("reg", spec.clone())).expect("an object");
                    api.create(&PostParams::default(), &object).await.expect("it is accepted");
                }
                Step::Change(spec) => {
                    let patch = Patch::Merge(json!({ "spec": spec }));
                    api.patch("reg", &PatchParams::default(), &patch).await.expect("it is accepted");
                }
                Step::Delete => drop(api.delete("reg", &DeleteParams::default()).await.expect("it goes")),
            }
            settle.now().await;
        }
        settle.now().await;
    }

    async fn state(&self, plane: &Plane) -> BTreeMap<String, Value> {
        let mut kinds = child_kinds();
        kinds.push(ModelRegistry::api_resource());
        let mut found = objects(&plane.client(), &kinds).await.expect("objects");
        found.retain(|id, _| id.contains("reg") || id.contains("catalog"));
        for (id, object) in &mut found {
            if id.starts_with("Secret ") {
                object["data"] = json!("random"); // made anew in every run
            }
        }
        found
    }
}

/// A database of ours, a proxy, something changed, something off.
fn long_story() -> Steps {
    Steps::of_registry(vec![
        Step::Create(
            json!({ "rest": { "serviceRoute": "enabled" }, "postgres": { "generateDeployment": true } }),
        ),
        Step::Change(json!({ "kubeRBACProxy": {}, "rest": { "serviceRoute": "disabled" } })),
        Step::Change(json!({ "kubeRBACProxy": null, "rest": { "port": 9000 } })),
    ])
}

#[tokio::test(start_paused = true)]
async fn death_after_any_write_changes_nothing_in_the_end() {
    let deaths = explore::deaths(&long_story()).await;
    assert!(deaths > 25, "{deaths} writes are too few for that story");
}

#[tokio::test(start_paused = true)]
async fn a_deleted_registry_leaves_nothing_behind_whenever_the_process_dies() {
    let story = Steps::of_registry(vec![Step::Create(with(json!({ "kubeRBACProxy": {} }))), Step::Delete]);
    explore::deaths(&story).await;
    let end = explore::tell(&story, &Edge::new(0)).await;
    let left: Vec<&String> = end.state.keys().filter(|id| id.contains("reg")).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test(start_paused = true)]
async fn the_catalog_is_the_same_whenever_the_process_dies() {
    const CATALOG: &[(&str, &str)] =
        &[("REGISTRIES_NAMESPACE", NAMESPACE), ("DEFAULT_DOMAIN", "example.com")];
    let deaths = explore::deaths(&Steps { variables: CATALOG, steps: vec![] }).await;
    assert!(deaths > 15, "{deaths} writes are too few for the catalog");
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
    let key = json!({ "name": "n", "key": "k" });
    let changes = [
        json!({ "rest": { "port": random.random_range(8000..8400) } }),
        json!({ "rest": { "serviceRoute": (["enabled", "disabled"][random.random_range(0..2)]) } }),
        json!({ "rest": { "image": "my/registry:1" } }),
        json!({ "rest": { "image": null } }),
        json!({ "rest": { "resources": { "requests": { "memory": "1Gi" } } } }),
        json!({ "rest": { "resources": null } }),
        json!({ "kubeRBACProxy": {} }),
        json!({ "kubeRBACProxy": { "serviceRoute": "disabled", "port": 9443 } }),
        json!({ "kubeRBACProxy": { "tlsCertificateSecret": key, "tlsKeySecret": key, "image": "p:1" } }),
        json!({ "kubeRBACProxy": null }),
        json!({ "postgres": { "host": "pg", "sslMode": "verify-full", "sslRootCertificateSecret": key } }),
        json!({ "postgres": { "host": "pg", "username": "a b", "database": "c/d", "passwordSecret": key } }),
        json!({ "postgres": null }),
        json!({ "mysql": { "verifyServerCert": false, "sslCipher": "", "sslKeySecret": key } }),
        json!({ "mysql": { "verifyServerCert": null, "sslCipher": null, "sslKeySecret": null } }),
        json!({ "grpc": { "port": 1 } }),
    ];
    changes[random.random_range(0..changes.len())].clone()
}

/// Everything that a walk may have set, back to what it was.
fn back() -> Value {
    json!({ "rest": { "port": 8080, "serviceRoute": "disabled", "image": null, "resources": null }, "kubeRBACProxy": null,
        "postgres": null, "grpc": null, "mysql": { "verifyServerCert": null, "sslCipher": null, "sslKeySecret": null } })
}

#[tokio::test(start_paused = true)]
async fn a_walk_through_the_fields_ends_as_if_one_had_gone_straight() {
    let walks: u64 = std::env::var("QUINTET_WALKS").ok().and_then(|n| n.parse().ok()).unwrap_or(3);
    let straight = explore::tell(&Steps::of_registry(vec![Step::Create(base())]), &Edge::new(0)).await.state;
    for seed in 1..=walks {
        let mut random = StdRng::seed_from_u64(seed);
        let mut steps = vec![Step::Create(base())];
        steps.extend((0..20).map(|_| Step::Change(random_change(&mut random))));
        steps.push(Step::Change(back()));
        let edge = Edge::new(seed);
        edge.set_chaos(Chaos { refused: 0.05, unanswered: 0.05, broken_watch: 0.05, ..Chaos::default() });
        let end = explore::tell(&Steps::of_registry(steps), &edge).await;
        assert!(end.writes < 600, "walk {seed}: {} writes for 21 changes is a loop", end.writes);
        let differences = difference(&straight, &end.state);
        assert!(differences.is_empty(), "walk with seed {seed}:\n{differences}");
    }
}
