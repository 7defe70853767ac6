//! Tables, as kubectl prints them.

use serde_json::{Value, json};

use crate::support::{Answer, Case};

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

fn columns(answer: &Answer) -> Vec<String> {
    let all = answer.at("/columnDefinitions").as_array().cloned().unwrap_or_default();
    all.iter().map(|column| column["name"].as_str().unwrap_or_default().to_owned()).collect()
}

#[tokio::test]
async fn a_list_of_config_maps() {
    let case = Case::new().await;
    case.config_map("aaa", json!({"a": "1", "b": "2"})).await;
    let table = case.get_as(&case.path("configmaps"), TABLE).await;
    assert_eq!(
        (table.at("/kind"), columns(&table)),
        (&json!("Table"), vec!["Name".into(), "Data".into(), "Age".into()])
    );
    assert_eq!((table.at("/rows/0/cells/0"), table.at("/rows/0/cells/1")), (&json!("aaa"), &json!(2)));
    assert_eq!(table.at("/rows/0/object/kind"), "PartialObjectMetadata");
}

#[tokio::test]
async fn a_deployment_and_its_wide_columns() {
    let case = Case::new().await;
    let path = super::objects::deployment(&case, 0).await;
    let table = case.get_as(&path, TABLE).await;
    let wanted = ["Name", "Ready", "Up-to-date", "Available", "Age", "Containers", "Images", "Selector"];
    assert_eq!(columns(&table), wanted);
    assert_eq!(table.at("/columnDefinitions/5/priority"), 1);
    assert_eq!(table.at("/rows/0/cells/1"), "0/0");
}

#[tokio::test]
async fn a_custom_resource_prints_its_columns() {
    let case = Case::new().await;
    let spec = json!({"type": "object", "properties": {"color": {"type": "string"}}});
    let schema = json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}});
    let printed = json!([{"name": "Color", "type": "string", "jsonPath": ".spec.color"}]);
    let version = json!({"name": "v1", "served": true, "storage": true, "schema": schema, "additionalPrinterColumns": printed});
    let path = case.crd("Gadget", version).await;
    let body = json!({"apiVersion": format!("{}.example.com/v1", case.ns), "kind": "Gadget", "metadata": {"name": "g"}, "spec": {"color": "red"}});
    assert_eq!(case.post(&path, body).await.code, 201);
    let table = case.get_as(&path, TABLE).await;
    assert_eq!(columns(&table), ["Name", "Color"]);
    assert_eq!(table.at("/rows/0/cells"), &json!(["g", "red"]));
}

#[tokio::test]
async fn a_watch_names_its_columns_once() {
    let case = Case::new().await;
    for name in ["a", "b"] {
        case.post(&case.path("secrets"), json!({"metadata": {"name": name}})).await;
    }
    let mut request = crate::support::request("GET", &case.path("secrets?watch=true"), &Value::Null);
    request.headers_mut().insert("accept", TABLE.parse().expect("a media type"));
    let seen = crate::support::events(case.client(), request, 2).await;
    assert!(seen[0]["object"]["columnDefinitions"].is_array());
    assert_eq!(seen[1]["object"]["columnDefinitions"], Value::Null);
    assert_eq!(seen[1]["object"]["rows"][0]["cells"][0], "b");
}
