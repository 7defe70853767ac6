//! The specification's acceptance scenarios about models, with real backends on loopback.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use crate::common::service::{Answer, Service, model_ref, subscription};
use axum::{
    Router,
    body::Body,
    http::{HeaderMap, Request, StatusCode, header},
    response::IntoResponse,
    routing::get,
};
use parking_lot::Mutex;
use quintet_maas_api::{Options, models::Model, subscriptions::Subscription};
use serde_json::{Value, json};

/// A model server that answers as told and remembers who asked.
#[derive(Clone)]
struct Backend {
    url: String,
    calls: Arc<AtomicUsize>,
    seen: Arc<Mutex<Vec<HeaderMap>>>,
}

impl Backend {
    async fn start(
        answer: impl Fn(usize) -> (StatusCode, HeaderMap, String) + Clone + Send + Sync + 'static,
    ) -> Self {
        let (calls, seen) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(Vec::new())));
        let (count, headers_seen) = (calls.clone(), seen.clone());
        let router = Router::new().route(
            "/m/v1/models",
            get(move |headers: HeaderMap| async move {
                headers_seen.lock().push(headers);
                answer(count.fetch_add(1, Ordering::SeqCst)).into_response()
            }),
        );
        Self { url: format!("{}/m", serve(router).await), calls, seen }
    }

    async fn status(status: u16) -> Self {
        let status = StatusCode::from_u16(status).expect("a status");
        Self::start(move |_| (status, HeaderMap::new(), String::new())).await
    }

    async fn body(body: Value) -> Self {
        Self::start(move |_| (StatusCode::OK, HeaderMap::new(), body.to_string())).await
    }

    fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }
}

async fn serve(router: Router) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://{address}")
}

fn model(name: &str, url: &str) -> Model {
    Model {
        name: name.into(),
        namespace: "llm".into(),
        created: 1_700_000_000,
        kind: "LLMInferenceService".into(),
        url: Some(url.into()),
        ready: true,
        details: None,
    }
}

async fn service() -> Service {
    Service::with(
        crate::common::sqlite().await,
        Options { access_check_timeout: Duration::from_secs(3), ..Default::default() },
    )
}

