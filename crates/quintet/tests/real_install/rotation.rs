//! Certificates of our own authority turn under a stream of admission requests, and none fails.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use axum::http::HeaderValue;
use axum::http::header::CONNECTION;
use axum::middleware::map_response;
use axum::response::Response;
use jiff::SignedDuration;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::PostParams;
use kube::{Api, Client};
use quintet_harness::kube::Cluster;
use quintet_harness::or_skip;
use quintet_kit::Clock;
use quintet_kit::metrics::Metrics;
use quintet_kit::serve::{Listener, Tls, TlsSource, TlsVersion};
use quintet_kit::webhook::authority::{Keeper, Lives};
use quintet_kit::webhook::{Allowed, Asked, Denied, Target, Webhooks};
use serde_json::json;
use tokio_util::sync::{CancellationToken, DropGuard};

/// A year in a minute: every 40 s a new authority, every 16 s a new certificate. What is due has 8 s to be renewed: on a
/// busy machine a look takes its time.
const LIVES: Lives = Lives {
    authority: SignedDuration::from_secs(60),
    signed: SignedDuration::from_secs(24),
    settling: SignedDuration::from_secs(2),
    look: Duration::from_secs(1),
};
/// How long the stream lasts, unless `QUINTET_ROTATION_SECONDS` says otherwise.
const SECONDS: u64 = 95;

fn keeper() -> Keeper {
    Keeper {
        namespace: "default".into(),
        secret: "rotating".into(),
        names: vec!["127.0.0.1".into()],
        targets: vec![Target::Validating("rotating".into())],
        lives: LIVES,
    }
}

/// A replica: serves with the shared certificate and keeps that fresh. Every request comes by a new connection, so that
/// each looks at the certificate.
async fn replica(client: &Client, asked: Arc<AtomicUsize>) -> (String, DropGuard) {
    let certificate = keeper().certificate(client, &Clock::system()).await.unwrap();
    let hooks = Webhooks::new().validating("/", move |object: &Asked<ConfigMap>| {
        asked.fetch_add(1, Ordering::SeqCst);
        let bad = object.object.data.iter().flatten().any(|(key, _)| key == "bad");
        if bad { Err(Denied::new("bad is not wanted")) } else { Ok(Allowed::silently()) }
    });
    let router = hooks.router(&Metrics::new()).layer(map_response(|mut answer: Response| async move {
        answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        answer
    }));
    let stop = CancellationToken::new();
    let tls = Tls { source: TlsSource::Held(certificate.clone()), oldest: TlsVersion::V1_2, http2: false };
    let listener = Listener::bind_tls("127.0.0.1:0", tls, &stop).await.unwrap();
    let url = format!("https://{}/", listener.address().unwrap());
    tokio::spawn(listener.serve(router, stop.clone()));
    let client = client.clone();
    tokio::spawn(stop.clone().run_until_cancelled_owned(async move {
        keeper().keep(&client, &Clock::system(), &certificate).await;
    }));
    (url, stop.drop_guard())
}

fn map(name: &str, key: &str) -> ConfigMap {
    let mut map = ConfigMap { data: Some([(key.to_owned(), "x".to_owned())].into()), ..ConfigMap::default() };
    map.metadata.name = Some(name.into());
    map
}

#[tokio::test(flavor = "multi_thread")]
async fn certificates_turn_under_a_stream_of_admission_requests_and_none_fails() {
    let Some(cluster) = or_skip("turning certificates", Cluster::start().await) else { return };
    let client = cluster.client().await.unwrap();
    let asked = Arc::new(AtomicUsize::new(0));
    let (one, _one) = replica(&client, asked.clone()).await;
    let (two, _two) = replica(&client, asked.clone()).await;
    let hook = |name: &str, url: &str| {
        json!({"name": format!("{name}.quintet.test"), "clientConfig": {"url": url}, "failurePolicy": "Fail",
            "sideEffects": "None", "admissionReviewVersions": ["v1"],
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}]})
    };
    let configuration =
        json!({"metadata": {"name": "rotating"}, "webhooks": [hook("one", &one), hook("two", &two)]});
    let configuration: ValidatingWebhookConfiguration = serde_json::from_value(configuration).unwrap();
    Api::all(client.clone()).create(&PostParams::default(), &configuration).await.unwrap();

    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "default");
    let dry = PostParams { dry_run: true, ..PostParams::default() };
    super::until("the replicas have told whom to trust", async || {
        maps.create(&dry, &map("first", "good")).await.map_err(|error| error.to_string())
    })
    .await;
    let denied = maps.create(&dry, &map("denied", "bad")).await.unwrap_err();
    assert!(denied.to_string().contains("bad is not wanted"), "{denied}");

    let (done, admitted) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let streams: Vec<_> = (0..4)
        .map(|stream| {
            let (maps, dry, done, admitted) = (maps.clone(), dry.clone(), done.clone(), admitted.clone());
            tokio::spawn(async move {
                while !done.load(Ordering::SeqCst) {
                    if let Err(error) = maps.create(&dry, &map(&format!("m-{stream}"), "good")).await {
                        return Err(format!("after {}: {error}", admitted.load(Ordering::SeqCst)));
                    }
                    admitted.fetch_add(1, Ordering::SeqCst);
                }
                Ok(())
            })
        })
        .collect();
    let (mut authorities, mut shown) = (BTreeSet::new(), BTreeSet::new());
    let secrets: Api<Secret> = Api::namespaced(client.clone(), "default");
    let seconds =
        std::env::var("QUINTET_ROTATION_SECONDS").ok().map_or(SECONDS, |text| text.parse().unwrap());
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(seconds) && streams.iter().all(|stream| !stream.is_finished())
    {
        let data = secrets.get("rotating").await.unwrap().data.unwrap();
        authorities.insert(data["authority.crt"].0.clone());
        shown.insert(data["tls.crt"].0.clone());
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    done.store(true, Ordering::SeqCst);
    for stream in streams {
        stream.await.unwrap().unwrap_or_else(|why| panic!("a request failed {why}"));
    }
    let (admitted, asked) = (admitted.load(Ordering::SeqCst), asked.load(Ordering::SeqCst));
    println!(
        "{admitted} requests, {asked} connections, {} authorities, {} certificates",
        authorities.len(),
        shown.len()
    );
    assert!(asked >= 2 * admitted, "both replicas were asked each time");
    assert!(authorities.len() >= 3, "the authority turned twice");
    assert!(shown.len() > authorities.len(), "and certificates between");
}
