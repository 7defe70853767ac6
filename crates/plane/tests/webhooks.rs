//! Webhooks that misbehave, each asked in this process and over real HTTPS: admission and conversion alike.

#[path = "support/tls.rs"]
mod tls;

use axum::routing::post;
use axum::{Json, Router};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures::StreamExt;
use http::Request;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DynamicObject, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client};
use plane::Plane;
use plane::webhook::Backend;
use serde_json::{Value, json};
use tls::TlsServer;

const HOST: &str = "hook.default.svc";

/// How the webhook's Service is reached.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Transport {
    InProcess,
    Https,
}

const TRANSPORTS: [Transport; 2] = [Transport::InProcess, Transport::Https];

/// A plane whose Service `hook` is this router, and the `caBundle` to trust.
async fn plane(transport: Transport, router: Router) -> (Plane, Value) {
    let plane = Plane::new();
    let (backend, ca) = match transport {
        Transport::InProcess => (Backend::InProcess(router), Value::Null),
        Transport::Https => {
            let server = TlsServer::start(router, &[HOST]).await;
            (Backend::Address(server.address), json!(server.ca))
        }
    };
    plane.webhook_backends().insert("default", "hook", backend);
    (plane, ca)
}

fn respond(review: &Value, response: Value) -> Json<Value> {
    let mut response = response;
    if response.get("uid").is_none() {
        response["uid"] = review["request"]["uid"].clone();
    }
    Json(json!({ "apiVersion": review["apiVersion"], "kind": "AdmissionReview", "response": response }))
}

fn patch(operations: &Value) -> Value {
    json!({ "allowed": true, "patchType": "JSONPatch", "patch": STANDARD.encode(operations.to_string()) })
}

/// Admission webhooks by what is wrong with them.
fn misbehaving() -> Router {
    async fn crash() -> &'static str {
        panic!("this webhook crashes, as it was asked to")
    }
    let nowhere = json!([{ "op": "remove", "path": "/nope/x" }]);
    let wrong = json!([{ "op": "add", "path": "/data", "value": 5 }]);
    Router::new()
        .route("/allow", post(async |Json(r): Json<Value>| respond(&r, json!({ "allowed": true }))))
        .route("/hang", post(async || std::future::pending::<()>().await))
        .route("/crash", post(crash))
        .route("/lie", post(async |Json(r): Json<Value>| respond(&r, json!({ "uid": "x", "allowed": true }))))
        .route("/nowhere", post(async move |Json(r): Json<Value>| respond(&r, patch(&nowhere))))
        .route("/wrong", post(async move |Json(r): Json<Value>| respond(&r, patch(&wrong))))
        .route("/garbage", post(async || "no JSON"))
}

async fn configure(plane: &Plane, ca: &Value, path: &str, changes: Value) {
    let mut hook = json!({
        "name": "wh.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
        "clientConfig": { "service": { "namespace": "default", "name": "hook", "path": path }, "caBundle": ca },
        "rules": [{ "operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"] }],
    });
    for (field, value) in changes.as_object().into_iter().flatten() {
        hook[field] = value.clone();
    }
    let body = json!({ "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
        "metadata": { "name": "hooks" }, "webhooks": [hook] });
    let path = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
    let request = Request::post(path).body(body.to_string().into_bytes()).unwrap();
    plane.client().request::<Value>(request).await.unwrap();
}

/// What became of a new ConfigMap: its data, or the refusal's code and message.
async fn create(plane: &Plane) -> Result<Value, (u16, String)> {
    let maps: Api<ConfigMap> = Api::default_namespaced(plane.client());
    let map = serde_json::from_value(json!({ "metadata": { "name": "c" } })).unwrap();
    match maps.create(&PostParams::default(), &map).await {
        Ok(made) => Ok(json!(made.data)),
        Err(kube::Error::Api(status)) => {
            assert!(maps.get_opt("c").await.unwrap().is_none(), "a refusal stores nothing");
            Err((status.code, status.message.clone()))
        }
        Err(error) => panic!("{error}"),
    }
}

async fn refusal(transport: Transport, path: &str, changes: Value) -> String {
    let (plane, ca) = plane(transport, misbehaving()).await;
    configure(&plane, &ca, path, changes).await;
    let (code, message) = create(&plane).await.expect_err("let through");
    assert_eq!(code, 500, "{message}");
    message
}

async fn passes(transport: Transport, path: &str) {
    let (plane, ca) = plane(transport, misbehaving()).await;
    configure(&plane, &ca, path, json!({ "failurePolicy": "Ignore", "timeoutSeconds": 1 })).await;
    create(&plane).await.unwrap();
}

#[tokio::test]
async fn one_that_hangs_is_given_up_and_may_be_ignored() {
    for transport in TRANSPORTS {
        let message = refusal(transport, "/hang", json!({ "timeoutSeconds": 1 })).await;
        assert_eq!(
            message,
            r#"Internal error occurred: failed calling webhook "wh.example.com": failed to call webhook: Post "https://hook.default.svc:443/hang?timeout=1s": context deadline exceeded"#,
            "{transport:?}"
        );
        passes(transport, "/hang").await;
    }
}

