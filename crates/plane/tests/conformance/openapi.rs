//! The published schemas, as far as clients read them.

use serde_json::{Value, json};

use crate::support::Case;

#[tokio::test]
async fn the_index_names_a_document_per_group_version() {
    let case = Case::new().await;
    let index = case.get("/openapi/v3").await;
    assert_eq!(index.code, 200);
    for group in ["api/v1", "apis/apps/v1", "apis/batch/v1", "apis/rbac.authorization.k8s.io/v1"] {
        let path = &index.body["paths"][group]["serverRelativeURL"];
        let path = path.as_str().unwrap_or_else(|| panic!("{group} has no document"));
        assert!(path.starts_with(&format!("/openapi/v3/{group}?hash=")), "{path}");
        assert_eq!(case.get(path).await.code, 200, "{path}");
    }
}

#[tokio::test]
async fn a_kind_is_found_in_schemas_and_operations() {
    let case = Case::new().await;
    let document = case.get("/openapi/v3/apis/apps/v1").await;
    let schema = &document.body["components"]["schemas"]["io.k8s.api.apps.v1.Deployment"];
    let kind = json!({"group": "apps", "kind": "Deployment", "version": "v1"});
    assert_eq!(schema["x-kubernetes-group-version-kind"], json!([kind]), "a list on a schema");
    let patch = &document.body["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"];
    assert_eq!(patch["x-kubernetes-group-version-kind"], kind, "an object on an operation");
    let content = patch["requestBody"]["content"].as_object().cloned().unwrap_or_default();
    assert!(content.contains_key("application/strategic-merge-patch+json"), "{content:?}");
    let parameters = patch["parameters"].as_array().cloned().unwrap_or_default();
    assert!(parameters.iter().any(|p| p["name"] == "fieldValidation"), "kubectl looks for it");
}

#[tokio::test]
async fn list_types_and_merge_keys_are_published() {
    let case = Case::new().await;
    let document = case.get("/openapi/v3/api/v1").await;
    let containers =
        &document.body["components"]["schemas"]["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"];
    assert_eq!(containers["x-kubernetes-list-map-keys"], json!(["name"]));
    assert_eq!(containers["x-kubernetes-patch-merge-key"], "name");
    let ports =
        &document.body["components"]["schemas"]["io.k8s.api.core.v1.Container"]["properties"]["ports"];
    assert_eq!(ports["x-kubernetes-list-map-keys"], json!(["containerPort", "protocol"]));
    assert_eq!(ports["x-kubernetes-patch-merge-key"], "containerPort");
}

#[tokio::test]
async fn a_custom_resource_is_published_under_its_reversed_group() {
    let case = Case::new().await;
    let spec =
        json!({"type": "object", "properties": {"size": {"type": "integer", "description": "how big"}}});
    let schema = json!({"type": "object", "properties": {"spec": spec}});
    let version =
        json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}});
    case.crd("Gadget", version).await;
    let path = format!("/openapi/v3/apis/{}.example.com/v1", case.ns);
    let name = format!("com.example.{}.v1.Gadget", case.ns);
    let found = |answer: &crate::support::Answer| !answer.body["components"]["schemas"][&name].is_null();
    let document = case.until(&path, found).await;
    let schema = &document.body["components"]["schemas"][&name];
    assert_eq!(schema["properties"]["spec"]["properties"]["size"]["type"], "integer");
    let paths = document.body["paths"].as_object().cloned().unwrap_or_default();
    let named =
        paths.iter().find(|(path, _)| path.ends_with("/gadgets/{name}")).map(|(_, item)| item.clone());
    let content = named.unwrap_or_default()["patch"]["requestBody"]["content"].clone();
    assert!(content["application/merge-patch+json"].is_object(), "{content}");
    assert_eq!(content["application/strategic-merge-patch+json"], Value::Null, "custom resources have none");
}

#[tokio::test]
async fn the_second_version_still_exists() {
    let case = Case::new().await;
    let document = case.get("/openapi/v2").await;
    assert_eq!((document.code, document.at("/swagger")), (200, &json!("2.0")));
    assert!(document.body["definitions"]["io.k8s.api.apps.v1.Deployment"].is_object());
}
