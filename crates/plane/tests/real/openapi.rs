//! The table of built-in kinds says what the real server publishes.

use std::collections::BTreeMap;

use quintet_harness::{kube::Cluster, or_skip};
use serde_json::{Map, Value, json};

const PREFIX: &str = "#/components/schemas/";
/// The facts the table keeps; prose, and what only clients of other languages need, is left out.
const KEPT: [&str; 9] = [
    "type",
    "format",
    "enum",
    "required",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
    "x-kubernetes-patch-merge-key",
    "x-kubernetes-patch-strategy",
];

#[tokio::test(flavor = "multi_thread")]
async fn the_table_of_built_in_kinds_is_what_the_server_publishes() {
    let cluster = Cluster::shared().await;
    let Some(cluster) = or_skip("the table of built-in kinds against a real server", cluster) else { return };
    let client = cluster.client().await.expect("a client");
    let read = async |path: &str| {
        let request = http::Request::get(path).body(Vec::new()).expect("a request");
        let text = client.request_text(request).await.unwrap_or_else(|e| panic!("{path}: {e}"));
        serde_json::from_str::<Value>(&text).unwrap_or_else(|e| panic!("{path}: {e}"))
    };
    let index = read("/openapi/v3").await;
    let mut published: BTreeMap<String, Value> = BTreeMap::new();
    for (group, entry) in index["paths"].as_object().expect("an index") {
        if !group.starts_with("api") {
            continue;
        }
        let document = read(entry["serverRelativeURL"].as_str().expect("a path")).await;
        for (name, schema) in document["components"]["schemas"].as_object().into_iter().flatten() {
            published.insert(name.clone(), facts(schema));
        }
    }

    let table: Map<String, Value> =
        serde_json::from_str(include_str!("../../src/builtin/schemas.json")).expect("the table is JSON");
    assert!(table.len() > 300, "the table has only {} definitions", table.len());
    let mut wrong = Vec::new();
    for (name, ours) in &table {
        let mut ours = ours.clone();
        // How Go prints zero values is not published, and which kind a schema is of is tested by discovery.
        for key in ["x-go", "x-kubernetes-group-version-kind"] {
            ours.as_object_mut().map(|facts| facts.remove(key));
        }
        match published.get(name) {
            None => wrong.push(format!("{name}: not published")),
            Some(theirs) if theirs != &ours => {
                wrong.push(format!("{name}:\n  real  {theirs}\n  table {ours}"))
            }
            Some(_) => {}
        }
    }
    assert!(wrong.is_empty(), "{} of {} definitions differ:\n{}", wrong.len(), table.len(), wrong.join("\n"));
}

/// The same reduction the table was made with (hack/builtin-schemas.py).
fn facts(schema: &Value) -> Value {
    let Some(fields) = schema.as_object() else { return schema.clone() };
    let mut out: Map<String, Value> =
        KEPT.iter().filter_map(|key| Some((key.to_string(), fields.get(*key)?.clone()))).collect();
    if let Some(default) =
        fields.get("default").filter(|default| !default.is_null() && **default != json!({}))
    {
        out.insert("default".into(), default.clone());
    }
    let nested = fields.get("allOf").and_then(Value::as_array).into_iter().flatten();
    let reference = fields.get("$ref").or_else(|| nested.into_iter().find_map(|part| part.get("$ref")));
    if let Some(reference) = reference.and_then(Value::as_str) {
        out.insert("$ref".into(), json!(reference.strip_prefix(PREFIX).unwrap_or(reference)));
    }
    if let Some(one_of) = fields.get("oneOf") {
        out.insert("oneOf".into(), one_of.clone());
    }
    if let Some(properties) = fields.get("properties").and_then(Value::as_object) {
        let reduced: Map<String, Value> =
            properties.iter().map(|(name, value)| (name.clone(), facts(value))).collect();
        out.insert("properties".into(), Value::Object(reduced));
    }
    for key in ["items", "additionalProperties"] {
        if let Some(inner) = fields.get(key) {
            let mut inner = facts(inner);
            inner.as_object_mut().map(|facts| facts.remove("default"));
            out.insert(key.into(), inner);
        }
    }
    Value::Object(out)
}
