//! Sockets, certificates and stopping.

use std::{sync::Arc, time::Duration};

use crate::common::service::Service;
use axum::{Router, routing::get};
use quintet_maas_api::server::{Listener, Tls, TlsSource, TlsVersion};
use serde_json::json;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

#[tokio::test(flavor = "multi_thread")]
async fn scenario_34_shutdown() {
    let (begun, finish) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (on_begin, on_finish) = (begun.clone(), finish.clone());
    let router = Router::new().route(
        "/slow",
        get(move || async move {
            on_begin.notify_one();
            on_finish.notified().await;
            "done"
        }),
    );
    let listener = Listener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.address().expect("an address");
    let stop = CancellationToken::new();
    let server = tokio::spawn(listener.serve(router, stop.clone()));
    let request =
        tokio::spawn(async move { reqwest::get(format!("http://{address}/slow")).await?.text().await });
    begun.notified().await;
    stop.cancel();
    let patience = std::time::Instant::now();
    while tokio::net::TcpStream::connect(address).await.is_ok() {
        assert!(patience.elapsed().as_secs() < 5, "it must stop accepting");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(!server.is_finished(), "it waits for the running request");
    finish.notify_one();
    assert_eq!(request.await.expect("no panic").expect("an answer"), "done");
    server.await.expect("no panic").expect("a clean end");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_made_certificate_serves_both_protocols() {
    let service = Service::new(crate::common::sqlite().await);
    let stop = CancellationToken::new();
    let source = TlsSource::SelfSigned { organization: "maas".into(), hosts: vec!["localhost".into()] };
    let tls = Tls { source, oldest: TlsVersion::V1_3, http2: true };
    let listener = Listener::bind_tls("127.0.0.1:0", tls, &stop).await.expect("a port");
    let url = format!("https://localhost:{}/health", listener.address().expect("an address").port());
    let server = tokio::spawn(listener.serve(service.router.clone(), stop.clone()));
    let client = || reqwest::Client::builder().no_proxy().tls_danger_accept_invalid_certs(true);
    for (client, version) in
        [(client(), reqwest::Version::HTTP_2), (client().http1_only(), reqwest::Version::HTTP_11)]
    {
        let answer = client.build().expect("a client").get(&url).send().await.expect("an answer");
        assert_eq!(answer.version(), version);
        assert_eq!(answer.json::<serde_json::Value>().await.expect("JSON"), json!({"status": "healthy"}));
    }
    let old = client().tls_version_max(reqwest::tls::Version::TLS_1_2).build().expect("a client");
    assert!(old.get(&url).send().await.is_err(), "1.2 is too old");
    stop.cancel();
    server.await.expect("no panic").expect("a clean end");
}

#[tokio::test]
async fn a_port_that_is_taken_is_said() {
    let first = Listener::bind("127.0.0.1:0").await.expect("a port");
    let address = first.address().expect("an address").to_string();
    let error = Listener::bind(&address).await.expect_err("refused").to_string();
    assert!(error.starts_with("server failed to start: "), "{error}");
}
