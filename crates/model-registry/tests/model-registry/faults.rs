//! Whatever goes wrong, the end is the same: death after any write, watches that lag, break and lose their place, writes
//! that are refused or whose answer is lost, and walks through a registry's fields.
//!
//! `QUINTET_WALKS=200` takes as many walks as a release does; by default it is a handful.

use quintet_harness::faults::{Edge, explore};
use quintet_stage::story::{Step, Story, Walks, watches_go_wrong, writes_go_wrong};
use rand::{RngExt, rngs::StdRng};
use serde_json::{Value, json};

use super::support::{
    base,
    stage::{CATALOG, NO_CATALOG, OPENSHIFT, play},
    with,
};

/// The registry on a cluster with OpenShift's APIs.
fn story(variables: &[(&str, &str)], steps: Vec<Step>) -> Story {
    let counts = |id: &str, object: &mut Value| {
        if id.starts_with("Secret ") {
            object["data"] = json!("random"); // made anew in every run
        }
        id.contains("reg") || id.contains("catalog")
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
