//! Webhooks that admit: what they change and refuse, and those that misbehave.

use axum::routing::post;
use axum::{Json, Router};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::Request;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use plane::Plane;
use serde_json::{Value, json};

use crate::tls::TlsServer;
use crate::{HOST, TRANSPORTS, Transport, plane};

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

/// Installs a webhook on `path`, of phase `Mutating` or `Validating`.
async fn configure(plane: &Plane, phase: &str, ca: &Value, path: &str, changes: Value) {
    let mut hook = json!({
        "name": "wh.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
        "clientConfig": { "service": { "namespace": "default", "name": "hook", "path": path }, "caBundle": ca },
        "rules": [{ "operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"] }],
    });
    for (field, value) in changes.as_object().into_iter().flatten() {
        hook[field] = value.clone();
    }
    let body = json!({ "apiVersion": "admissionregistration.k8s.io/v1", "kind": format!("{phase}WebhookConfiguration"),
        "metadata": { "name": "hooks" }, "webhooks": [hook] });
    let kind = format!("{}webhookconfigurations", phase.to_lowercase());
    let path = format!("/apis/admissionregistration.k8s.io/v1/{kind}");
    let request = Request::post(path).body(body.to_string().into_bytes()).unwrap();
    plane.client().request::<Value>(request).await.unwrap();
}

/// What became of a new ConfigMap: its data, or the refusal's code and message.
async fn create(plane: &Plane, name: &str) -> Result<Value, (u16, String)> {
    let maps: Api<ConfigMap> = Api::default_namespaced(plane.client());
    let map = serde_json::from_value(json!({ "metadata": { "name": name } })).unwrap();
    match maps.create(&PostParams::default(), &map).await {
        Ok(made) => Ok(json!(made.data)),
        Err(kube::Error::Api(status)) => {
            assert!(maps.get_opt(name).await.unwrap().is_none(), "a refusal stores nothing");
            Err((status.code, status.message.clone()))
        }
        Err(error) => panic!("{error}"),
    }
}

/// `/mutate` adds to what is new, `/validate` refuses the name `no` and all deletions.
fn behaving() -> Router {
    let mutate = async |Json(review): Json<Value>| {
        let request = &review["request"];
        let new = request["operation"] == "CREATE";
        assert!(!new || request["object"]["metadata"].get("uid").is_none(), "no uid yet");
        let addition = json!([{ "op": "add", "path": "/data", "value": { "mutated": "yes" } }]);
        respond(&review, if new { patch(&addition) } else { json!({ "allowed": true }) })
    };
    let validate = async |Json(review): Json<Value>| {
        let request = &review["request"];
        let allowed = request["name"] != "no" && request["operation"] != "DELETE";
        let status = json!({ "code": 403, "reason": "Forbidden", "message": "not allowed here" });
        respond(&review, json!({ "allowed": allowed, "status": status, "warnings": ["careful"] }))
    };
    Router::new().route("/mutate", post(mutate)).route("/validate", post(validate))
}

#[tokio::test]
async fn they_change_and_refuse_writes() {
    for transport in TRANSPORTS {
        let (plane, ca) = plane(transport, behaving()).await;
        let rules = json!([{ "operations": ["CREATE", "UPDATE", "DELETE"], "apiGroups": [""], "apiVersions": ["v1"],
            "resources": ["configmaps"] }]);
        configure(&plane, "Mutating", &ca, "/mutate", json!({ "rules": rules })).await;
        configure(&plane, "Validating", &ca, "/validate", json!({ "rules": rules })).await;
        let maps: Api<ConfigMap> = Api::default_namespaced(plane.client());
        assert_eq!(create(&plane, "yes").await, Ok(json!({ "mutated": "yes" })));
        let denied = r#"admission webhook "wh.example.com" denied the request: not allowed here"#;
        assert_eq!(create(&plane, "no").await, Err((403, denied.to_owned())));
        let kept = maps.delete("yes", &DeleteParams::default()).await.unwrap_err();
        assert!(matches!(kept, kube::Error::Api(status) if status.is_forbidden()));
        let applied = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "applied" } });
        let applied = maps.patch("applied", &PatchParams::apply("t"), &Patch::Apply(applied)).await.unwrap();
        assert_eq!(applied.data.unwrap()["mutated"], "yes", "apply to a missing object is a creation");
        plane.webhook_backends().remove("default", "hook");
        assert_eq!(
            create(&plane, "later").await,
            Err((500, r#"Internal error occurred: failed calling webhook "wh.example.com": failed to call webhook: Post "https://hook.default.svc:443/mutate?timeout=10s": service "hook" not found"#.to_owned()))
        );
    }
}

async fn refusal(transport: Transport, path: &str, changes: Value) -> String {
    let (plane, ca) = plane(transport, misbehaving()).await;
    configure(&plane, "Mutating", &ca, path, changes).await;
    let (code, message) = create(&plane, "c").await.expect_err("let through");
    assert_eq!(code, 500, "{message}");
    message
}

async fn passes(transport: Transport, path: &str) {
    let (plane, ca) = plane(transport, misbehaving()).await;
    configure(&plane, "Mutating", &ca, path, json!({ "failurePolicy": "Ignore", "timeoutSeconds": 1 })).await;
    create(&plane, "c").await.unwrap();
}

#[tokio::test]
async fn one_that_hangs_or_crashes_is_told_and_may_be_ignored() {
    for transport in TRANSPORTS {
        for (path, timeout, end) in [("/hang", 1, "context deadline exceeded"), ("/crash", 10, "EOF")] {
            let message = refusal(transport, path, json!({ "timeoutSeconds": timeout })).await;
            let called = format!("https://hook.default.svc:443{path}?timeout={timeout}s");
            assert_eq!(
                message,
                format!(
                    r#"Internal error occurred: failed calling webhook "wh.example.com": failed to call webhook: Post "{called}": {end}"#
                ),
                "{transport:?}"
            );
            passes(transport, path).await;
        }
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
    configure(&plane, "Mutating", &json!(other), "/allow", json!({})).await;
    let (_, message) = create(&plane, "c").await.unwrap_err();
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
        configure(&plane, "Mutating", &ca, "/older", json!({ "admissionReviewVersions": ["v1beta1", "v1"] }))
            .await;
        assert_eq!(
            create(&plane, "c").await,
            Ok(json!({ "asked": "admission.k8s.io/v1beta1" })),
            "{transport:?}"
        );
    }
}
