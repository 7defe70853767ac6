//! Custom resources: schemas, defaults, rules, status, scale.

use serde_json::{Value, json};

use crate::support::Case;

fn version(spec: Value) -> Value {
    let status = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let schema = json!({"type": "object", "properties": {"spec": spec, "status": status}});
    let subresources = json!({"status": {}, "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}});
    json!({"name": "v1", "served": true, "storage": true, "subresources": subresources, "schema": {"openAPIV3Schema": schema}})
}

fn gadget(case: &Case, spec: Value) -> Value {
    json!({"apiVersion": format!("{}.example.com/v1", case.ns), "kind": "Gadget", "metadata": {"name": "g"}, "spec": spec})
}

#[tokio::test]
async fn unknown_fields_are_pruned_and_defaults_filled_in() {
    let case = Case::new().await;
    let spec = json!({"type": "object", "properties": {"size": {"type": "integer", "default": 3}}});
    let path = case.crd("Gadget", version(spec)).await;
    let made = case.post(&path, gadget(&case, json!({"nope": 1}))).await;
    assert_eq!(made.at("/spec"), &json!({"size": 3}), "{}", made.body);
    assert_eq!(made.at("/metadata/generation"), 1);
}

#[tokio::test]
async fn the_schema_is_enforced() {
    let case = Case::new().await;
    let spec = json!({"type": "object", "required": ["color"], "properties": {"color": {"type": "string", "enum": ["red"]}}});
    let path = case.crd("Gadget", version(spec)).await;
    let refused = case.post(&path, gadget(&case, json!({"color": "blue"}))).await;
    assert_eq!(refused.code, 422);
    assert_eq!(
        refused.at("/details/causes/0/message"),
        "Unsupported value: \"blue\": supported values: \"red\""
    );
    let refused = case.post(&path, gadget(&case, json!({}))).await;
    assert_eq!(refused.at("/details/causes/0/field"), "spec.color");
}

#[tokio::test]
async fn rules_see_the_old_object() {
    let case = Case::new().await;
    let fixed = json!({"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "fixed is fixed"}]});
    let path = case.crd("Gadget", version(json!({"type": "object", "properties": {"fixed": fixed}}))).await;
    let made = case.post(&path, gadget(&case, json!({"fixed": "a"}))).await;
    assert_eq!(made.code, 201, "{}", made.body);
    let refused = case.patch("merge", &format!("{path}/g"), json!({"spec": {"fixed": "b"}})).await;
    assert_eq!(
        refused.at("/details/causes/0/message"),
        "Invalid value: \"b\": fixed is fixed",
        "{}",
        refused.body
    );
}

#[tokio::test]
async fn status_and_spec_are_written_apart() {
    let case = Case::new().await;
    let spec = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let path = case.crd("Gadget", version(spec)).await;
    let mut body = gadget(&case, json!({"a": 1}));
    body["status"] = json!({"dropped": true});
    let made = case.post(&path, body).await;
    assert_eq!(made.at("/status"), &Value::Null);
    let patch = json!({"metadata": {"labels": {"x": "y"}}, "spec": {"a": 2}, "status": {"phase": "Ready"}});
    let patched = case.patch("merge", &format!("{path}/g/status"), patch).await;
    assert_eq!((patched.at("/spec/a"), patched.at("/status/phase")), (&json!(1), &json!("Ready")));
    assert_eq!(
        (patched.at("/metadata/labels"), patched.at("/metadata/generation")),
        (&Value::Null, &json!(1))
    );
}

#[tokio::test]
async fn scale_maps_to_the_declared_paths() {
    let case = Case::new().await;
    let spec = json!({"type": "object", "properties": {"replicas": {"type": "integer"}}});
    let path = case.crd("Gadget", version(spec)).await;
    case.post(&path, gadget(&case, json!({"replicas": 1}))).await;
    let scaled = case.patch("merge", &format!("{path}/g/scale"), json!({"spec": {"replicas": 4}})).await;
    assert_eq!(scaled.at("/spec/replicas"), 4, "{}", scaled.body);
    assert_eq!(case.get(&format!("{path}/g")).await.at("/spec/replicas"), 4);
}

#[tokio::test]
async fn an_update_needs_a_version() {
    let case = Case::new().await;
    let path = case
        .crd("Gadget", version(json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})))
        .await;
    case.post(&path, gadget(&case, json!({}))).await;
    let refused = case.put(&format!("{path}/g"), gadget(&case, json!({"a": 1}))).await;
    assert_eq!(refused.at("/details/causes/0/field"), "metadata.resourceVersion", "{}", refused.body);
}

#[tokio::test]
async fn a_schema_that_is_not_structural_is_refused() {
    let case = Case::new().await;
    let schema = json!({"openAPIV3Schema": {"type": "object", "properties": {"a": {"type": "array"}}}});
    let group = format!("{}.example.com", case.ns);
    let versions = json!([{"name": "v1", "served": true, "storage": true, "schema": schema}]);
    let spec = json!({"group": group, "scope": "Cluster", "names": {"plural": "xs", "kind": "X"}, "versions": versions});
    let body = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": format!("xs.{group}")}, "spec": spec});
    let refused = case.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body).await;
    assert_eq!(
        refused.at("/details/causes/0/field"),
        "spec.validation.openAPIV3Schema.properties[a].items",
        "{}",
        refused.body
    );
}

#[tokio::test]
async fn a_deleted_definition_takes_its_objects_along() {
    let case = Case::new().await;
    let path = case
        .crd("Gadget", version(json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})))
        .await;
    case.post(&path, gadget(&case, json!({}))).await;
    let crd =
        format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gadgets.{}.example.com", case.ns);
    case.delete(&crd).await;
    case.until(&crd, |answer| answer.code == 404).await;
    case.until(&path, |answer| answer.code == 404).await;
}