async fn list(service: &Service, authorization: &str, subscriptions: &[&str]) -> Answer {
    let mut request = Request::builder().uri("/v1/models");
    request = request.header("X-MaaS-Username", "alice").header("X-MaaS-Group", r#"["g1"]"#);
    request = request.header(header::AUTHORIZATION, authorization).header("X-Secret-Of-Alice", "diary");
    for subscription in subscriptions {
        request = request.header("X-MaaS-Subscription", *subscription);
    }
    service.send(request.body(Body::empty()).expect("a request")).await
}

fn ids(answer: &Answer) -> Vec<String> {
    let body = answer.json();
    body["data"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|m| m["id"].as_str().expect("an id").to_owned())
        .collect()
}

fn holding(name: &str, models: &[&str]) -> Subscription {
    Subscription {
        model_refs: models.iter().map(|m| model_ref("llm", m, 1)).collect(),
        ..subscription(name, "g1", "Active")
    }
}

const KEY: &str = "Bearer sk-oai-x_y";
const TOKEN: &str = "Bearer a.user.token";

#[tokio::test]
async fn scenario_25_models_with_api_key() {
    let (service, backend) = (service().await, Backend::body(json!({"data": []})).await);
    service.cluster.set_subscriptions([holding("gold", &["llama"]), holding("silver", &["opt"])]);
    service.cluster.set_models([model("llama", &backend.url), model("opt", &backend.url)]);
    let answer = list(&service, KEY, &["gold"]).await;
    let expected = json!({"object": "list", "data": [{
        "id": "llama", "created": 1_700_000_000, "object": "model", "owned_by": "llm/llama",
        "kind": "LLMInferenceService", "url": backend.url, "ready": true, "subscriptions": [{"name": "gold"}],
    }]});
    answer.is(200, expected);
    assert!(
        answer
            .text
            .starts_with(r#"{"data":[{"id":"llama","created":1700000000,"object":"model","owned_by":"#)
    );
    let unbound =
        json!({"error": {"message": "API key has no subscription bound", "type": "permission_error"}});
    list(&service, KEY, &[]).await.is(403, unbound.clone());
    list(&service, KEY, &["gold", " "]).await.is(200, answer.json());
    assert_eq!(ids(&list(&service, KEY, &["gold", "silver"]).await), ["opt"], "the last one counts");
    for (name, message) in
        [("nope", "requested subscription not found"), ("foreign", "access denied to requested subscription")]
    {
        let foreign = Subscription { groups: vec!["g2".into()], ..holding("foreign", &[]) };
        service.cluster.set_subscriptions([holding("gold", &["llama"]), foreign]);
        let error = json!({"error": {"message": message, "type": "permission_error"}});
        list(&service, KEY, &[name]).await.is(403, error);
    }
    service.cluster.set_subscriptions([subscription("gold", "g1", "Failed")]);
    let failed = "subscription is in Failed phase (cannot create API keys)";
    list(&service, KEY, &["gold"])
        .await
        .is(403, json!({"error": {"message": failed, "type": "permission_error"}}));
}

#[tokio::test]
async fn scenario_26_models_with_user_token() {
    let (service, backend) = (service().await, Backend::body(json!({"data": []})).await);
    service.cluster.set_subscriptions([
        Subscription { display_name: "Silver".into(), ..holding("silver", &["llama"]) },
        holding("gold", &["llama"]),
        Subscription { phase: "Failed".into(), ..holding("bad", &["llama"]) },
    ]);
    service.cluster.set_models([model("llama", &backend.url)]);
    let answer = list(&service, TOKEN, &[]).await;
    let subscriptions = json!([{"name": "gold"}, {"name": "silver", "displayName": "Silver"}]);
    assert_eq!(ids(&answer), ["llama"]);
    assert_eq!(answer.json()["data"][0]["subscriptions"], subscriptions);
    assert_eq!(answer.header("cache-control"), "no-store");
    let checked: jiff::Timestamp = answer.header("x-access-checked-at").parse().expect("a time");
    assert!((checked.as_second() - jiff::Timestamp::now().as_second()).abs() < 10);
    assert_eq!(answer.header("x-access-checked-at").len(), "2026-04-29T10:29:54Z".len());
    assert_eq!(backend.calls(), 2, "once for each subscription");
    let missing = json!({"error": {"message": "Authorization required", "type": "authentication_error"}});
    list(&service, "  ", &[]).await.is(401, missing);
}

#[tokio::test]
async fn scenario_27_probe_results() {
    let service = service().await;
    let two = Backend::body(json!({"data": [
        {"id": "a", "created": 5, "owned_by": "mallory"}, {"id": "b"}, {"id": ""}, {"id": null},
    ]}))
    .await;
    let flaky = Backend::start(|call| {
        let status = if call < 3 { StatusCode::BAD_GATEWAY } else { StatusCode::OK };
        (status, HeaderMap::new(), r#"{"data":[]}"#.to_owned())
    })
    .await;
    let nonsense = Backend::start(|_| (StatusCode::OK, HeaderMap::new(), "<html>".to_owned())).await;
    let huge = Backend::start(|_| (StatusCode::OK, HeaderMap::new(), " ".repeat((4 << 20) + 1))).await;
    let broken = Backend::status(500).await;
    let mut models = vec![
        model("two", &two.url),
        model("flaky", &flaky.url),
        model("nonsense", &nonsense.url),
        model("huge", &huge.url),
        model("broken", &broken.url),
        model("nobody", "http://127.0.0.1:9/m"),
        Model { url: None, ..model("nowhere", "") },
    ];
    for (name, status) in [("s401", 401), ("s403", 403), ("s404", 404), ("s405", 405), ("s429", 429)] {
        models.push(model(name, &Backend::status(status).await.url));
    }
    models.push(Model { ready: false, ..model("unready", &Backend::body(json!({"data": []})).await.url) });
    models.push(model("nodata", &Backend::body(json!({"object": "list"})).await.url));
    models.push(model("nulldata", &Backend::body(json!({"data": null})).await.url));
    service.cluster.set_models(models);
    let answer = list(&service, TOKEN, &[]).await;
    assert_eq!(ids(&answer), ["a", "b", "flaky", "s405", "s429", "unready"]);
    let body = answer.json();
    assert_eq!(
        (&body["data"][0]["created"], &body["data"][1]["created"]),
        (&json!(5), &json!(1_700_000_000))
    );
    assert_eq!((&body["data"][0]["owned_by"], &body["data"][1]["url"]), (&json!("llm/two"), &json!(two.url)));
    assert_eq!((broken.calls(), flaky.calls(), nonsense.calls()), (4, 4, 4));
    assert_eq!(huge.calls(), 1, "no use in asking again");
}

#[tokio::test]
async fn scenario_27_a_model_slower_than_the_limit_is_left_out_and_the_others_are_not() {
    let slow = Router::new().route(
        "/m/v1/models",
        get(|| async {
            std::future::pending::<()>().await;
        }),
    );
    let (slow, quick) = (format!("{}/m", serve(slow).await), Backend::body(json!({"data": []})).await);
    let options = Options { access_check_timeout: Duration::from_millis(300), ..Default::default() };
    let service = Service::with(crate::common::sqlite().await, options);
    let mut models: Vec<Model> = (0..9).map(|n| model(&format!("slow{n}"), &slow)).collect();
    models.push(model("quick", &quick.url));
    service.cluster.set_models(models);
    assert_eq!(ids(&list(&service, TOKEN, &[]).await), ["quick"]);
}

#[tokio::test]
async fn scenario_28_external_model() {
    let (service, backend) = (service().await, Backend::body(json!({"data": []})).await);
    let external =
        |name: &str, ready| Model { kind: "ExternalModel".into(), ready, ..model(name, &backend.url) };
    service.cluster.set_models([external("ready", true), external("unready", false)]);
    assert_eq!(ids(&list(&service, TOKEN, &[]).await), ["ready"]);
    assert_eq!(backend.calls(), 0);
}

#[tokio::test]
async fn scenario_29_no_subscriptions() {
    let service = service().await;
    service.cluster.set_subscriptions([]);
    service.cluster.set_models([model("llama", "http://127.0.0.1:9")]);
    let answer = list(&service, TOKEN, &[]).await;
    assert_eq!(answer.text, r#"{"data":[],"object":"list"}"#);
}

#[tokio::test]
async fn a_probe_carries_the_credential_and_the_subscription_and_nothing_else() {
    let (service, backend) = (service().await, Backend::body(json!({"data": []})).await);
    service.cluster.set_models([model("llama", &backend.url)]);
    list(&service, KEY, &["gold"]).await;
    let seen = backend.seen.lock()[0].clone();
    let mut names: Vec<&str> = seen.keys().map(|name| name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["accept", "authorization", "host", "x-maas-subscription"]);
    assert_eq!(seen["authorization"], KEY);
    assert_eq!(seen["x-maas-subscription"], "gold");
}

#[tokio::test]
async fn a_redirect_to_another_host_is_not_followed() {
    let (service, elsewhere) = (service().await, Backend::body(json!({"data": []})).await);
    let target = format!("{}/v1/models", elsewhere.url);
    let trap = Backend::start(move |_| {
        let headers = HeaderMap::from_iter([(header::LOCATION, target.parse().expect("a URL"))]);
        (StatusCode::FOUND, headers, String::new())
    })
    .await;
    let within = Backend::start(|call| match call {
        0 => {
            let headers = HeaderMap::from_iter([(header::LOCATION, "/m/v1/models".parse().expect("a path"))]);
            (StatusCode::TEMPORARY_REDIRECT, headers, String::new())
        }
        _ => (StatusCode::OK, HeaderMap::new(), r#"{"data":[]}"#.to_owned()),
    })
    .await;
    service.cluster.set_models([model("trap", &trap.url), model("within", &within.url)]);
    assert_eq!(ids(&list(&service, TOKEN, &[]).await), ["within"]);
    assert_eq!((trap.calls(), elsewhere.calls()), (1, 0));
}

#[tokio::test]
async fn no_more_than_ten_models_are_asked_at_once() {
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (running, peak) = (now.clone(), most.clone());
    let router = Router::new().route(
        "/m/v1/models",
        get(move || async move {
            peak.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_millis(20)).await;
            running.fetch_sub(1, Ordering::SeqCst);
            r#"{"data":[]}"#
        }),
    );
    let url = format!("{}/m", serve(router).await);
    let service = service().await;
    service.cluster.set_models((0..40).map(|n| model(&format!("m{n}"), &url)));
    assert_eq!(ids(&list(&service, TOKEN, &[]).await).len(), 40);
    assert!((2..=10).contains(&most.load(Ordering::SeqCst)), "{}", most.load(Ordering::SeqCst));
}
