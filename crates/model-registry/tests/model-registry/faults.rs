//! Whatever goes wrong, the end is the same: death after any write, watches that lag, break and lose their place, writes
//! that are refused or whose answer is lost, and walks through a registry's fields.
//!
//! `QUINTET_WALKS=200` takes as many walks as a release does; by default it is a handful.

use std::{collections::BTreeMap, time::Duration};

use plane::Plane;
use quintet_harness::faults::{Edge, World, explore};
use quintet_stage::{
    stage::create,
    story::{Step, Story, Walks, each_write_goes_wrong, watches_go_wrong, writes_go_wrong},
};
use rand::{RngExt, rngs::StdRng};
use serde_json::{Value, json};

use super::{
    migration::{MIGRATING, stored_in_both, stored_versions},
    support::{
        base,
        stage::{CATALOG, NAMESPACE, NO_CATALOG, OPENSHIFT, play, registry},
        with,
    },
};

/// The registry on a cluster with OpenShift's APIs.
fn story(variables: &[(&str, &str)], steps: Vec<Step>) -> Story {
    let counts = |id: &str, object: &mut Value| {
        if id.starts_with("Secret ") {
            object["data"] = json!("random"); // made anew in every run
        }
        id.contains("reg") || id.contains("catalog") || id.starts_with("ModelRegistry ")
    };
    Story { play: play(OPENSHIFT, variables), steps, counts }
}

/// A database of ours, a proxy, something changed, something off.
fn long_story() -> Story {
    let steps = vec![
        Step::Create(
            json!({ "rest": { "serviceRoute": "enabled" }, "postgres": { "generateDeployment": true } }),
        ),
        Step::Change(json!({ "kubeRBACProxy": {}, "rest": { "serviceRoute": "disabled" } })),
        Step::Change(json!({ "kubeRBACProxy": null, "rest": { "port": 9000 } })),
    ];
    story(NO_CATALOG, steps)
}

#[tokio::test(start_paused = true)]
async fn death_after_any_write_changes_nothing_in_the_end() {
    let deaths = explore::deaths(&long_story()).await;
    assert!(deaths > 25, "{deaths} writes are too few for that story");
}

#[tokio::test(start_paused = true)]
async fn a_deleted_registry_leaves_nothing_behind_whenever_the_process_dies() {
    let story = story(NO_CATALOG, vec![Step::Create(with(json!({ "kubeRBACProxy": {} }))), Step::Delete]);
    explore::deaths(&story).await;
    let end = explore::tell(&story, &Edge::new(0)).await;
    let left: Vec<&String> = end.state.keys().filter(|id| id.contains("reg")).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test(start_paused = true)]
async fn the_catalog_is_the_same_whenever_the_process_dies() {
    let deaths = explore::deaths(&story(CATALOG, vec![])).await;
    assert!(deaths > 15, "{deaths} writes are too few for the catalog");
}

#[tokio::test(start_paused = true)]
async fn late_broken_and_expired_watches_change_nothing_in_the_end() {
    watches_go_wrong(&long_story()).await;
    watches_go_wrong(&story(CATALOG, vec![])).await;
}

#[tokio::test(start_paused = true)]
async fn refused_conflicting_and_unanswered_writes_change_nothing_in_the_end() {
    writes_go_wrong(&long_story()).await;
    writes_go_wrong(&story(CATALOG, vec![])).await;
}

#[tokio::test(start_paused = true)]
async fn one_write_that_goes_wrong_changes_nothing_in_the_end() {
    each_write_goes_wrong(&long_story()).await;
    each_write_goes_wrong(&story(CATALOG, vec![])).await;
    let gone = vec![Step::Create(with(json!({ "kubeRBACProxy": {} }))), Step::Delete];
    each_write_goes_wrong(&story(NO_CATALOG, gone)).await;
}

/// Two registries that may be stored in the old version, before the operator starts.
struct Stored(Story);

impl World for Stored {
    type Server = Plane;

    async fn server(&self) -> Plane {
        let plane = self.0.server().await;
        let admin = plane.client();
        for name in ["a", "b"] {
            create(&admin, NAMESPACE, registry(name, base())).await.expect("it is accepted");
        }
        stored_in_both(&admin).await;
        plane
    }

    async fn operate(&self, plane: &Plane, edge: &Edge) {
        self.0.operate(plane, edge).await;
    }

    async fn story(&self, plane: &Plane, settle: &explore::Settle<'_>) {
        self.0.story(plane, settle).await;
        tokio::time::sleep(Duration::from_secs(1200)).await; // a migration that failed is tried again
        assert_eq!(stored_versions(&plane.client()).await, json!(["v1beta1"]));
    }

    async fn state(&self, plane: &Plane) -> BTreeMap<String, Value> {
        let mut found = self.0.state(plane).await;
        let registries = found.iter_mut().filter(|(id, _)| id.starts_with("ModelRegistry "));
        for (_, registry) in registries {
            let notes =
                registry["metadata"]["annotations"].as_object_mut().expect("it says that it was moved");
            notes.values_mut().for_each(|note| *note = json!("some time"));
        }
        found
    }
}

#[tokio::test(start_paused = true)]
async fn a_migration_ends_the_same_whenever_the_process_dies_or_a_write_goes_wrong() {
    let stored = Stored(story(MIGRATING, vec![]));
    assert!(explore::deaths(&stored).await > 10);
    each_write_goes_wrong(&stored).await;
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
    let straight = story(NO_CATALOG, vec![Step::Create(base())]);
    Walks { straight, change: random_change, back: back(), end: vec![], most_writes: 600 }.take().await;
}
