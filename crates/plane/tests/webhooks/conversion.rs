//! A custom resource in two versions with a conversion webhook, read and written in both.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::routing::post;
use axum::{Json, Router};
use futures::StreamExt;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DynamicObject, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client};
use plane::Plane;
use serde_json::{Value, json};

use crate::{TRANSPORTS, Transport, plane};

/// `v1` has `spec.size`, `v2` has `spec.dimensions.size`. Refuses everything while `broken`.
fn converter(broken: Arc<AtomicBool>) -> Router {
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

fn definition(ca: &Value, stored: &str) -> CustomResourceDefinition {
    let version = |name: &str| {
        json!({ "name": name, "served": true, "storage": name == stored, "schema": { "openAPIV3Schema": { "type": "object",
            "properties": { "spec": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } } } } })
    };
    serde_json::from_value(json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "cars.conv.io" },
        "spec": {
            "group": "conv.io", "scope": "Namespaced", "names": { "plural": "cars", "kind": "Car" },
            "versions": [version("v1"), version("v2")],
            "conversion": { "strategy": "Webhook", "webhook": { "conversionReviewVersions": ["v1"], "clientConfig": {
                "service": { "namespace": "default", "name": "hook", "path": "/convert" }, "caBundle": ca } } },
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

/// A plane with the definition, which stores `v1`, and its `caBundle`.
async fn served(transport: Transport, broken: Arc<AtomicBool>) -> (Plane, Client, Value) {
    let (plane, ca) = plane(transport, converter(broken)).await;
    let client = plane.client();
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    definitions.create(&PostParams::default(), &definition(&ca, "v1")).await.unwrap();
    (plane, client, ca)
}

#[tokio::test]
async fn conversion_serves_reads_lists_and_watches_in_both_versions() {
    for transport in TRANSPORTS {
        let (_plane, client, _) = served(transport, Arc::default()).await;
        let (first, second) = (cars(&client, "v1"), cars(&client, "v2"));
        let start = second.list(&ListParams::default()).await.unwrap().metadata.resource_version.unwrap();
        first.create(&PostParams::default(), &car("v1", "a", json!({ "size": 1 }))).await.unwrap();
        let large = json!({ "dimensions": { "size": 2 } });
        let made = second.create(&PostParams::default(), &car("v2", "b", large.clone())).await.unwrap();
        assert_eq!(made.data["spec"], large, "answered in the version asked for");
        assert_eq!(first.get("b").await.unwrap().data["spec"], json!({ "size": 2 }), "{transport:?}");
        let sizes = async |api: &Api<DynamicObject>, pointer: &str| {
            let list = api.list(&ListParams::default()).await.unwrap();
            list.items.iter().map(|car| car.data.pointer(pointer).cloned().unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(sizes(&first, "/spec/size").await, [1, 2]);
        assert_eq!(sizes(&second, "/spec/dimensions/size").await, [1, 2]);
        let mut events = second.watch(&WatchParams::default(), &start).await.unwrap().boxed();
        for size in [1, 2] {
            let Some(Ok(WatchEvent::Added(seen))) = events.next().await else { panic!("no event") };
            assert_eq!(seen.types.unwrap().api_version, "conv.io/v2");
            assert_eq!(seen.data["spec"], json!({ "dimensions": { "size": size } }));
        }
    }
}

#[tokio::test]
async fn another_stored_version_keeps_what_is_there_and_is_written_with_the_next_change() {
    for transport in TRANSPORTS {
        let (plane, client, ca) = served(transport, Arc::default()).await;
        let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
        let (first, second) = (cars(&client, "v1"), cars(&client, "v2"));
        first.create(&PostParams::default(), &car("v1", "a", json!({ "size": 1 }))).await.unwrap();
        let apply = Patch::Apply(definition(&ca, "v2"));
        let changed =
            definitions.patch("cars.conv.io", &PatchParams::apply("t").force(), &apply).await.unwrap();
        let stored = changed.status.unwrap().stored_versions.unwrap();
        assert_eq!(stored, ["v1", "v2"], "the old one counts until it is migrated");
        assert_eq!(first.get("a").await.unwrap().data["spec"], json!({ "size": 1 }));
        let before = second.get("a").await.unwrap();
        // Written back as it is: nothing changes but the version in which it is kept.
        let after = second.replace("a", &PostParams::default(), &before).await.unwrap();
        assert_ne!(
            after.metadata.resource_version, before.metadata.resource_version,
            "the migration is a write"
        );
        assert_eq!(after.metadata.generation, before.metadata.generation);
        assert_eq!(after.data["spec"], json!({ "dimensions": { "size": 1 } }));
        // Now that nothing is kept in v1, the webhook is not needed to read v2.
        plane.webhook_backends().remove("default", "hook");
        assert_eq!(second.get("a").await.unwrap().data["spec"], json!({ "dimensions": { "size": 1 } }));
        assert!(first.get("a").await.is_err(), "but it is to read v1");
    }
}

#[tokio::test]
async fn a_conversion_that_fails_is_told_in_the_real_servers_words() {
    for transport in TRANSPORTS {
        let broken = Arc::new(AtomicBool::new(false));
        let (_plane, client, _) = served(transport, broken.clone()).await;
        cars(&client, "v1")
            .create(&PostParams::default(), &car("v1", "a", json!({ "size": 1 })))
            .await
            .unwrap();
        broken.store(true, Ordering::Relaxed);
        let error = cars(&client, "v2").get("a").await.unwrap_err();
        let kube::Error::Api(status) = error else { panic!("{error}") };
        assert_eq!((status.code, status.reason.as_str()), (500, ""));
        assert_eq!(status.message, "conversion webhook for conv.io/v1, Kind=Car failed: cannot do it");
        broken.store(false, Ordering::Relaxed);
        assert!(cars(&client, "v2").get("a").await.is_ok(), "and passes when the webhook is well again");
    }
}
