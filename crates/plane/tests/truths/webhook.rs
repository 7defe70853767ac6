use axum::{Json, Router, extract::Path, routing::post};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use crate::tls::TlsServer;

/// A webhook server whose answers are in its paths, so that a scenario's file says all:
/// `/allow`, `/warn/{text}`, `/deny/{code}/{message}`, `/label/{value}` (sets the label `hooked`), `/bare-deny`,
/// `/append/{letter}` (to the label `seen`), `/patch/{base64}`, `/untyped/{base64}` (a patch without its type),
/// `/show/{pointer}` (denies with that part of the object, dots for slashes), `/wrong-uid`, `/wrong-version`, `/absent`
/// (no response), `/garbage` (no JSON), `/patch-nowhere`, `/broken` (HTTP 500), `/hang`, `/crash` (hangs up),
/// `/convert` (renames `spec.old` to `spec.new` between v1 and v2), `/convert-fail/{message}`, and conversions that lie:
/// `/convert-none`, `/convert-uid`, `/convert-other`.
pub(crate) struct Webhook(TlsServer);

impl Webhook {
    pub(crate) async fn start() -> Webhook {
        Webhook(TlsServer::start(router(), &[]).await)
    }

    pub(crate) fn url(&self) -> String {
        format!("https://{}", self.0.address)
    }

    /// For `caBundle`.
    pub(crate) fn ca(&self) -> String {
        self.0.ca.clone()
    }
}

