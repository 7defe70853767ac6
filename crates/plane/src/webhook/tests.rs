use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::{StatusCode, Uri};
use axum::routing::post;
use bytes::Bytes;
use serde_json::json;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::*;

/// A certificate authority and a TLS server that answers with the path it was called on.
struct Server {
    address: std::net::SocketAddr,
    ca_bundle: String,
}

async fn serve(names: &[&str]) -> Server {
    let mut ca = rcgen::CertificateParams::default();
    ca.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let ca_key = rcgen::KeyPair::generate().unwrap();
    let ca_certificate = ca.self_signed(&ca_key).unwrap();
    let issuer = rcgen::Issuer::new(ca, ca_key);
    let key = rcgen::KeyPair::generate().unwrap();
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    let leaf = rcgen::CertificateParams::new(names).unwrap().signed_by(&key, &issuer).unwrap();
    let config =
        rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![leaf.der().clone()],
                rustls::pki_types::PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
            )
            .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let acceptor = TlsAcceptor::from(Arc::new(config));
        while let Ok((tcp, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let Ok(tls) = acceptor.accept(tcp).await else { return };
                let service = hyper_util::service::TowerToHyperService::new(echo());
                let io = hyper_util::rt::TokioIo::new(tls);
                let _ = hyper::server::conn::http1::Builder::new().serve_connection(io, service).await;
            });
        }
    });
    Server { address, ca_bundle: STANDARD.encode(ca_certificate.pem()) }
}

fn echo() -> Router {
    Router::new()
        .route("/oops", post(async || (StatusCode::INTERNAL_SERVER_ERROR, "oops")))
        .route("/hang", post(async || std::future::pending::<()>().await))
        .fallback(async |uri: Uri| uri.to_string())
}

fn caller(backends: Backends) -> Caller {
    Caller::new(Arc::new(backends), |_, name| name == "idle")
}

fn config(value: serde_json::Value) -> ClientConfig {
    serde_json::from_value(value).unwrap()
}

fn service(name: &str, path: &str, ca_bundle: &str) -> ClientConfig {
    config(json!({ "service": { "namespace": "wl", "name": name, "path": path }, "caBundle": ca_bundle }))
}

async fn failure(caller: &Caller, config: &ClientConfig) -> String {
    caller.post(config, 10, Bytes::new()).await.unwrap_err().to_string()
}

#[tokio::test]
async fn a_service_in_process_is_called_without_sockets() {
    let backends = Backends::default();
    backends.insert("wl", "hook", Backend::InProcess(echo()));
    let caller = caller(backends);
    let answer = caller.post(&service("hook", "/p", ""), 10, Bytes::new()).await.unwrap();
    assert_eq!(answer, "/p?timeout=10s");
    assert_eq!(
        failure(&caller, &service("hook", "/oops", "")).await,
        r#"an error on the server ("oops") has prevented the request from succeeding"#
    );
}

#[tokio::test]
async fn a_service_with_an_address_is_called_over_tls_under_its_own_name() {
    let server = serve(&["hook.wl.svc"]).await;
    let backends = Backends::default();
    backends.insert("wl", "hook", Backend::Address(server.address));
    backends.insert("wl", "other", Backend::Address(server.address));
    let caller = caller(backends);
    let answer = caller.post(&service("hook", "/p", &server.ca_bundle), 10, Bytes::new()).await.unwrap();
    assert_eq!(answer, "/p?timeout=10s");
    let unknown = serve(&["x"]).await.ca_bundle;
    for bundle in [unknown.as_str(), ""] {
        assert_eq!(
            failure(&caller, &service("hook", "/p", bundle)).await,
            r#"Post "https://hook.wl.svc:443/p?timeout=10s": tls: failed to verify certificate: x509: certificate signed by unknown authority"#
        );
    }
    let misnamed = failure(&caller, &service("other", "/p", &server.ca_bundle)).await;
    assert!(
        misnamed.contains("x509: certificate is not valid for any names, but wanted to match other.wl.svc"),
        "{misnamed}"
    );
}

#[tokio::test]
async fn a_url_is_called_as_it_stands() {
    let server = serve(&["127.0.0.1"]).await;
    let caller = caller(Backends::default());
    let url = format!("https://{}/x?a=b", server.address);
    let answer =
        caller.post(&config(json!({ "url": url, "caBundle": server.ca_bundle })), 5, Bytes::new()).await;
    assert_eq!(answer.unwrap(), "/x?a=b&timeout=5s");
}

#[tokio::test]
async fn what_cannot_be_reached_is_said_in_gos_words() {
    let caller = caller(Backends::default());
    assert_eq!(
        failure(&caller, &config(json!({ "url": "https://127.0.0.1:1/x" }))).await,
        r#"Post "https://127.0.0.1:1/x?timeout=10s": dial tcp 127.0.0.1:1: connect: connection refused"#
    );
    assert_eq!(
        failure(&caller, &service("nosvc", "/p", "")).await,
        r#"Post "https://nosvc.wl.svc:443/p?timeout=10s": service "nosvc" not found"#
    );
    assert_eq!(
        failure(&caller, &service("idle", "/p", "")).await,
        r#"Post "https://idle.wl.svc:443/p?timeout=10s": no endpoints available for service "idle""#
    );
}

#[tokio::test(start_paused = true)]
async fn a_webhook_that_hangs_is_given_up_in_time() {
    let backends = Backends::default();
    backends.insert("wl", "hook", Backend::InProcess(echo()));
    let caller = caller(backends);
    let started = tokio::time::Instant::now();
    let error = caller.post(&service("hook", "/hang", ""), 1, Bytes::new()).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        r#"Post "https://hook.wl.svc:443/hang?timeout=1s": context deadline exceeded"#
    );
    assert_eq!(started.elapsed(), Duration::from_secs(1));
}
