//! The tutorial's system does what the tutorial says.

mod common;
#[allow(dead_code, reason = "the example's own main is not called")]
#[path = "../examples/garden.rs"]
mod garden;

use common::{eventually, settle};
use garden::{Garden, GardenSpec, GardenSystem, Register, Sprinkler, SprinklerSpec};
use k8s_openapi::api::core::v1::{ConfigMap, Secret, Service};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DeleteParams, PostParams};
use kube::{Client, CustomResourceExt, Resource};
use plane::Plane;
use quintet_kit::metrics::Metrics;
use quintet_kit::run::{Observed, Settings};
use quintet_kit::{Fence, Manager, System};
use serde_json::json;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

async fn install(client: &Client, crd: CustomResourceDefinition) {
    Api::<CustomResourceDefinition>::all(client.clone())
        .create(&PostParams::default(), &crd)
        .await
        .expect("installed");
    settle().await;
}

async fn create<K>(client: &Client, object: &K) -> K
where
    K: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>
        + serde::Serialize
        + serde::de::DeserializeOwned
        + Clone
        + std::fmt::Debug,
{
    Api::default_namespaced(client.clone()).create(&PostParams::default(), object).await.expect("created")
}

fn condition(garden: &Garden) -> (String, String) {
    let ready = garden.status.as_ref().and_then(|s| s.conditions.first()).expect("a condition");
    (ready.status.clone(), ready.reason.clone())
}

#[tokio::test(start_paused = true)]
async fn a_garden_is_planted_watered_catalogued_and_forgotten() {
    let plane = Plane::new();
    let client = plane.client();
    install(&client, Garden::crd()).await;
    let register = Register::default();
    let manager = Manager::new(client.clone(), Metrics::new(), Settings::default());
    let manager = manager.with(Arc::new(GardenSystem(register.clone())), Fence::open());
    let (readiness, stop) = (manager.readiness(), CancellationToken::new());
    let running = tokio::spawn(manager.run(stop.clone()));
    eventually("ready without sprinklers", || readiness.is_ready()).await;

    let (maps, gardens) = (
        Api::<ConfigMap>::default_namespaced(client.clone()),
        Api::<Garden>::default_namespaced(client.clone()),
    );
    let seeds = GardenSpec { seeds: "roses".into() };
    create(&client, &Garden::new("g", seeds)).await;
    settle().await;
    assert_eq!(condition(&gardens.get("g").await.unwrap()), ("False".into(), "NoSeeds".into()));

    let secret: Secret = serde_json::from_value(json!({"metadata": {"name": "roses"}})).unwrap();
    create(&client, &secret).await;
    settle().await;
    assert_eq!(condition(&gardens.get("g").await.unwrap()), ("True".into(), "Planted".into()));
    let water = |map: ConfigMap| map.data.unwrap()["water"].clone();
    assert_eq!(water(maps.get("g-bed").await.unwrap()), "0 sprinklers");
    assert!(Api::<Service>::default_namespaced(client.clone()).get_opt("g-gate").await.unwrap().is_some());
    assert_eq!(maps.get("catalog").await.unwrap().data.unwrap()["gardens"], "g");

    install(&client, Sprinkler::crd()).await;
    create(&client, &Sprinkler::new("s", SprinklerSpec::default())).await;
    settle().await;
    assert_eq!(water(maps.get("g-bed").await.unwrap()), "1 sprinklers", "an API that came later");

    let mark = plane.requests().mark();
    tokio::time::sleep(std::time::Duration::from_secs(1800)).await;
    assert_eq!(plane.requests().writes(mark), [], "at rest nothing is written");

    assert!(register.lock().unwrap().contains("default/g"));
    gardens.delete("g", &DeleteParams::default()).await.unwrap();
    settle().await;
    assert!(register.lock().unwrap().is_empty(), "cleaned up without a finalizer");
    assert_eq!(maps.get("catalog").await.unwrap().data.unwrap()["gardens"], "");
    stop.cancel();
    running.await.unwrap();
}

#[test]
fn a_garden_is_rendered_without_a_cluster() {
    let system = GardenSystem(Register::default());
    let object = |value| serde_json::from_value(value).unwrap();
    let garden = object(json!({"apiVersion": "garden.example/v1", "kind": "Garden",
        "metadata": {"name": "g", "namespace": "default", "uid": "u"}, "spec": {"seeds": "roses"}}));
    let refused = system.render(&garden, &Observed::default()).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "Garden default/g: the Secret roses with the seeds does not exist: create it"
    );
    let secret = object(json!({"apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": "roses", "namespace": "default", "resourceVersion": "7"}}));
    let children = system.render(&garden, &Observed::new(vec![secret])).unwrap();
    assert_eq!(children.get::<ConfigMap>("g-bed").unwrap().data.as_ref().unwrap()["seeds"], "7");
    let names: Vec<_> = children.to_values().iter().map(|child| child["metadata"]["name"].clone()).collect();
    assert_eq!(names, ["g-bed", "g-gate"]);
}

#[test]
fn the_tutorial_stays_short() {
    let lines = include_str!("../examples/garden.rs").lines().count();
    assert!(lines < 200, "{lines} lines: a tutorial is read in one sitting");
}
