//! What unrelated objects cost: 20,000 Secrets and 20,000 ConfigMaps of 4 KiB, none of which concerns a controller. The
//! server makes each page when it is asked for, so that what is measured is ours. Prints the bytes that stay allocated,
//! and the most that the process ever held.
#![allow(clippy::print_stdout, reason = "a benchmark reports")]

use axum::body::Body;
use http::{Request, Response};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::Client;
use quintet_kit::hub::State;
use quintet_kit::run::{Context as RunContext, Settings};
use quintet_kit::{Hubs, Select};
use serde_json::{Value, json};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;
use std::convert::Infallible;
use std::fs;
use tokio::runtime::Builder;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const OBJECTS: usize = 20_000;

/// One page of a list, or the silence of a watch.
fn answer(request: &Request<kube::client::Body>) -> Body {
    let query = request.uri().query().unwrap_or_default();
    let number = |name: &str| {
        let value = query.split('&').filter_map(|pair| pair.split_once('=')).find(|(key, _)| *key == name);
        value.and_then(|(_, value)| value.parse::<usize>().ok())
    };
    if query.contains("watch=true") {
        return Body::from_stream(futures::stream::pending::<Result<axum::body::Bytes, Infallible>>());
    }
    let path = request.uri().path();
    let count = if path.ends_with("secrets") || path.ends_with("configmaps") { OBJECTS } else { 0 };
    let from = number("continue").unwrap_or(0);
    let to = (from + number("limit").unwrap_or(count)).min(count);
    let items: Vec<Value> = (from..to).map(|i| object(path, i)).collect();
    let next = if to < count { to.to_string() } else { String::new() };
    Body::from(json!({ "kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": "1", "continue": next}, "items": items }).to_string())
}

fn object(path: &str, i: usize) -> Value {
    let secret = path.ends_with("secrets");
    let data = if secret { "eHh4".repeat(1024) } else { "x".repeat(4096) };
    json!({
        "apiVersion": "v1", "kind": if secret { "Secret" } else { "ConfigMap" },
        "metadata": {"name": format!("unrelated-{i}"), "namespace": format!("ns-{}", i % 100), "uid": format!("uid-{i}"),
            "resourceVersion": (i + 1).to_string(), "labels": {"app": "other"},
            "managedFields": [{"manager": "somebody", "operation": "Update", "fieldsV1": {"f:data": {}}}]},
        "data": {"content": data},
    })
}

/// A figure of this process, in KiB.
fn process(name: &str) -> i64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(name));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).unwrap_or(0)
}

fn main() {
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let service = tower::service_fn(|request: Request<kube::client::Body>| async move {
            Ok::<_, Infallible>(Response::new(answer(&request)))
        });
        let client = Client::new(service, "default");
        let warm = hubs(&client);
        warm.of::<Deployment>(&Select::all()).reached(State::Ready).await;

        let (region, before) = (Region::new(ALLOCATOR), process("VmRSS"));
        let hubs = hubs(&client);
        let (secrets, maps) = (hubs.of::<Secret>(&Select::all()), hubs.of::<ConfigMap>(&Select::all()));
        secrets.reached(State::Ready).await;
        maps.reached(State::Ready).await;
        let change = region.change();
        let kept = change.bytes_allocated as i64 - change.bytes_deallocated as i64;
        println!(
            "{OBJECTS} Secrets and {OBJECTS} ConfigMaps of 4 KiB, none of them ours: {} cached",
            secrets.len() + maps.len()
        );
        println!("bytes that stay allocated: {kept}");
        println!(
            "resident memory: {before} KiB before, {} KiB after, {} KiB at most",
            process("VmRSS"),
            process("VmHWM")
        );
        assert!(kept < 3_000_000, "more than 3 MB for objects that are none of our business");
    });
}

fn hubs(client: &Client) -> Hubs {
    let context = RunContext::new(client.clone(), Settings::default());
    context.hubs().start();
    context.hubs().clone()
}
