use std::{net::SocketAddr, sync::Arc};

use axum::{Json, Router, extract::Path, routing::post};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto,
    service::TowerToHyperService,
};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// A webhook server whose answers are in its paths, so that a scenario's file says all:
/// `/allow`, `/warn/{text}`, `/deny/{code}/{message}`, `/label/{value}` (sets the label `hooked`), `/bare-deny`,
/// `/wrong-uid`, `/patch-nowhere`, `/broken` (HTTP 500), `/convert` (renames `spec.old` to `spec.new` between v1 and v2),
/// `/convert-fail/{message}`.
pub(crate) struct Webhook {
    address: SocketAddr,
    certificate: String,
}

impl Webhook {
    pub(crate) async fn start() -> Webhook {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(vec!["127.0.0.1".into(), "localhost".into()]).expect("a certificate");
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(signing_key.serialize_der()));
        let config = rustls::ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(vec![cert.der().clone()], key)
            .expect("a usable certificate");
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port on loopback");
        let address = listener.local_addr().expect("a bound socket");
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let acceptor = acceptor.clone();
                tokio::spawn(async move {
                    // A client that does not trust us hangs up here, which is its right.
                    let Ok(stream) = acceptor.accept(stream).await else { return };
                    let service = TowerToHyperService::new(router());
                    let _ = auto::Builder::new(TokioExecutor::new())
                        .serve_connection(TokioIo::new(stream), service)
                        .await;
                });
            }
        });
        Webhook { address, certificate: STANDARD.encode(cert.pem()) }
    }

    pub(crate) fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// For `caBundle`.
    pub(crate) fn ca(&self) -> String {
        self.certificate.clone()
    }
}

fn router() -> Router {
    let allow = |review: &Value| json!({"uid": review["request"]["uid"], "allowed": true});
    let respond = |review: Value, response: Value| {
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
