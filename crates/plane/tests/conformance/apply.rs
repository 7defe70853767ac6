//! Server-side apply.

use serde_json::{Value, json};

use crate::support::{Answer, Case};

async fn apply(case: &Case, manager: &str, data: Value) -> Answer {
    let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": data});
    case.patch("apply", &case.path(&format!("configmaps/c?fieldManager={manager}")), body).await
}

#[tokio::test]
async fn it_creates_what_is_not_there() {
    let case = Case::new().await;
    let made = apply(&case, "a", json!({"x": "1"})).await;
    assert_eq!(made.code, 201);
    assert_eq!(made.at("/metadata/managedFields/0/fieldsV1"), &json!({"f:data": {"f:x": {}}}));
}

#[tokio::test]
async fn a_field_left_out_goes_with_its_last_owner() {
    let case = Case::new().await;
    apply(&case, "a", json!({"x": "1", "y": "1"})).await;
    apply(&case, "b", json!({"x": "1"})).await;
    let left = apply(&case, "a", json!({})).await;
    assert_eq!(left.at("/data"), &json!({"x": "1"}));
    let left = apply(&case, "b", json!({})).await;
    assert_eq!(left.at("/data"), &Value::Null);
}

#[tokio::test]
async fn anothers_value_conflicts_until_forced() {
    let case = Case::new().await;
    apply(&case, "a", json!({"x": "1"})).await;
    let refused = apply(&case, "b", json!({"x": "2"})).await;
    assert_eq!(refused.text("/message"), "Apply failed with 1 conflict: conflict with \"a\": .data.x");
    let forced = apply(&case, "b&force=true", json!({"x": "2"})).await;
    assert_eq!(forced.at("/data/x"), "2");
    let managers = forced.at("/metadata/managedFields").as_array().cloned().unwrap_or_default();
    assert_eq!(managers.len(), 1, "a has nothing left: {managers:?}");
}

#[tokio::test]
async fn the_same_again_changes_nothing() {
    let case = Case::new().await;
    let first = apply(&case, "a", json!({"x": "1"})).await;
    let second = apply(&case, "a", json!({"x": "1"})).await;
    assert_eq!(first.at("/metadata/resourceVersion"), second.at("/metadata/resourceVersion"));
}

#[tokio::test]
async fn ports_are_known_by_number_and_protocol() {
    let case = Case::new().await;
    let service = |ports: Value| json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": ports}});
    let path = |manager: &str| case.path(&format!("services/s?fieldManager={manager}"));
    case.patch("apply", &path("a"), service(json!([{"name": "http", "port": 80}]))).await;
    let both = case
        .patch("apply", &path("b"), service(json!([{"name": "dns", "port": 80, "protocol": "UDP"}])))
        .await;
    assert_eq!(both.at("/spec/ports/0/name"), "http", "{}", both.body);
    assert_eq!(both.at("/spec/ports/1/name"), "dns");
    let less = case.patch("apply", &path("a"), service(json!([{"name": "other", "port": 81}]))).await;
    let ports = less.at("/spec/ports").as_array().cloned().unwrap_or_default();
    assert!(ports.iter().all(|port| port["name"] != "http"), "{ports:?}");
}

#[tokio::test]
async fn what_the_schema_does_not_know_is_refused() {
    let case = Case::new().await;
    let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "nope": 1});
    let refused = case.patch("apply", &case.path("configmaps/c?fieldManager=a"), body).await;
    assert_eq!(refused.code, 500);
    assert!(refused.text("/message").ends_with(".nope: field not declared in schema"), "{}", refused.body);
}

#[tokio::test]
async fn an_update_takes_ownership_of_what_it_changes() {
    let case = Case::new().await;
    apply(&case, "a", json!({"x": "1"})).await;
    case.patch("merge", &case.path("configmaps/c?fieldManager=u"), json!({"data": {"x": "2"}})).await;
    let refused = apply(&case, "a", json!({"x": "1"})).await;
    assert_eq!(
        refused.text("/message"),
        "Apply failed with 1 conflict: conflict with \"u\" using v1: .data.x"
    );
}
