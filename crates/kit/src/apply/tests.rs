//! Answers that only a real server's past or strictness brings about, scripted. The rest is in `tests/apply.rs`.

use super::*;
use crate::desired::{Adopt, Child, Desired, OnImmutable};
use crate::error::{Failure, Retry};
use crate::fence::Fence;
use crate::hub::Hubs;
use crate::metrics::Metrics;
use crate::script::{self, Asked, Log};
use k8s_openapi::api::core::v1::ConfigMap;
use parking_lot::Mutex;
use serde_json::{Value, json};

const US: FieldManager = FieldManager::with_legacy("us", &["manager"]);

fn applier(script: impl Fn(&Asked) -> (u16, Value) + Send + Sync + 'static) -> (Applier, Log) {
    let (client, log) = script::client(script);
    let metrics = Metrics::new();
    (Applier::new("test", Hubs::new(client, metrics.clone()), US, Fence::open(), metrics), log)
}

fn child() -> Child {
    let map: ConfigMap =
        serde_json::from_value(json!({"metadata": {"name": "a", "namespace": "ns"}, "data": {"x": "1"}}))
            .unwrap();
    Child::new(map).adopt(Adopt::Always)
}

fn answer(version: &str, managed: &Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "data": {"x": "1"},
        "metadata": {"name": "a", "namespace": "ns", "uid": "u", "resourceVersion": version, "managedFields": managed} })
}

/// What was asked, as method and kind of patch.
fn said(log: &Log) -> Vec<String> {
    let applies = |asked: &Asked| asked.query.contains("force=true");
    log.all()
        .iter()
        .map(|asked| format!("{}{}", asked.method, if applies(asked) { " apply" } else { "" }))
        .collect()
}

#[tokio::test]
async fn the_past_is_folded_once_and_then_applied_again() {
    let old = json!([
        {"manager": "us", "operation": "Apply", "fieldsV1": {"f:data": {"f:x": {}}}},
        {"manager": "manager", "operation": "Update", "fieldsV1": {"f:data": {"f:x": {}, "f:old": {}}}},
    ]);
    let folded = Mutex::new(false);
    let (applier, log) = applier(move |asked| {
        let mut folded = folded.lock();
        *folded |= asked.body["metadata"]["managedFields"].is_array();
        match (asked.method.as_str(), *folded) {
            ("GET", _) => script::not_found(),
            (_, false) => (200, answer("2", &old)),
            (_, true) => (200, answer("3", &json!([]))),
        }
    });
    let desired = Desired::new().with(child());
    applier.apply(&desired).await.ok().unwrap();
    assert_eq!(said(&log), ["GET", "PATCH apply", "PATCH", "PATCH apply"]);
    let folding = &log.all()[2].body["metadata"];
    assert_eq!(folding["managedFields"].as_array().unwrap().len(), 1);
    assert_eq!(folding["managedFields"][0]["fieldsV1"], json!({"f:data": {"f:x": {}, "f:old": {}}}));
    applier.apply(&desired).await.ok().unwrap();
    assert_eq!(log.len(), 4, "nothing differs");
}

fn immutable() -> (u16, Value) {
    script::refusal(
        422,
        "Invalid",
        "ConfigMap \"a\" is invalid: data: Forbidden: field is immutable when `immutable` is set",
    )
}

#[tokio::test]
async fn an_immutable_field_is_reported_with_what_to_do() {
    let (applier, log) =
        applier(|asked| if asked.method == "GET" { script::not_found() } else { immutable() });
    let error = applier.child(&child()).await.unwrap_err();
    assert_eq!((error.reason(), error.retry()), ("ImmutableField", Retry::Never));
    assert!(
        error.to_string().contains("field is immutable") && error.to_string().contains("Delete it"),
        "{error}"
    );
    assert_eq!(said(&log), ["GET", "PATCH apply"], "nothing is deleted unasked");
}

#[tokio::test]
async fn an_immutable_field_leads_to_a_new_object_where_that_is_allowed() {
    let there = Mutex::new(true);
    let (applier, log) = applier(move |asked| match asked.method.as_str() {
        "DELETE" => {
            *there.lock() = false;
            (200, answer("2", &json!([])))
        }
        "PATCH" if *there.lock() => immutable(),
        _ => (200, answer("5", &json!([]))),
    });
    let child = child().on_immutable(OnImmutable::Recreate);
    assert_eq!(applier.child(&child).await.unwrap(), Outcome::Recreated);
    assert_eq!(said(&log), ["GET", "PATCH apply", "DELETE", "PATCH apply"]);
    assert_eq!(log.all()[2].body["preconditions"]["uid"], "u", "never a namesake");
}

#[tokio::test]
async fn what_the_server_filled_in_for_another_strategy_makes_way() {
    let in_the_way = Mutex::new(true);
    let (applier, log) = applier(move |asked| match asked.method.as_str() {
        "PATCH" if asked.body["spec"]["strategy"].is_object() => {
            *in_the_way.lock() = false;
            (200, answer("2", &json!([])))
        }
        "PATCH" if *in_the_way.lock() => script::refusal(
            422,
            "Invalid",
            "Deployment.apps \"a\" is invalid: spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy \
             `type` is 'Recreate'",
        ),
        "GET" => (200, answer("1", &json!([]))),
        _ => (200, answer("3", &json!([]))),
    });
    assert_eq!(applier.child(&child()).await.unwrap(), Outcome::Changed);
    assert_eq!(said(&log), ["GET", "PATCH apply", "PATCH", "PATCH apply"]);
    assert_eq!(log.all()[2].body["spec"]["strategy"]["rollingUpdate"], Value::Null);
}

#[tokio::test]
async fn a_conflict_is_tried_again_soon_and_a_refusal_is_not() {
    for (code, reason, retry) in [(409, "Conflict", Retry::Soon), (403, "Forbidden", Retry::Backoff)] {
        let (applier, _) = applier(move |_| script::refusal(code, reason, "no"));
        let child = child();
        let error = applier.child(&child).await.unwrap_err();
        assert_eq!((error.reason(), error.retry(), error.detail().as_str()), (reason, retry, "no"));
    }
}
