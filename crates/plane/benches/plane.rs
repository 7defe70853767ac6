//! The plane's speed, through the same tower service that sockets and the in-process client use.
//!
//! `cargo bench -p plane`; figures are in docs/plane.md.

use std::hint::black_box;
use std::time::{Duration, Instant};

use axum::body::Body;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use futures::StreamExt;
use http::Request;
use http_body_util::BodyExt;
use plane::{Plane, PlaneService};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tower::ServiceExt;

const PATH: &str = "/api/v1/namespaces/default/configmaps";

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// About one KiB, as a controller's ConfigMap might be.
fn object(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "labels": {"app.kubernetes.io/name": "bench", "app.kubernetes.io/part-of": "plane"}},
        "data": {"config.yaml": "x".repeat(700), "mode": "fast"}})
}

async fn send(service: &PlaneService, method: &str, path: &str, content_type: &str, body: Value) -> usize {
    let body = if body.is_null() { Body::empty() } else { Body::from(body.to_string()) };
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", content_type)
        .header("user-agent", "bench/1")
        .body(body)
        .unwrap();
    let response = service.clone().oneshot(request).await.unwrap();
    assert!(response.status().is_success(), "{method} {path}: {}", response.status());
    response.into_body().collect().await.unwrap().to_bytes().len()
}

async fn filled(objects: usize) -> (Plane, PlaneService) {
    let plane = Plane::new();
    let service = plane.service();
    for i in 0..objects {
        send(&service, "POST", PATH, "application/json", object(&format!("c{i:06}"))).await;
    }
    (plane, service)
}

fn create(c: &mut Criterion) {
    let runtime = runtime();
    let (_plane, service) = runtime.block_on(filled(0));
    let mut n = 0;
    c.bench_function("create", |b| {
        b.iter_custom(|times| {
            runtime.block_on(async {
                let start = Instant::now();
                for _ in 0..times {
                    n += 1;
                    send(&service, "POST", PATH, "application/json", object(&format!("n{n:09}"))).await;
                }
                start.elapsed()
            })
        });
    });
}

fn get(c: &mut Criterion) {
    let runtime = runtime();
    let (_plane, service) = runtime.block_on(filled(1000));
    let path = format!("{PATH}/c000500");
    c.bench_function("get", |b| {
        b.iter(|| runtime.block_on(async { black_box(send(&service, "GET", &path, "", Value::Null).await) }));
    });
}

fn list(c: &mut Criterion) {
    let runtime = runtime();
    let (_plane, service) = runtime.block_on(filled(10_000));
    let mut group = c.benchmark_group("list of 10000");
    group.throughput(Throughput::Elements(10_000)).sample_size(20);
    group.bench_function("whole", |b| {
        b.iter(|| runtime.block_on(async { black_box(send(&service, "GET", PATH, "", Value::Null).await) }));
    });
    let page = format!("{PATH}?limit=500");
    group.bench_function("a page of 500", |b| {
        b.iter(|| runtime.block_on(async { black_box(send(&service, "GET", &page, "", Value::Null).await) }));
    });
    group.finish();
}

/// One write seen by a hundred watchers.
fn fan_out(c: &mut Criterion) {
    let runtime = runtime();
    let (plane, service) = runtime.block_on(filled(1));
    let mut group = c.benchmark_group("watch");
    group.throughput(Throughput::Elements(100)).sample_size(20).measurement_time(Duration::from_secs(8));
    group.bench_function("fan-out to 100", |b| {
        b.iter_custom(|times| {
            runtime.block_on(async {
                let mut watchers = Vec::new();
                let from = plane.store().revision();
                for _ in 0..100 {
                    let request = Request::get(format!("{PATH}?watch=true&resourceVersion={from}"))
                        .body(Body::empty())
                        .unwrap();
                    let response = service.clone().oneshot(request).await.unwrap();
                    let mut lines = response.into_body().into_data_stream();
                    let (sender, receiver) = tokio::sync::mpsc::unbounded_channel();
                    watchers.push(receiver);
                    tokio::spawn(async move {
                        while let Some(Ok(line)) = lines.next().await {
                            if sender.send(line.len()).is_err() {
                                return;
                            }
                        }
                    });
                }
                let start = Instant::now();
                for i in 0..times {
                    let patch = json!({"data": {"mode": format!("{i}-{start:?}")}});
                    let path = format!("{PATH}/c000000");
                    send(&service, "PATCH", &path, "application/merge-patch+json", patch).await;
                }
                for watcher in &mut watchers {
                    for _ in 0..times {
                        watcher.recv().await.unwrap();
                    }
                }
                start.elapsed()
            })
        });
    });
    group.finish();
}

/// Server-side apply of an object that exists: with a change, and without.
fn apply(c: &mut Criterion) {
    let runtime = runtime();
    let (_plane, service) = runtime.block_on(filled(1000));
    let path = format!("{PATH}/c000500?fieldManager=bench&force=true");
    let mut n = 0;
    c.bench_function("apply, changed", |b| {
        b.iter(|| {
            n += 1;
            let mut body = object("c000500");
            body["data"]["mode"] = json!(n.to_string());
            runtime.block_on(async {
                send(&service, "PATCH", &path, "application/apply-patch+yaml", body).await
            })
        });
    });
    let body = object("c000500");
    c.bench_function("apply, unchanged", |b| {
        b.iter(|| {
            runtime.block_on(async {
                send(&service, "PATCH", &path, "application/apply-patch+yaml", body.clone()).await
            })
        });
    });
}

criterion_group!(benches, create, get, list, fan_out, apply);
criterion_main!(benches);
