//! The process on its ports: gRPC, health, metrics, the watches behind them, and an orderly end.

mod support;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use bytes::Bytes;
use envoy_types::pb::envoy::service::ext_proc::v3::external_processor_client::ExternalProcessorClient;
use futures::StreamExt;
use http_body_util::{BodyExt, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use kube::Client;
use quintet_payload::chain::Chain;
use quintet_payload::config::PluginSpec;
use quintet_payload::extproc::wire::{ProcessingRequest, Response as Answer};
use quintet_payload::extproc::{BodyMode, Limits, Service, Settings};
use quintet_payload::plugins::Parts;
use quintet_payload::server::{Error, Listeners, MetricsAccess, Options, Server};
use quintet_payload::traces::Traces;
use serde_json::{Value, json};
use support::*;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

/// Just enough of a cluster: lists that can be held back, watches that one can push to, token and access reviews.
#[derive(Clone)]
struct Cluster {
    open: watch::Receiver<bool>,
    secrets: Arc<tokio::sync::Mutex<Option<mpsc::Receiver<Value>>>>,
}

async fn list_or_watch(
    cluster: &Cluster,
    query: &str,
    list: Value,
    events: Option<mpsc::Receiver<Value>>,
) -> Response {
    if query.contains("watch=true") {
        let events = match events {
            Some(events) => {
                ReceiverStream::new(events).map(|e| Ok::<_, Infallible>(format!("{e}\n"))).left_stream()
            }
            None => futures::stream::pending().right_stream(),
        };
        return Body::from_stream(events).into_response();
    }
    cluster.open.clone().wait_for(|open| *open).await.unwrap();
    axum::Json(list).into_response()
}

async fn models(State(cluster): State<Cluster>, RawQuery(query): RawQuery) -> Response {
    let model = json!({"metadata": {"namespace": "llm", "name": "gpt"}, "spec": {"provider": "openai", "targetModel": "gpt-4o", "endpoint": "e", "credentialRef": {"name": "k2"}}});
    let list = json!({"apiVersion": "maas.opendatahub.io/v1alpha1", "kind": "ExternalModelList", "metadata": {"resourceVersion": "1"}, "items": [model]});
    list_or_watch(&cluster, &query.unwrap_or_default(), list, None).await
}

fn secret(key: &str) -> Value {
    // "sk-2" and "sk-9" in base64
    let data = if key == "sk-2" { "c2stMg==" } else { "c2stOQ==" };
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "llm", "name": "k2", "resourceVersion": "2"}, "data": {"api-key": data}})
}

async fn secrets(State(cluster): State<Cluster>, RawQuery(query): RawQuery) -> Response {
    let query = query.unwrap_or_default();
    assert!(query.contains("labelSelector=inference.networking.k8s.io%2Fbbr-managed%3Dtrue"), "{query}");
    let list = json!({"apiVersion": "v1", "kind": "SecretList", "metadata": {"resourceVersion": "1"}, "items": [secret("sk-2")]});
    let events = if query.contains("watch=true") { cluster.secrets.lock().await.take() } else { None };
    list_or_watch(&cluster, &query, list, events).await
}

async fn token_review(axum::Json(review): axum::Json<Value>) -> axum::Json<Value> {
    let name = review["spec"]["token"].as_str().unwrap().to_owned();
    let status = json!({"authenticated": name != "forged", "user": {"username": name}});
    axum::Json(
        json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "metadata": {}, "spec": review["spec"], "status": status}),
    )
}

async fn access_review(axum::Json(review): axum::Json<Value>) -> axum::Json<Value> {
    let asked = &review["spec"]["nonResourceAttributes"];
    assert_eq!((&asked["verb"], &asked["path"]), (&json!("get"), &json!("/metrics")));
    let allowed = review["spec"]["user"] == "prometheus";
    axum::Json(
        json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "metadata": {}, "spec": review["spec"], "status": {"allowed": allowed}}),
    )
}

