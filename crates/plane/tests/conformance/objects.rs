//! The life of an object: creation, versions, generation, finalizers, owners.

use serde_json::{Value, json};

use crate::support::Case;

#[tokio::test]
async fn a_new_object_gets_its_identity() {
    let case = Case::new().await;
    let made = case.config_map("c", json!({"a": "1"})).await;
    for pointer in ["/metadata/uid", "/metadata/resourceVersion", "/metadata/creationTimestamp"] {
        assert!(!made.text(pointer).is_empty(), "{pointer}");
    }
    assert_eq!(made.at("/metadata/namespace"), &json!(case.ns));
    assert_eq!(made.at("/metadata/generation"), &Value::Null, "config maps have none");
}

#[tokio::test]
async fn a_generated_name() {
    let case = Case::new().await;
    let made = case.post(&case.path("configmaps"), json!({"metadata": {"generateName": "gen-"}})).await;
    let suffix = made.text("/metadata/name").strip_prefix("gen-").unwrap_or_default().to_owned();
    assert!(
        suffix.len() == 5 && suffix.chars().all(|c| "bcdfghjklmnpqrstvwxz2456789".contains(c)),
        "{suffix}"
    );
}

#[tokio::test]
async fn a_stale_update_conflicts() {
    let case = Case::new().await;
    let made = case.config_map("c", json!({"a": "1"})).await;
    case.patch("merge", &case.path("configmaps/c"), json!({"data": {"a": "2"}})).await;
    let refused = case.put(&case.path("configmaps/c"), made.body.clone()).await;
    assert_eq!((refused.code, refused.text("/reason")), (409, "Conflict"));
}

#[tokio::test]
async fn an_update_that_changes_nothing_keeps_the_version() {
    let case = Case::new().await;
    let made = case.config_map("c", json!({"a": "1"})).await;
    let again = case.put(&case.path("configmaps/c"), made.body.clone()).await;
    assert_eq!(again.at("/metadata/resourceVersion"), made.at("/metadata/resourceVersion"));
}

#[tokio::test]
async fn a_dry_run_stores_nothing() {
    let case = Case::new().await;
    let body = json!({"metadata": {"name": "d"}});
    assert_eq!(case.post(&case.path("configmaps?dryRun=All"), body).await.code, 201);
    assert_eq!(case.get(&case.path("configmaps/d")).await.code, 404);
}

#[tokio::test]
async fn generation_counts_changes_of_the_spec() {
    let case = Case::new().await;
    let path = deployment(&case, 0).await;
    let labelled = case.patch("merge", &path, json!({"metadata": {"labels": {"x": "y"}}})).await;
    assert_eq!(labelled.at("/metadata/generation"), 1);
    let changed = case.patch("merge", &path, json!({"spec": {"minReadySeconds": 3}})).await;
    assert_eq!(changed.at("/metadata/generation"), 2);
}

/// A paused Deployment, which no controller touches while it has no replicas.
pub(crate) async fn deployment(case: &Case, replicas: u32) -> String {
    let template =
        json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let spec = json!({"replicas": replicas, "paused": replicas == 0, "selector": {"matchLabels": {"a": "b"}}, "template": template});
    let body =
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec});
    let made = case.post(&case.path("deployments.apps/v1"), body).await;
    assert_eq!(made.code, 201, "{}", made.body);
    case.path("deployments.apps/v1/d")
}

#[tokio::test]
async fn a_finalizer_delays_deletion() {
    let case = Case::new().await;
    let body = json!({"metadata": {"name": "f", "finalizers": ["x.io/f"]}});
    case.post(&case.path("configmaps"), body).await;
    let deleted = case.delete(&case.path("configmaps/f")).await;
    assert!(!deleted.text("/metadata/deletionTimestamp").is_empty());
    assert_eq!(case.get(&case.path("configmaps/f")).await.code, 200);
    case.patch("merge", &case.path("configmaps/f"), json!({"metadata": {"finalizers": null}})).await;
    assert_eq!(case.get(&case.path("configmaps/f")).await.code, 404);
}

#[tokio::test]
async fn a_dependent_goes_with_its_owner() {
    let case = Case::new().await;
    let owner = case.config_map("owner", json!({})).await;
    let reference =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner.text("/metadata/uid")});
    let body = json!({"metadata": {"name": "child", "ownerReferences": [reference]}});
    assert_eq!(case.post(&case.path("configmaps"), body).await.code, 201);
    case.delete(&case.path("configmaps/owner")).await;
    case.until(&case.path("configmaps/child"), |answer| answer.code == 404).await;
}

#[tokio::test]
async fn orphans_stay_without_their_reference() {
    let case = Case::new().await;
    let owner = case.config_map("owner", json!({})).await;
    let reference =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner.text("/metadata/uid")});
    case.post(
        &case.path("configmaps"),
        json!({"metadata": {"name": "child", "ownerReferences": [reference]}}),
    )
    .await;
    case.delete(&case.path("configmaps/owner?propagationPolicy=Orphan")).await;
    case.until(&case.path("configmaps/owner"), |answer| answer.code == 404).await;
    let child = case.get(&case.path("configmaps/child")).await;
    assert_eq!((child.code, child.at("/metadata/ownerReferences")), (200, &Value::Null));
}

#[tokio::test]
async fn a_namespace_empties_itself() {
    let case = Case::new().await;
    case.config_map("c", json!({})).await;
    let path = format!("/api/v1/namespaces/{}", case.ns);
    assert_eq!(case.delete(&path).await.at("/status/phase"), "Terminating");
    case.until(&path, |answer| answer.code == 404).await;
    assert_eq!(case.get(&case.path("configmaps/c")).await.code, 404);
}

#[tokio::test]
async fn a_generated_namespace_is_labelled_with_its_name() {
    let case = Case::new().await; // whose namespace has a generated name
    let space = case.get(&format!("/api/v1/namespaces/{}", case.ns)).await;
    assert_eq!(space.at("/metadata/labels/kubernetes.io~1metadata.name"), case.ns.as_str());
    assert!(
        !space.at("/metadata/managedFields/0/fieldsV1").to_string().contains("f:labels"),
        "nobody set it"
    );
}

#[tokio::test]
async fn every_namespace_gets_an_account_and_the_root_certificate() {
    let case = Case::new().await;
    case.until(&case.path("serviceaccounts/default"), |answer| answer.code == 200).await;
    let certificate =
        case.until(&case.path("configmaps/kube-root-ca.crt"), |answer| answer.code == 200).await;
    assert!(certificate.text("/data/ca.crt").starts_with("-----BEGIN CERTIFICATE-----"));
}

#[tokio::test]
async fn deleting_a_collection_takes_what_matches() {
    let case = Case::new().await;
    for name in ["a", "b"] {
        case.post(&case.path("secrets"), json!({"metadata": {"name": name, "labels": {"n": name}}})).await;
    }
    let deleted = case.delete(&case.path("secrets?labelSelector=n%3Da")).await;
    assert_eq!(deleted.at("/items/0/metadata/name"), "a");
    assert_eq!(case.get(&case.path("secrets/a")).await.code, 404);
    assert_eq!(case.get(&case.path("secrets/b")).await.code, 200);
}
