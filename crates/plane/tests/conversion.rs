//! A custom resource in two versions with a conversion webhook, read and written in both through the API.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::routing::post;
use axum::{Json, Router};
use futures::StreamExt;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DynamicObject, ListParams, PostParams, WatchEvent, WatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client};
use plane::Plane;
use plane::webhook::Backend;
use serde_json::{Value, json};

/// `v1` has `spec.size`, `v2` has `spec.dimensions.size`. Refuses everything while `broken`.
fn webhook(broken: Arc<AtomicBool>) -> Router {
    let convert = async move |Json(review): Json<Value>| {
        let request = &review["request"];
        let desired = request["desiredAPIVersion"].as_str().unwrap();
        let converted: Vec<Value> =
            request["objects"].as_array().unwrap().iter().map(|car| one(car, desired)).collect();
        let result = if broken.load(Ordering::Relaxed) {
            json!({ "status": "Failure", "message": "cannot do it" })
        } else {
            json!({ "status": "Success" })
        };
        let response = json!({ "uid": request["uid"], "convertedObjects": converted, "result": result });
        Json(json!({ "apiVersion": review["apiVersion"], "kind": "ConversionReview", "response": response }))
    };
    Router::new().route("/convert", post(convert))
}

fn one(car: &Value, desired: &str) -> Value {
    let mut car = car.clone();
    let size =
        car.pointer("/spec/size").or(car.pointer("/spec/dimensions/size")).cloned().unwrap_or_default();
    car["spec"] = if desired.ends_with("v1") {
        json!({ "size": size })
    } else {
        json!({ "dimensions": { "size": size } })
    };
    car["apiVersion"] = json!(desired);
    car
}

fn definition() -> CustomResourceDefinition {
    let version = |name: &str, storage: bool| {
        json!({ "name": name, "served": true, "storage": storage, "schema": { "openAPIV3Schema": { "type": "object",
            "properties": { "spec": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } } } } })
    };
    serde_json::from_value(json!({
        "metadata": { "name": "cars.conv.io" },
        "spec": {
            "group": "conv.io", "scope": "Namespaced", "names": { "plural": "cars", "kind": "Car" },
            "versions": [version("v1", true), version("v2", false)],
            "conversion": { "strategy": "Webhook", "webhook": { "conversionReviewVersions": ["v1"],
                "clientConfig": { "service": { "namespace": "default", "name": "conv", "path": "/convert" } } } },
        },
    }))
    .unwrap()
}

fn cars(client: &Client, version: &str) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("conv.io", version, "Car");
    Api::default_namespaced_with(client.clone(), &ApiResource::from_gvk_with_plural(&kind, "cars"))
}

fn car(version: &str, name: &str, spec: Value) -> DynamicObject {
    let car = json!({ "apiVersion": format!("conv.io/{version}"), "kind": "Car", "metadata": { "name": name }, "spec": spec });
    serde_json::from_value(car).unwrap()
}

async fn served(broken: Arc<AtomicBool>) -> (Plane, Client) {
    let plane = Plane::new();
    plane.webhook_backends().insert("default", "conv", Backend::InProcess(webhook(broken)));
    let client = plane.client();
    Api::<CustomResourceDefinition>::all(client.clone())
        .create(&PostParams::default(), &definition())
        .await
        .unwrap();
    (plane, client)
}

#[tokio::test]
async fn both_versions_are_read_and_written() {
    let (_plane, client) = served(Arc::default()).await;
    let (first, second) = (cars(&client, "v1"), cars(&client, "v2"));
    first.create(&PostParams::default(), &car("v1", "a", json!({ "size": 1 }))).await.unwrap();
    let made = second
        .create(&PostParams::default(), &car("v2", "b", json!({ "dimensions": { "size": 2 } })))
        .await
        .unwrap();
    assert_eq!(
        made.data["spec"],
        json!({ "dimensions": { "size": 2 } }),
        "answered in the version asked for"
    );
    assert_eq!(first.get("b").await.unwrap().data["spec"], json!({ "size": 2 }));
    assert_eq!(second.get("a").await.unwrap().data["spec"], json!({ "dimensions": { "size": 1 } }));
    let list = second.list(&ListParams::default()).await.unwrap();
    let sizes: Vec<&Value> = list.items.iter().map(|car| &car.data["spec"]["dimensions"]["size"]).collect();
    assert_eq!(sizes, [&json!(1), &json!(2)]);
}

#[tokio::test]
async fn a_watch_converts_what_it_tells() {
    let (_plane, client) = served(Arc::default()).await;
    let (first, second) = (cars(&client, "v1"), cars(&client, "v2"));
    let version = second.list(&ListParams::default()).await.unwrap().metadata.resource_version.unwrap();
    let mut events = second.watch(&WatchParams::default(), &version).await.unwrap().boxed();
    first.create(&PostParams::default(), &car("v1", "a", json!({ "size": 7 }))).await.unwrap();
    let Some(Ok(WatchEvent::Added(seen))) = events.next().await else { panic!("no event") };
    assert_eq!(seen.data["spec"], json!({ "dimensions": { "size": 7 } }));
    assert_eq!(seen.types.unwrap().api_version, "conv.io/v2");
}

#[tokio::test]
async fn a_conversion_that_fails_is_told_in_the_real_servers_words() {
    let broken = Arc::new(AtomicBool::new(false));
    let (_plane, client) = served(broken.clone()).await;
    cars(&client, "v1").create(&PostParams::default(), &car("v1", "a", json!({ "size": 1 }))).await.unwrap();
    broken.store(true, Ordering::Relaxed);
    let error = cars(&client, "v2").get("a").await.unwrap_err();
    let kube::Error::Api(status) = error else { panic!("{error}") };
    assert_eq!((status.code, status.reason.as_str()), (500, ""));
    assert_eq!(status.message, "conversion webhook for conv.io/v1, Kind=Car failed: cannot do it");
    broken.store(false, Ordering::Relaxed);
    assert!(cars(&client, "v2").get("a").await.is_ok(), "and passes when the webhook is well again");
}