#[tokio::test]
async fn one_that_crashes_is_an_end_of_file_and_may_be_ignored() {
    for transport in TRANSPORTS {
        let message = refusal(transport, "/crash", json!({})).await;
        assert_eq!(
            message,
            r#"Internal error occurred: failed calling webhook "wh.example.com": failed to call webhook: Post "https://hook.default.svc:443/crash?timeout=10s": EOF"#,
            "{transport:?}"
        );
        passes(transport, "/crash").await;
    }
}

#[tokio::test]
async fn one_that_lies_about_the_question_is_not_believed() {
    for transport in TRANSPORTS {
        let message = refusal(transport, "/lie", json!({})).await;
        assert!(message.contains("received invalid webhook response: expected response.uid="), "{message}");
        passes(transport, "/lie").await;
        let message = refusal(transport, "/garbage", json!({})).await;
        assert!(message.contains("couldn't get version/kind; json parse error"), "{message}");
        passes(transport, "/garbage").await;
    }
}

#[tokio::test]
async fn a_bad_patch_changes_nothing_whatever_the_policy() {
    for transport in TRANSPORTS {
        for changes in [json!({}), json!({ "failurePolicy": "Ignore" })] {
            assert_eq!(
                refusal(transport, "/nowhere", changes.clone()).await,
                r#"Internal error occurred: remove operation does not apply: doc is missing path: "/nope/x": missing value"#
            );
            assert_eq!(
                refusal(transport, "/wrong", changes).await,
                "Internal error occurred: json: cannot unmarshal number into Go struct field ConfigMap.data of type map[string]string"
            );
        }
    }
}

#[tokio::test]
async fn a_certificate_that_the_bundle_does_not_cover_is_refused() {
    let (plane, _) = plane(Transport::Https, misbehaving()).await;
    let other = TlsServer::start(Router::new(), &[HOST]).await.ca;
    configure(&plane, &json!(other), "/allow", json!({})).await;
    let (_, message) = create(&plane).await.unwrap_err();
    assert!(message.ends_with("x509: certificate signed by unknown authority"), "{message}");
}

#[tokio::test]
async fn the_older_review_is_spoken_where_it_is_asked_for() {
    // Says in which version it was asked, and leaves out what only the newer one must say.
    let older = post(async |Json(r): Json<Value>| {
        let operations = json!([{ "op": "add", "path": "/data", "value": { "asked": r["apiVersion"] } }]);
        Json(json!({ "apiVersion": r["apiVersion"], "kind": "AdmissionReview",
            "response": { "allowed": true, "patch": STANDARD.encode(operations.to_string()) } }))
    });
    for transport in TRANSPORTS {
        let (plane, ca) = plane(transport, Router::new().route("/older", older.clone())).await;
        configure(&plane, &ca, "/older", json!({ "admissionReviewVersions": ["v1beta1", "v1"] })).await;
        assert_eq!(create(&plane).await, Ok(json!({ "asked": "admission.k8s.io/v1beta1" })), "{transport:?}");
    }
}

/// `v1` has `spec.size`, `v2` has `spec.dimensions.size`.
fn converter() -> Router {
    let convert = async |Json(review): Json<Value>| {
        let request = &review["request"];
        let desired = request["desiredAPIVersion"].as_str().unwrap();
        let objects = request["objects"].as_array().unwrap().iter().map(|car| {
            let mut car = car.clone();
            let size = car.pointer("/spec/size").or(car.pointer("/spec/dimensions/size")).cloned();
            let size = size.unwrap_or_default();
            car["spec"] = if desired.ends_with("v1") {
                json!({ "size": size })
            } else {
                json!({ "dimensions": { "size": size } })
            };
            car["apiVersion"] = json!(desired);
            car
        });
        let response = json!({ "uid": request["uid"], "convertedObjects": objects.collect::<Vec<_>>(),
            "result": { "status": "Success" } });
        Json(json!({ "apiVersion": review["apiVersion"], "kind": "ConversionReview", "response": response }))
    };
    Router::new().route("/convert", post(convert))
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

#[tokio::test]
async fn conversion_serves_reads_lists_and_watches_in_both_versions() {
    for transport in TRANSPORTS {
        let (plane, ca) = plane(transport, converter()).await;
        let client = plane.client();
        let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
        definitions.create(&PostParams::default(), &definition(&ca, "v1")).await.unwrap();
        let (first, second) = (cars(&client, "v1"), cars(&client, "v2"));
        let start = second.list(&ListParams::default()).await.unwrap().metadata.resource_version.unwrap();
        first.create(&PostParams::default(), &car("v1", "a", json!({ "size": 1 }))).await.unwrap();
        second
            .create(&PostParams::default(), &car("v2", "b", json!({ "dimensions": { "size": 2 } })))
            .await
            .unwrap();
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
        let (plane, ca) = plane(transport, converter()).await;
        let client = plane.client();
        let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
        definitions.create(&PostParams::default(), &definition(&ca, "v1")).await.unwrap();
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