fn router() -> Router {
    let allow: Allow = |review| json!({"uid": review["request"]["uid"], "allowed": true});
    let respond: Respond = |review, response| {
        Json(json!({"apiVersion": review["apiVersion"], "kind": "AdmissionReview", "response": response}))
    };
    Router::new()
        .route(
            "/allow",
            post(move |Json(r): Json<Value>| async move {
                let a = allow(&r);
                respond(r, a)
            }),
        )
        .route(
            "/warn/{text}",
            post(move |Path(text): Path<String>, Json(r): Json<Value>| async move {
                let mut answer = allow(&r);
                answer["warnings"] = json!([text]);
                respond(r, answer)
            }),
        )
        .route(
            "/deny/{code}/{message}",
            post(move |Path((code, message)): Path<(u16, String)>, Json(r): Json<Value>| async move {
                let status = json!({"code": code, "message": message, "reason": "Forbidden"});
                let answer = json!({"uid": r["request"]["uid"], "allowed": false, "status": status});
                respond(r, answer)
            }),
        )
        .route(
            "/bare-deny",
            post(move |Json(r): Json<Value>| async move {
                let answer = json!({"uid": r["request"]["uid"], "allowed": false});
                respond(r, answer)
            }),
        )
        .route(
            "/label/{value}",
            post(move |Path(value): Path<String>, Json(r): Json<Value>| async move {
                let has_labels = r["request"]["object"]["metadata"]["labels"].is_object();
                let patch = if has_labels {
                    json!([{"op": "add", "path": "/metadata/labels/hooked", "value": value}])
                } else {
                    json!([{"op": "add", "path": "/metadata/labels", "value": {"hooked": value}}])
                };
                let mut answer = allow(&r);
                answer["patchType"] = json!("JSONPatch");
                answer["patch"] = json!(STANDARD.encode(patch.to_string()));
                respond(r, answer)
            }),
        )
        .route(
            "/patch-nowhere",
            post(move |Json(r): Json<Value>| async move {
                let mut answer = allow(&r);
                answer["patchType"] = json!("JSONPatch");
                answer["patch"] = json!(STANDARD.encode(r#"[{"op":"remove","path":"/nope/x"}]"#));
                respond(r, answer)
            }),
        )
        .route(
            "/wrong-uid",
            post(move |Json(r): Json<Value>| async move { respond(r, json!({"uid": "x", "allowed": true})) }),
        )
        .merge(patches(allow, respond))
        .merge(lies(respond))
        .route("/broken", post(|| async { (http::StatusCode::INTERNAL_SERVER_ERROR, "oops") }))
        .route("/convert", post(|Json(r): Json<Value>| async move { Json(converted(&r)) }))
        .route(
            "/convert-fail/{message}",
            post(|Path(message): Path<String>, Json(r): Json<Value>| async move {
                Json(json!({
                    "apiVersion": r["apiVersion"], "kind": "ConversionReview",
                    "response": {"uid": r["request"]["uid"], "convertedObjects": [],
                                 "result": {"status": "Failure", "message": message}},
                }))
            }),
        )
}

type Allow = fn(&Value) -> Value;
type Respond = fn(Value, Value) -> Json<Value>;

/// Webhooks that change things.
fn patches(allow: Allow, respond: Respond) -> Router {
    let patched = move |review: Value, patch: String, typed: bool| {
        let mut answer = allow(&review);
        answer["patch"] = json!(patch);
        if typed {
            answer["patchType"] = json!("JSONPatch");
        }
        respond(review, answer)
    };
    Router::new()
        .route(
            "/append/{letter}",
            post(move |Path(letter): Path<String>, Json(r): Json<Value>| async move {
                let labels = &r["request"]["object"]["metadata"]["labels"];
                let seen = format!("{}{letter}", labels["seen"].as_str().unwrap_or_default());
                let patch = json!([{"op": "add", "path": "/metadata/labels/seen", "value": seen}]);
                patched(r, STANDARD.encode(patch.to_string()), true)
            }),
        )
        .route(
            "/patch/{patch}",
            post(move |Path(patch): Path<String>, Json(r): Json<Value>| async move { patched(r, patch, true) }),
        )
        .route(
            "/untyped/{patch}",
            post(move |Path(patch): Path<String>, Json(r): Json<Value>| async move { patched(r, patch, false) }),
        )
}

/// Webhooks that do not answer as they should.
fn lies(respond: Respond) -> Router {
    Router::new()
        .route(
            "/show/{pointer}",
            post(move |Path(pointer): Path<String>, Json(r): Json<Value>| async move {
                let part = r["request"].pointer(&format!("/{}", pointer.replace('.', "/"))).cloned();
                let message = part.unwrap_or_default().to_string();
                let answer =
                    json!({"uid": r["request"]["uid"], "allowed": false, "status": {"message": message}});
                respond(r, answer)
            }),
        )
        .route(
            "/wrong-version",
            post(|Json(r): Json<Value>| async move {
                let version = if r["apiVersion"] == "admission.k8s.io/v1" { "v1beta1" } else { "v1" };
                Json(json!({"apiVersion": format!("admission.k8s.io/{version}"), "kind": "AdmissionReview",
                    "response": {"uid": r["request"]["uid"], "allowed": true}}))
            }),
        )
        .route(
            "/absent",
            post(|Json(r): Json<Value>| async move {
                Json(json!({"apiVersion": r["apiVersion"], "kind": "AdmissionReview"}))
            }),
        )
        .route("/garbage", post(|| async { "no JSON" }))
        .route("/hang", post(|| async { std::future::pending::<()>().await }))
        .route("/crash", post(crash))
        .route("/convert-none", post(|Json(r): Json<Value>| async move { Json(lied(&r, |_| None)) }))
        .route(
            "/convert-uid",
            post(|Json(r): Json<Value>| async move {
                let mut answer = converted(&r);
                answer["response"]["uid"] = json!("bad");
                Json(answer)
            }),
        )
        .route(
            "/convert-other",
            post(|Json(r): Json<Value>| async move {
                Json(lied(&r, |mut object| {
                    object["metadata"]["uid"] = json!("zzz");
                    Some(object)
                }))
            }),
        )
}

/// Ends the connection in the middle of things.
async fn crash() -> &'static str {
    panic!("this webhook crashes, as it was asked to")
}

/// A conversion whose objects are tampered with.
fn lied(review: &Value, tamper: impl Fn(Value) -> Option<Value>) -> Value {
    let mut answer = converted(review);
    let objects = answer["response"]["convertedObjects"].as_array().cloned().unwrap_or_default();
    answer["response"]["convertedObjects"] = objects.into_iter().filter_map(tamper).collect();
    answer
}

/// v1 says `spec.old`, v2 says `spec.new`.
fn converted(review: &Value) -> Value {
    let wanted = &review["request"]["desiredAPIVersion"];
    let (from, to) =
        if wanted.as_str().unwrap_or_default().ends_with("v2") { ("old", "new") } else { ("new", "old") };
    let convert = |object: &Value| {
        let mut object = object.clone();
        object["apiVersion"] = wanted.clone();
        if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut)
            && let Some(value) = spec.remove(from)
        {
            spec.insert(to.into(), value);
        }
        object
    };
    let objects: Vec<Value> =
        review["request"]["objects"].as_array().into_iter().flatten().map(convert).collect();
    json!({
        "apiVersion": review["apiVersion"], "kind": "ConversionReview",
        "response": {"uid": review["request"]["uid"], "convertedObjects": objects, "result": {"status": "Success"}},
    })
}
