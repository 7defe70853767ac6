//! A reconcile with nothing to do: read from the cache, compute two children and a status, find nothing to send. Prints
//! microseconds (criterion) and allocations.
#![allow(clippy::print_stdout, reason = "a benchmark reports")]

use criterion::{Criterion, criterion_group, criterion_main};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{Api, PostParams};
use kube::{Resource, ResourceExt};
use plane::Plane;
use quintet_kit::hub::State;
use quintet_kit::run::Settings;
use quintet_kit::{Applier, Context, Desired, FieldManager, Hubs, ObjectKey, Select};
use serde_json::json;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;
use std::hint::black_box;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

struct Field {
    hubs: Hubs,
    applier: Applier,
    owner: ObjectKey,
}

impl Field {
    /// Two children, applied and seen by the caches.
    async fn new() -> Self {
        let plane = Plane::new();
        let client = plane.client();
        let namespaces: Api<Namespace> = Api::all(client.clone());
        let mut owner = Namespace::default();
        owner.metadata.name = Some("owner".into());
        namespaces.create(&PostParams::default(), &owner).await.expect("created");
        let context = Context::new(client, Settings::default());
        let hubs = context.hubs().clone();
        let (owners, maps) = (hubs.of::<Namespace>(&Select::all()), hubs.of::<ConfigMap>(&Select::all()));
        let deployments = hubs.of::<Deployment>(&Select::all());
        hubs.start();
        owners.reached(State::Ready).await;
        maps.reached(State::Ready).await;
        deployments.reached(State::Ready).await;
        let field = Field {
            hubs,
            applier: context.applier("bench", FieldManager::new("bench")),
            owner: ObjectKey::cluster("owner"),
        };
        owners.fetch(&field.owner).await.expect("asked").expect("there");
        for _ in 0..5 {
            field.reconcile().await;
            tokio::time::sleep(Duration::from_millis(50)).await; // the watch sees it
        }
        field
    }

    async fn reconcile(&self) {
        let owner = self.hubs.get::<Namespace>(&self.owner).expect("cached");
        let report = self.applier.apply(&desired(&owner)).await;
        assert!(black_box(report).errors().is_empty());
    }
}

fn desired(owner: &Namespace) -> Desired {
    let meta = |name: &str| {
        let mut meta = kube::core::ObjectMeta {
            name: Some(name.into()),
            namespace: Some("default".into()),
            ..Default::default()
        };
        meta.owner_references = owner.controller_owner_ref(&()).map(|reference| vec![reference]);
        meta
    };
    let map = ConfigMap {
        metadata: meta("bench"),
        data: Some((0..8).map(|i| (format!("key-{i}"), "value".repeat(8))).collect()),
        ..ConfigMap::default()
    };
    let mut deployment: Deployment = serde_json::from_value(json!({ "spec": {
        "replicas": 2, "selector": {"matchLabels": {"app": "bench"}},
        "template": {"metadata": {"labels": {"app": "bench"}}, "spec": {"containers": [
            {"name": "main", "image": "example.com/main:1", "args": ["--port=8443", "--host=0.0.0.0"],
             "env": (0..12).map(|i| json!({"name": format!("ENV_{i}"), "value": "x"})).collect::<Vec<_>>(),
             "ports": [{"name": "https", "containerPort": 8443}],
             "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}}}]}}
    } }))
    .expect("a Deployment");
    deployment.metadata = meta("bench");
    Desired::new().with(map).with(deployment)
}

/// Allocations of so many runs, per run.
fn allocations(runtime: &Runtime, name: &str, runs: usize, mut work: impl AsyncFnMut()) {
    let region = Region::new(ALLOCATOR);
    runtime.block_on(async {
        for _ in 0..runs {
            work().await;
        }
    });
    let change = region.change();
    println!("{name}: {} allocations, {} bytes", change.allocations / runs, change.bytes_allocated / runs);
}

fn benches(criterion: &mut Criterion) {
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    let field = runtime.block_on(Field::new());
    let owner = field.hubs.get::<Namespace>(&field.owner).expect("cached");
    assert_eq!(owner.name_any(), "owner");
    allocations(&runtime, "desired state of two children", 1000, async || drop(black_box(desired(&owner))));
    let children = desired(&owner);
    allocations(&runtime, "apply of two unchanged children", 1000, async || {
        black_box(field.applier.apply(&children).await);
    });
    criterion.bench_function("reconcile with nothing to do, two children", |bencher| {
        bencher.to_async(&runtime).iter(|| field.reconcile());
    });
    criterion.bench_function("apply of two unchanged children", |bencher| {
        bencher.to_async(&runtime).iter(|| async { black_box(field.applier.apply(&children).await) });
    });
}

criterion_group!(at_rest, benches);
criterion_main!(at_rest);