fn cluster() -> (Client, watch::Sender<bool>, mpsc::Sender<Value>) {
    let (open, opened) = watch::channel(false);
    let (push, pushed) = mpsc::channel(8);
    let cluster = Cluster { open: opened, secrets: Arc::new(tokio::sync::Mutex::new(Some(pushed))) };
    let router = Router::new()
        .route("/apis/maas.opendatahub.io/v1alpha1/externalmodels", get(models))
        .route("/api/v1/secrets", get(secrets))
        .route("/apis/authentication.k8s.io/v1/tokenreviews", post(token_review))
        .route("/apis/authorization.k8s.io/v1/subjectaccessreviews", post(access_review))
        .with_state(cluster);
    (Client::new(router, "default"), open, push)
}

struct Running {
    grpc: SocketAddr,
    health: SocketAddr,
    metrics: SocketAddr,
    stop: CancellationToken,
    ended: JoinHandle<Result<(), Error>>,
}

async fn start(client: Option<Client>, metrics_access: MetricsAccess) -> Running {
    let options = Options {
        plugins: PluginSpec::maas(),
        mode: BodyMode::Duplex,
        limits: Limits::default(),
        identity: None,
        metrics_access,
        pprof: true,
    };
    let server = Server::new(options).unwrap();
    let listeners = Listeners::loopback().await.unwrap();
    let [grpc, health, metrics] =
        [&listeners.grpc, &listeners.health, &listeners.metrics].map(|l| l.local_addr().unwrap());
    let stop = CancellationToken::new();
    let ended = tokio::spawn(server.serve(listeners, client.map(|c| (c, None)), stop.clone()));
    Running { grpc, health, metrics, stop, ended }
}

/// Sends messages on one stream and reads `count` answers.
async fn exchange(grpc: SocketAddr, messages: Vec<ProcessingRequest>, count: usize) -> Vec<Answer> {
    let mut client = ExternalProcessorClient::connect(format!("http://{grpc}")).await.unwrap();
    let answers = client.process(futures::stream::iter(messages)).await.unwrap().into_inner();
    answers.take(count).map(|answer| answer.unwrap().response.unwrap()).collect().await
}

fn chat() -> Vec<ProcessingRequest> {
    let body = br#"{"model":"gpt-4o","messages":[{"role":"user","content":"Hi"}]}"#;
    vec![request_headers(&[(":path", "/llm/gpt/v1/chat/completions")], false), request_body(body, true)]
}

fn injected(answers: &[Answer]) -> Option<String> {
    let Answer::RequestHeaders(headers) = answers.first()? else { return None };
    let set = &headers.response.as_ref()?.header_mutation.as_ref()?.set_headers;
    let header = set.iter().filter_map(|option| option.header.as_ref()).find(|h| h.key == "authorization")?;
    Some(String::from_utf8(header.raw_value.clone()).unwrap())
}

async fn health_client(health: SocketAddr) -> HealthClient<tonic::transport::Channel> {
    let endpoint = tonic::transport::Endpoint::try_from(format!("http://{health}")).unwrap();
    HealthClient::new(endpoint.connect().await.unwrap())
}

async fn status(health: SocketAddr, service: &str) -> i32 {
    health_client(health)
        .await
        .check(HealthCheckRequest { service: service.into() })
        .await
        .unwrap()
        .into_inner()
        .status
}

#[tokio::test]
async fn nothing_is_served_before_the_stores_are_filled() {
    let (client, open, _push) = cluster();
    let running = start(Some(client), MetricsAccess::Open).await;
    assert_eq!(status(running.health, "").await, 2, "NOT_SERVING");
    let early = tokio::spawn(exchange(running.grpc, chat(), 2)); // waits in the socket's queue
    assert_eq!(status(running.health, "").await, 2);
    assert!(!early.is_finished());
    open.send(true).unwrap();
    assert_eq!(injected(&early.await.unwrap()).as_deref(), Some("Bearer sk-2"));
    running.stop.cancel();
    running.ended.await.unwrap().unwrap();
}

#[tokio::test]
async fn s26_health() {
    let running = start(None, MetricsAccess::Open).await;
    exchange(running.grpc, chat(), 2).await; // it serves
    for service in ["", "envoy.service.ext_proc.v3.ExternalProcessor", "any"] {
        assert_eq!(status(running.health, service).await, 1, "SERVING");
    }
    let watch = health_client(running.health).await.watch(HealthCheckRequest::default()).await.unwrap_err();
    assert_eq!(watch.code(), tonic::Code::Unimplemented);
    running.stop.cancel();
    running.ended.await.unwrap().unwrap();
}

