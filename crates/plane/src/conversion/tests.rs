use std::sync::Arc;

use axum::routing::post;
use axum::{Json, Router};
use parking_lot::Mutex;
use serde_json::json;

use super::*;
use crate::webhook::{Backend, Backends};

type Seen = Arc<Mutex<Vec<Value>>>;

/// A converter whose webhook answers by `answer` (given the request), and what it was asked.
fn converter(answer: impl Fn(&Value) -> Value + Clone + Send + Sync + 'static) -> (Converter, Seen) {
    let seen = Seen::default();
    let log = seen.clone();
    let route = post(async move |Json(review): Json<Value>| {
        log.lock().push(review.clone());
        let mut response = answer(&review["request"]);
        if response.get("uid").is_none() {
            response["uid"] = review["request"]["uid"].clone();
        }
        Json(json!({ "apiVersion": review["apiVersion"], "kind": "ConversionReview", "response": response }))
    });
    let backends = Backends::default();
    backends.insert("wl", "conv", Backend::InProcess(Router::new().route("/convert", route)));
    (Converter::new(Caller::new(Arc::new(backends), |_, _| false)), seen)
}

fn webhook() -> Value {
    json!({
        "strategy": "Webhook",
        "webhook": {
            "clientConfig": { "service": { "namespace": "wl", "name": "conv", "path": "/convert" } },
            "conversionReviewVersions": ["v2", "v1"],
        },
    })
}

fn car(version: &str, name: &str) -> Value {
    json!({
        "apiVersion": format!("conv.io/{version}"), "kind": "Car",
        "metadata": { "name": name, "namespace": "wl", "uid": format!("uid-{name}"), "generation": 3, "labels": { "a": "b" } },
    })
}

/// Converts properly, and tries to change more of the metadata than it may.
fn proper(request: &Value) -> Value {
    let objects = request["objects"].as_array().unwrap().iter().map(|object| {
        let mut object = object.clone();
        object["apiVersion"] = request["desiredAPIVersion"].clone();
        object["metadata"]["labels"]["converted"] = json!("yes");
        object["metadata"]["generation"] = json!(99);
        object
    });
    json!({ "result": { "status": "Success" }, "convertedObjects": objects.collect::<Vec<_>>() })
}

async fn failure(answer: Value) -> String {
    let (converter, _) = converter(move |_| answer.clone());
    let to = GroupVersionKind::new("conv.io", "v2", "Car");
    let error = converter.convert(&webhook(), &to, vec![car("v1", "a")]).await.unwrap_err();
    assert_eq!((error.code, error.reason.as_ref()), (500, ""));
    error.message
}

#[tokio::test]
async fn a_list_is_converted_in_one_call_per_source_version() {
    let (converter, seen) = converter(proper);
    let to = GroupVersionKind::new("conv.io", "v2", "Car");
    let objects = vec![car("v1", "a"), car("v2", "b"), car("v1", "c"), car("v3", "d")];
    let converted = converter.convert(&webhook(), &to, objects).await.unwrap();
    let names: Vec<&str> = converted.iter().map(|car| car["metadata"]["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["a", "b", "c", "d"], "order is kept");
    assert!(converted.iter().all(|car| car["apiVersion"] == "conv.io/v2"));
    assert_eq!(converted[0]["metadata"]["labels"], json!({ "a": "b", "converted": "yes" }));
    assert_eq!(converted[0]["metadata"]["generation"], 3, "other metadata is put back");
    let seen = seen.lock();
    assert_eq!(seen.len(), 2);
    assert_eq!(seen[0]["request"]["objects"].as_array().unwrap().len(), 2);
    assert_eq!(seen[0]["apiVersion"], "apiextensions.k8s.io/v1");
    assert_eq!(seen[0]["request"]["desiredAPIVersion"], "conv.io/v2");
}

#[tokio::test]
async fn without_a_webhook_only_the_version_is_rewritten() {
    let (converter, seen) = converter(proper);
    let to = GroupVersionKind::new("conv.io", "v2", "Car");
    let converted =
        converter.convert(&json!({ "strategy": "None" }), &to, vec![car("v1", "a")]).await.unwrap();
    assert_eq!(converted, [car("v2", "a")]);
    assert!(seen.lock().is_empty());
}

#[tokio::test]
async fn failures_read_as_the_real_servers() {
    assert_eq!(
        failure(json!({ "result": { "status": "Failure", "message": "cannot do it" } })).await,
        "conversion webhook for conv.io/v1, Kind=Car failed: cannot do it"
    );
    assert_eq!(
        failure(json!({ "result": { "status": "Success" }, "convertedObjects": [] })).await,
        "conversion webhook for conv.io/v1, Kind=Car returned 0 objects, expected 1"
    );
    let lost = failure(json!({ "uid": "bad", "result": { "status": "Success" } })).await;
    assert!(
        lost.starts_with("conversion webhook for conv.io/v1, Kind=Car failed: expected response.uid="),
        "{lost}"
    );
    assert!(lost.ends_with(", got \"bad\""), "{lost}");
    let mut other = car("v2", "a");
    other["metadata"]["uid"] = json!("zzz");
    assert_eq!(
        failure(json!({ "result": { "status": "Success" }, "convertedObjects": [other] })).await,
        "conversion webhook for conv.io/v1, Kind=Car returned invalid object: must have the same UID: uid-a != zzz"
    );
}

#[tokio::test]
async fn an_unreachable_webhook_is_named() {
    let converter = Converter::new(Caller::new(Arc::default(), |_, _| false));
    let conversion =
        json!({ "strategy": "Webhook", "webhook": { "clientConfig": { "url": "https://127.0.0.1:1/c" } } });
    let to = GroupVersionKind::new("conv.io", "v2", "Car");
    let error = converter.convert(&conversion, &to, vec![car("v1", "a")]).await.unwrap_err();
    assert_eq!(
        error.message,
        r#"conversion webhook for conv.io/v1, Kind=Car failed: Post "https://127.0.0.1:1/c?timeout=30s": dial tcp 127.0.0.1:1: connect: connection refused"#
    );
}
