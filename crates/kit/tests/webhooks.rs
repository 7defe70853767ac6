//! Webhooks on an API server that calls them over TLS, with certificates of our own that renew meanwhile.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{Api, PostParams};
use plane::Plane;
use quintet_kit::Clock;
use quintet_kit::metrics::Metrics;
use quintet_kit::serve::{Certificate, Listener, Tls, TlsSource, TlsVersion};
use quintet_kit::webhook::authority::{Keeper, Lives};
use quintet_kit::webhook::{Allowed, Asked, Denied, Target, Webhooks};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use tokio_util::sync::{CancellationToken, DropGuard};

/// A clock that shows so many days before now: certificates of long ago are still good on the server's own clock.
fn days_ago(days: i64) -> Clock {
    let then = Timestamp::now().saturating_sub(SignedDuration::from_hours(24 * days)).unwrap();
    Clock::starting_at(then)
}

fn keeper() -> Keeper {
    Keeper {
        namespace: "default".into(),
        secret: "webhook-certificates".into(),
        names: vec!["127.0.0.1".into()],
        targets: vec![Target::Validating("maps".into()), Target::Definition("not-there.example.com".into())],
        lives: Lives::default(),
    }
}

fn named(name: &str, data: &[(&str, &str)]) -> ConfigMap {
    let mut map = ConfigMap::default();
    map.metadata.name = Some(name.into());
    map.data = Some(data.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect());
    map
}

/// Serves a webhook that refuses what is bad, and registers it without a bundle.
async fn serve(plane: &Plane, certificate: Certificate) -> DropGuard {
    let hooks = Webhooks::new().validating("/validate", |asked: &Asked<ConfigMap>| {
        let bad = asked.object.data.iter().flatten().any(|(key, _)| key == "bad");
        if bad { Err(Denied::new("bad is not wanted")) } else { Ok(Allowed::silently()) }
    });
    let stop = CancellationToken::new();
    let tls = Tls { source: TlsSource::Held(certificate), oldest: TlsVersion::V1_2, http2: true };
    let listener = Listener::bind_tls("127.0.0.1:0", tls, &stop).await.unwrap();
    let url = format!("https://{}/validate", listener.address().unwrap());
    tokio::spawn(listener.serve(hooks.router(&Metrics::new()), stop.clone()));
    let configuration = json!({"metadata": {"name": "maps"}, "webhooks": [{
        "name": "maps.kit.example", "clientConfig": {"url": url}, "failurePolicy": "Fail", "sideEffects": "None",
        "admissionReviewVersions": ["v1"], "namespaceSelector": {}, "objectSelector": {}, "matchPolicy": "Equivalent",
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}]}]});
    let configuration: ValidatingWebhookConfiguration = serde_json::from_value(configuration).unwrap();
    Api::all(plane.client()).create(&PostParams::default(), &configuration).await.unwrap();
    stop.drop_guard()
}

#[tokio::test(flavor = "multi_thread")]
async fn certificates_renew_under_a_stream_of_requests_and_none_fails() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let (plane, keeper) = (Plane::new(), keeper());
    let client = plane.client();
    keeper.certificate(&client, &days_ago(300)).await.unwrap();
    let shown = keeper.certificate(&client, &days_ago(62)).await.unwrap();
    let _serving = serve(&plane, shown.clone()).await;
    keeper.refresh(&client, &days_ago(62), &shown).await.unwrap(); // the configuration learns whom to trust

    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "default");
    let denied = maps.create(&PostParams::default(), &named("denied", &[("bad", "x")])).await.unwrap_err();
    assert!(denied.to_string().contains("bad is not wanted"), "{denied}");

    let (done, asked) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let streams: Vec<_> = (0..4)
        .map(|stream| {
            let (maps, done, asked) = (maps.clone(), done.clone(), asked.clone());
            tokio::spawn(async move {
                let dry = PostParams { dry_run: true, ..PostParams::default() };
                while !done.load(Ordering::SeqCst) {
                    maps.create(&dry, &named(&format!("m-{stream}"), &[])).await.expect("no request fails");
                    asked.fetch_add(1, Ordering::SeqCst);
                }
            })
        })
        .collect();
    let more = async |so_many: usize| {
        let enough = asked.load(Ordering::SeqCst) + so_many;
        while asked.load(Ordering::SeqCst) < enough {
            assert!(streams.iter().all(|stream| !stream.is_finished()), "a request failed");
            tokio::task::yield_now().await;
        }
    };
    let secrets: Api<Secret> = Api::namespaced(client.clone(), "default");
    let held = async || secrets.get(&keeper.secret).await.unwrap().data.unwrap();
    let (mut before, mut turns) = (held().await, 0);
    more(20).await;
    for day in [61, 50, 49, 48] {
        // Another replica renews first; ours follows when it looks.
        keeper.certificate(&client, &days_ago(day)).await.unwrap();
        more(20).await;
        keeper.refresh(&client, &days_ago(day), &shown).await.unwrap();
        more(20).await;
        let after = held().await;
        turns += usize::from(after["authority.crt"] != before["authority.crt"]);
        before = after;
    }
    assert_eq!(turns, 1, "the authority was renewed");
    assert!(before.contains_key("leaving.crt"), "and the old one is still trusted");
    done.store(true, Ordering::SeqCst);
    for stream in streams {
        stream.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_replicas_one_makes_the_certificates() {
    let plane = Plane::new();
    let all = (0..8).map(|_| {
        let client = plane.client();
        tokio::spawn(async move { keeper().certificate(&client, &days_ago(0)).await.map(drop) })
    });
    for replica in all.collect::<Vec<_>>() {
        replica.await.unwrap().unwrap();
    }
    let wrote = plane.requests().writes(0);
    let made = wrote.iter().filter(|r| r.resource == "secrets" && r.verb == "update").count();
    assert_eq!(made, 0, "what one made is good enough for all: {wrote:?}");
}

#[tokio::test]
async fn a_secret_of_somebody_else_is_left_alone() {
    let plane = Plane::new();
    let mut theirs = Secret::default();
    theirs.metadata.name = Some("webhook-certificates".into());
    let secrets: Api<Secret> = Api::namespaced(plane.client(), "default");
    secrets.create(&PostParams::default(), &theirs).await.unwrap();
    let error = keeper().certificate(&plane.client(), &days_ago(0)).await.unwrap_err();
    assert!(error.to_string().contains("delete it, so that new ones are made"), "{error}");
}