/// One gRPC call with an empty request, by hand: message and status.
async fn call(to: SocketAddr, path: &str) -> (Vec<u8>, String) {
    let stream = tokio::net::TcpStream::connect(to).await.unwrap();
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let request =
        http::Request::post(format!("http://{to}{path}")).header("content-type", "application/grpc");
    let request = request.header("te", "trailers").body(Full::new(Bytes::from_static(&[0; 5]))).unwrap();
    let answer = sender.send_request(request).await.unwrap();
    let early = answer.headers().get("grpc-status").cloned();
    let body = answer.into_body().collect().await.unwrap();
    let late = body.trailers().and_then(|trailers| trailers.get("grpc-status")).cloned();
    let status = early.or(late).unwrap().to_str().unwrap().to_owned();
    (body.to_bytes().to_vec(), status)
}

#[tokio::test]
async fn s26_health_lists_the_one_service() {
    let running = start(None, MetricsAccess::Open).await;
    exchange(running.grpc, chat(), 2).await; // it serves
    let (message, status) = call(running.health, "/grpc.health.v1.Health/List").await;
    assert_eq!(status, "0");
    let name = b"envoy.service.ext_proc.v3.ExternalProcessor";
    let entry = [&[10, name.len() as u8], &name[..], &[18, 2, 8, 1]].concat(); // name: {status: SERVING}
    let expected = [&[0, 0, 0, 0, entry.len() as u8 + 2, 10, entry.len() as u8], &entry[..]].concat();
    assert_eq!(message, expected);
    assert_eq!(call(running.health, "/grpc.health.v1.Health/Nope").await.1, "12", "UNIMPLEMENTED");
    running.stop.cancel();
    running.ended.await.unwrap().unwrap();
}

/// A collector that keeps what it is sent.
async fn collector() -> (SocketAddr, mpsc::Receiver<(String, Bytes)>) {
    let (sender, receiver) = mpsc::channel(8);
    let router = Router::new().fallback(async move |uri: http::Uri, body: Bytes| {
        let _ = sender.send((uri.path().to_owned(), body)).await;
        ([("content-type", "application/grpc"), ("grpc-status", "0")], "")
    });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    (address, receiver)
}

/// The exporter reads its address from the environment, so this runs the program.
#[tokio::test]
async fn a_collector_that_is_configured_gets_a_span_per_request() {
    if std::env::var_os("QUINTET_TEST_SERVE").is_some() {
        let traces = Traces::new(|name| std::env::var(name).ok()).unwrap();
        let world = World::new();
        let service = Service::new(world.settings.clone()).traced(Some(traces.tracer()));
        let answers = service.answers(futures::stream::iter(chat().into_iter().map(Ok)));
        assert_eq!(answers.count().await, 2);
        tokio::task::spawn_blocking(move || drop(traces)).await.unwrap(); // sends what is held
        return;
    }
    let (address, mut sent) = collector().await;
    let program = std::env::current_exe().unwrap();
    let ended = tokio::process::Command::new(program)
        .args(["--exact", "a_collector_that_is_configured_gets_a_span_per_request"])
        .env("QUINTET_TEST_SERVE", "1")
        .env("OTEL_TRACES_EXPORTER", "otlp")
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://{address}"))
        .env("OTEL_TRACES_SAMPLER_ARG", "1")
        .output()
        .await
        .unwrap();
    assert!(ended.status.success(), "{ended:?}");
    let (path, message) = sent.recv().await.expect("spans");
    assert_eq!(path, "/opentelemetry.proto.collector.trace.v1.TraceService/Export");
    for word in ["gateway.request", "gateway-api-inference-extension/bbr"] {
        assert!(message.windows(word.len()).any(|at| at == word.as_bytes()), "no {word}");
    }
}

