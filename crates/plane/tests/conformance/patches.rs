//! The three patches that are not apply.

use serde_json::{Value, json};

use super::objects::deployment;
use crate::support::Case;

#[tokio::test]
async fn merge_patch_deletes_by_null_and_replaces_lists() {
    let case = Case::new().await;
    case.config_map("c", json!({"a": "1", "b": "2"})).await;
    let patched =
        case.patch("merge", &case.path("configmaps/c"), json!({"data": {"a": null, "c": "3"}})).await;
    assert_eq!(patched.at("/data"), &json!({"b": "2", "c": "3"}));
}

#[tokio::test]
async fn a_version_in_a_patch_is_a_precondition() {
    let case = Case::new().await;
    case.config_map("c", json!({"a": "1"})).await;
    let body = json!({"metadata": {"resourceVersion": "1"}, "data": {"a": "2"}});
    assert_eq!(case.patch("merge", &case.path("configmaps/c"), body).await.code, 409);
}

#[tokio::test]
async fn json_patch_tests_before_it_writes() {
    let case = Case::new().await;
    case.config_map("c", json!({"a": "1"})).await;
    let failing =
        json!([{"op": "test", "path": "/data/a", "value": "2"}, {"op": "remove", "path": "/data/a"}]);
    let refused = case.patch("json", &case.path("configmaps/c"), failing).await;
    assert_eq!((refused.code, refused.text("/reason")), (422, "Invalid"));
    assert_eq!(case.get(&case.path("configmaps/c")).await.at("/data/a"), "1");
}

#[tokio::test]
async fn the_patch_kube_adds_a_finalizer_with() {
    let case = Case::new().await;
    case.config_map("c", json!({})).await;
    let body = json!([
        {"op": "test", "path": "/metadata/finalizers", "value": null},
        {"op": "add", "path": "/metadata/finalizers", "value": ["x.io/f"]},
    ]);
    let patched = case.patch("json", &case.path("configmaps/c"), body).await;
    assert_eq!(patched.at("/metadata/finalizers"), &json!(["x.io/f"]));
    case.patch("merge", &case.path("configmaps/c"), json!({"metadata": {"finalizers": null}})).await;
}

#[tokio::test]
async fn strategic_merge_knows_containers_by_name() {
    let case = Case::new().await;
    let path = deployment(&case, 0).await;
    let body = json!({"spec": {"template": {"spec": {"containers": [{"name": "side", "image": "s"}]}}}});
    let patched = case.patch("strategic", &path, body).await;
    let containers = patched.at("/spec/template/spec/containers").as_array().cloned().unwrap_or_default();
    let names: Vec<&Value> = containers.iter().map(|container| &container["name"]).collect();
    assert_eq!(names, ["side", "c"]);
    let body =
        json!({"spec": {"template": {"spec": {"containers": [{"name": "side", "$patch": "delete"}]}}}});
    let patched = case.patch("strategic", &path, body).await;
    assert_eq!(patched.at("/spec/template/spec/containers/0/name"), "c");
}

#[tokio::test]
async fn status_is_a_resource_of_its_own() {
    let case = Case::new().await;
    let path = deployment(&case, 0).await;
    let ignored = case.patch("merge", &path, json!({"status": {"replicas": 7}})).await;
    assert_ne!(ignored.at("/status/replicas"), 7);
    let body = json!({"spec": {"replicas": 5}, "status": {"collisionCount": 7}});
    let patched = case.patch("merge", &format!("{path}/status"), body).await;
    assert_eq!((patched.at("/status/collisionCount"), patched.at("/spec/replicas")), (&json!(7), &json!(0)));
}

#[tokio::test]
async fn scale_is_read_and_written() {
    let case = Case::new().await;
    let path = deployment(&case, 0).await;
    let scaled = case.patch("merge", &format!("{path}/scale"), json!({"spec": {"replicas": 2}})).await;
    assert_eq!((scaled.at("/kind"), scaled.at("/spec/replicas")), (&json!("Scale"), &json!(2)));
    assert_eq!(scaled.text("/status/selector"), "a=b");
    assert_eq!(case.get(&path).await.at("/spec/replicas"), 2);
}
