//! Faults between a client and the plane.

use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube::{Api, ResourceExt};
use plane::Plane;
use plane::faults::{Effect, Fault};
use plane::status::Error;
use serde_json::json;

fn config_map(name: &str) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name}})).unwrap()
}

fn api(plane: &Plane) -> Api<ConfigMap> {
    Api::default_namespaced(plane.client())
}

#[tokio::test]
async fn a_refused_write_changes_nothing_and_a_lost_answer_hides_one_that_did() {
    let plane = Plane::new();
    let api = api(&plane);
    plane
        .faults()
        .add(Fault::new(Effect::Refuse(Error::internal("boom"))).on(|r| r.verb == "create").times(1));
    plane
        .faults()
        .add(Fault::new(Effect::LoseAnswer(Error::internal("lost"))).on(|r| r.verb == "create").times(1));
    assert!(api.create(&PostParams::default(), &config_map("a")).await.is_err());
    assert!(api.get_opt("a").await.unwrap().is_none());
    assert!(api.create(&PostParams::default(), &config_map("a")).await.is_err());
    assert!(api.get_opt("a").await.unwrap().is_some());
}

#[tokio::test]
async fn conflicts_can_be_made() {
    let plane = Plane::new();
    let api = api(&plane);
    api.create(&PostParams::default(), &config_map("a")).await.unwrap();
    plane.faults().add(Fault::conflict().times(1));
    let patch = Patch::Merge(json!({"data": {"k": "v"}}));
    let error = api.patch("a", &PatchParams::default(), &patch).await.unwrap_err();
    assert!(matches!(error, kube::Error::Api(s) if s.is_conflict()));
    api.patch("a", &PatchParams::default(), &patch).await.unwrap();
}

#[tokio::test]
async fn a_crash_between_two_writes_lets_nothing_more_through() {
    let plane = Plane::new();
    let api = api(&plane);
    plane.faults().stop_after_writes(1);
    api.create(&PostParams::default(), &config_map("a")).await.unwrap();
    assert!(api.create(&PostParams::default(), &config_map("b")).await.is_err());
    assert!(api.get("a").await.is_err());
    plane.faults().clear();
    assert_eq!(api.list(&ListParams::default()).await.unwrap().items.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn watches_break_expire_and_lag() {
    let plane = Plane::new();
    let api = api(&plane);
    for name in ["a", "b"] {
        api.create(&PostParams::default(), &config_map(name)).await.unwrap();
    }
    let watch = |r: &plane::requests::Request| r.verb == "watch";
    plane.faults().add(Fault::new(Effect::CutWatch(1)).on(watch).times(1));
    let events: Vec<_> = api.watch(&WatchParams::default(), "0").await.unwrap().try_collect().await.unwrap();
    assert!(matches!(events.as_slice(), [WatchEvent::Added(o)] if o.name_any() == "a"));
    plane.faults().add(Fault::new(Effect::ExpireWatch).on(watch).times(1));
    let mut expired = api.watch(&WatchParams::default(), "5").await.unwrap().boxed();
    assert!(matches!(expired.try_next().await.unwrap(), Some(WatchEvent::Error(s)) if s.code == 410));
    plane.faults().add(Fault::new(Effect::DelayEvents(Duration::from_secs(7))).on(watch));
    let start = tokio::time::Instant::now();
    let mut late = api.watch(&WatchParams::default(), "0").await.unwrap().boxed();
    late.try_next().await.unwrap().unwrap();
    assert_eq!(start.elapsed(), Duration::from_secs(7));
}