#[tokio::test]
async fn a_changed_key_is_used_without_a_restart() {
    let (client, open, push) = cluster();
    open.send(true).unwrap();
    let running = start(Some(client), MetricsAccess::Open).await;
    assert_eq!(injected(&exchange(running.grpc, chat(), 2).await).as_deref(), Some("Bearer sk-2"));
    push.send(json!({"type": "MODIFIED", "object": secret("sk-9")})).await.unwrap();
    let changed = async {
        while injected(&exchange(running.grpc, chat(), 2).await).as_deref() != Some("Bearer sk-9") {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), changed).await.expect("the new key");
    // The label goes: with a selector, the watch says that the object is gone.
    push.send(json!({"type": "DELETED", "object": secret("sk-9")})).await.unwrap();
    let gone = async {
        while !matches!(exchange(running.grpc, chat(), 1).await[0], Answer::ImmediateResponse(_)) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), gone).await.expect("no key");
    running.stop.cancel();
    running.ended.await.unwrap().unwrap();
}

#[tokio::test]
async fn metrics_are_for_those_who_may() {
    let (client, _open, _push) = cluster();
    let running = start(None, MetricsAccess::reviewed(client)).await;
    exchange(running.grpc, chat(), 1).await;
    quintet_payload::tls::install_crypto();
    let http = reqwest::Client::new();
    let read = async |path: &str, token: Option<&str>| {
        let request = http.get(format!("http://{}{path}", running.metrics));
        let request = match token {
            Some(token) => request.bearer_auth(token),
            None => request,
        };
        let response = request.send().await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    };
    for (token, expected) in [(None, 401), (Some("forged"), 401), (Some("nobody"), 403)] {
        assert_eq!(read("/metrics", token).await.0, expected, "{token:?}");
    }
    let (code, text) = read("/metrics", Some("prometheus")).await;
    assert_eq!(code, 200);
    for line in [
        "# HELP bbr_success [ALPHA] ",
        "bbr_info{commit=",
        "bbr_plugin_duration_seconds_bucket{le=\"0.0001\",extension_point=\"request\",plugin_type=\"model-provider-resolver\",plugin_name=\"model-provider-resolver\"}",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    running.stop.cancel();
    running.ended.await.unwrap().unwrap();
}

#[tokio::test]
async fn profiles_are_refused_with_a_reason() {
    let running = start(None, MetricsAccess::Open).await;
    quintet_payload::tls::install_crypto();
    let response = reqwest::get(format!("http://{}/debug/pprof/heap", running.metrics)).await.unwrap();
    assert_eq!(response.status().as_u16(), 501);
    running.stop.cancel();
    running.ended.await.unwrap().unwrap();
}

#[tokio::test]
async fn an_open_stream_ends_before_the_process_does() {
    let running = start(None, MetricsAccess::Open).await;
    let (send, messages) = mpsc::channel(4);
    let mut client = ExternalProcessorClient::connect(format!("http://{}", running.grpc)).await.unwrap();
    let headers = request_headers(&[(":path", "/llm/llama/x")], false);
    send.send(headers).await.unwrap();
    let mut answers = client.process(ReceiverStream::new(messages)).await.unwrap().into_inner();
    running.stop.cancel();
    send.send(request_body(br#"{"model":"llama"}"#, true)).await.unwrap();
    assert!(matches!(answers.message().await.unwrap().unwrap().response, Some(Answer::RequestHeaders(_))));
    assert!(!running.ended.is_finished());
    drop(send);
    while answers.message().await.unwrap().is_some() {}
    drop(client);
    tokio::time::timeout(Duration::from_secs(10), running.ended).await.expect("ends").unwrap().unwrap();
}

#[tokio::test]
async fn many_streams_at_once_do_not_disturb_each_other() {
    let running = start(None, MetricsAccess::Open).await;
    let client = ExternalProcessorClient::connect(format!("http://{}", running.grpc)).await.unwrap();
    let streams = (0..300).map(|n| {
        let mut client = client.clone();
        async move {
            let body = Bytes::from(format!(r#"{{"model":"m{n}","pad":"{}"}}"#, "x".repeat(n * 100)));
            let messages =
                vec![request_headers(&[(":path", "/llm/llama/x")], false), request_body(&body, true)];
            let answers = client.process(futures::stream::iter(messages)).await.unwrap().into_inner();
            let sent: Vec<u8> =
                answers.flat_map(|a| futures::stream::iter(chunk(&common(&a.unwrap())).0)).collect().await;
            assert_eq!(sent, body);
        }
    });
    futures::future::join_all(streams).await;
    running.stop.cancel();
    drop(client);
    running.ended.await.unwrap().unwrap();
}

/// A bug in one request's processing answers that request with 500 and leaves the others alone.
#[tokio::test]
async fn a_panic_ends_one_request_only() {
    let world = World::new();
    let settings = Settings { now: || panic!("a bug"), ..world.settings.clone() };
    let body = br#"{"model":"claude-x","messages":[{"role":"user","content":"Hi"}]}"#;
    let messages = vec![
        request_headers(&[(":path", "/llm/claude/v1/chat/completions")], false),
        request_body(body, true),
        response_headers(JSON, false),
        response_body(b"{}", true),
    ];
    let answers: Vec<_> =
        Service::new(settings).answers(futures::stream::iter(messages.into_iter().map(Ok))).collect().await;
    let Some(Answer::ImmediateResponse(refusal)) = answers.last().unwrap().as_ref().unwrap().response.clone()
    else {
        panic!("{answers:?}")
    };
    assert_eq!(refusal.status.unwrap().code, 500);
    assert!(!String::from_utf8(refusal.body).unwrap().contains("a bug"));
}

#[tokio::test]
async fn failures_of_the_stream_itself() {
    let world = World::new();
    let service = Service::new(world.settings.clone());
    let unknown: Vec<_> =
        service.answers(futures::stream::iter([Ok(ProcessingRequest::default())])).collect().await;
    let status = unknown[0].as_ref().unwrap_err();
    assert_eq!(
        (status.code(), status.message()),
        (tonic::Code::Unknown, "failed to handle request: unknown request type")
    );
    let broken = futures::stream::iter([Err(tonic::Status::internal("h2 error"))]);
    let broken: Vec<_> = service.answers(broken).collect().await;
    assert_eq!(broken[0].as_ref().unwrap_err().message(), "cannot receive stream request: h2 error");
    let cancelled = futures::stream::iter([Err(tonic::Status::cancelled("gone"))]);
    assert_eq!(service.answers(cancelled).count().await, 0);
}

#[test]
fn unknown_and_broken_plugins_are_named() {
    let build =
        |text: &str| Chain::build(&[text.parse().unwrap()], &Parts::default()).unwrap_err().to_string();
    assert_eq!(build("nope:x"), r#"unknown plugin type "nope" (no factory registered)"#);
    let vertex = build(r#"api-translation:x:{"vertexOpenAI":{}}"#);
    assert_eq!(
        vertex,
        "invalid api-translation#x: vertexOpenAI config requires non-empty project, location, and endpoint"
    );
}

/// A client that does not read its answer must not make us read on: that is what keeps memory flat.
#[tokio::test]
async fn nothing_is_read_before_the_last_answer_was_taken() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    let world = World::new();
    let read = Arc::new(AtomicUsize::new(0));
    let counted = read.clone();
    let start = [
        request_headers(&[(":path", "/llm/llama/x")], false),
        request_body(br#"{"model":"llama"}"#, true),
        response_headers(JSON, false),
    ];
    let endless = futures::stream::iter(start)
        .chain(futures::stream::repeat_with(|| response_body(&[b'x'; 200_000], false)));
    let messages = endless.map(move |message| {
        counted.fetch_add(1, Ordering::Relaxed);
        Ok(message)
    });
    let mut answers = Box::pin(Service::new(world.settings).answers(messages));
    for _ in 0..3 {
        answers.next().await.unwrap().unwrap(); // request headers, request body, response headers
    }
    assert_eq!(read.load(Ordering::Relaxed), 3);
    for _ in 0..4 {
        answers.next().await.unwrap().unwrap(); // one chunk of 200 kB, in four pieces
        assert_eq!(read.load(Ordering::Relaxed), 4);
    }
    answers.next().await.unwrap().unwrap();
    assert_eq!(read.load(Ordering::Relaxed), 5);
}
