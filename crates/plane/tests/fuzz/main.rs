//! Random input for everything that reads what strangers send: patches, selectors, CRD schemas, rules, applied bodies.
//!
//! Each target runs for `PLANE_FUZZ_SECONDS` (CI: 60; otherwise one second), always through proptest, so that a failure
//! is shrunk and its seed printed. Nothing may panic, results stay bounded, and each target's law must hold.

mod values;

use std::time::{Duration, Instant};

use plane::apply::{self, Context, Reset};
use plane::patch::{self, too_deep};
use plane::resource::GroupVersionKind;
use plane::schema::{self, Schema};
use plane::{builtin, selector};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Map, Value, json};
use values::{pod, value};

/// Runs a law on random values until the time is up.
fn hold<S: Strategy>(strategy: S, law: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let seconds = std::env::var("PLANE_FUZZ_SECONDS").ok().and_then(|s| s.parse().ok()).unwrap_or(1);
    let until = Instant::now() + Duration::from_secs(seconds);
    let mut runner = TestRunner::new(Config { cases: 64, failure_persistence: None, ..Config::default() });
    while Instant::now() < until {
        if let Err(failure) = runner.run(&strategy, &law) {
            panic!("{failure}");
        }
    }
}

#[test]
fn json_patches() {
    let operation = (
        prop::sample::select(vec!["add", "remove", "replace", "test", "copy", "move", "x"]),
        "(/[a-c~01-]{0,2}){0,4}",
        "(/[a-c0-9-]{0,2}){0,3}",
        value(),
    )
        .prop_map(|(op, path, from, value)| json!({"op": op, "path": path, "from": from, "value": value}));
    hold((value(), prop::collection::vec(operation, 0..8)), |(live, operations)| {
        if let Ok(patched) = patch::json::apply(&live, &Value::Array(operations)) {
            prop_assert!(!too_deep(&patched));
        }
        Ok(())
    });
}

#[test]
fn merge_patches_are_idempotent() {
    hold((value(), value()), |(live, change)| {
        if let Ok(once) = patch::merge::apply(&live, &change) {
            prop_assert_eq!(patch::merge::apply(&once, &change), Ok(once));
        }
        Ok(())
    });
}

#[test]
fn strategic_patches() {
    let schema = builtin::schema(&GroupVersionKind::new("", "v1", "Pod")).expect("pods are built in");
    hold((pod(), prop_oneof![pod(), value()]), |(live, change)| {
        let _ = patch::strategic::apply(schema, &live, &change);
        Ok(())
    });
}

#[test]
fn selectors() {
    let text =
        prop_oneof![".{0,24}", "[a-c!=()<>, in-]{0,24}", "(a|b|!a)(=|==|!=| in | notin )(\\(|x|\\)|,){0,4}"];
    hold(text, |text| {
        if let Ok(selector) = selector::LabelSelector::parse(&text) {
            let _ = selector.matches(|_| Some("1"));
        }
        Ok(())
    });
}

#[test]
fn crd_schemas() {
    hold((value(), value(), value()), |(raw, given, old)| {
        let mut crd = json!({"metadata": {"name": "ws.e.io"}, "spec": {"group": "e.io", "scope": "Namespaced", "names": {"plural": "ws", "kind": "W"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": raw}}]}});
        schema::crd::default(&mut crd);
        let _ = schema::crd::check(&crd, None);
        let compiled = schema::crd::compile(&crd["spec"]["versions"][0]);
        let mut object = given;
        schema::prune(&compiled, &mut object, true);
        prop_assert_eq!(schema::prune(&compiled, &mut object, true), Vec::<String>::new());
        schema::drop_nulls(&compiled, &mut object);
        schema::default(&compiled, &mut object);
        let mut again = object.clone();
        schema::default(&compiled, &mut again);
        prop_assert_eq!(&again, &object, "defaults are filled in once");
        let _ = schema::validate(&compiled, &object, Some(&old));
        Ok(())
    });
}

#[test]
fn rules() {
    let token = prop::sample::select(vec![
        "self",
        "self.n",
        "self.l",
        "self.t",
        "oldSelf",
        "1",
        "'a'",
        "2.5",
        "true",
        "null",
        "[",
        "]",
        "(",
        ")",
        "{",
        "}",
        ".all(x, ",
        ".map(x, ",
        ".filter(x, ",
        ".size()",
        " == ",
        " && ",
        " || ",
        " + ",
        " - ",
        " / ",
        " ? ",
        " : ",
        ", ",
        "x",
        ".matches('a+')",
        ".split(',')",
        "[0]",
        ".n",
        "has(",
        "quantity('1')",
        "duration('1s')",
        "ip('::1')",
        "!",
        "-",
        "9223372036854775807",
        ".substring(1)",
        ".format([1])",
        "%",
        "in",
        "string(",
        "timestamp('x')",
    ]);
    let rule = prop_oneof![prop::collection::vec(token, 0..12).prop_map(|tokens| tokens.concat()), ".{0,16}"];
    let object = json!({"n": 1, "t": "a,b", "l": ["a", "b"]});
    hold(rule, move |rule| {
        let raw = json!({"type": "object", "x-kubernetes-validations": [{"rule": rule, "messageExpression": rule}], "properties": {
            "n": {"type": "integer"}, "t": {"type": "string"}, "l": {"type": "array", "items": {"type": "string"}}}});
        let mut errors = Vec::new();
        schema::cel::check(&raw, "P", &mut errors);
        let _ = schema::validate(&Schema::compile(&raw), &object, Some(&object));
        Ok(())
    });
}

/// A spec that fits the schema below.
fn spec() -> impl Strategy<Value = Value> {
    let key = || prop::sample::select(vec!["a", "b", "c", "d"]);
    let small = || prop::sample::select(vec!["1", "2"]);
    (
        prop::option::of(0i64..3),
        prop::option::of(prop::collection::btree_set(key(), 1..4)),
        prop::option::of(prop::collection::btree_map(key(), prop::option::of(small()), 1..4)),
        prop::option::of(prop::collection::btree_map(key(), small(), 1..4)),
        prop::option::of(prop::collection::vec(key(), 1..4)),
    )
        .prop_map(|(count, set, mapl, map, list)| {
            let mut out = Map::new();
            out.extend(count.map(|v| ("count".to_owned(), json!(v))));
            out.extend(set.map(|v| ("set".to_owned(), json!(v))));
            out.extend(map.map(|v| ("map".to_owned(), json!(v))));
            out.extend(list.map(|v| ("list".to_owned(), json!(v))));
            let elements = mapl.map(|all| {
                let one = |(name, v): (&str, Option<&str>)| match v {
                    Some(v) => json!({"name": name, "v": v}),
                    None => json!({"name": name}),
                };
                Value::Array(all.into_iter().map(one).collect())
            });
            out.extend(elements.map(|v| ("mapl".to_owned(), v)));
            Value::Object(out)
        })
}

fn widget(spec: Value) -> Value {
    json!({"apiVersion": "e.io/v1", "kind": "W", "metadata": {"name": "w"}, "spec": spec})
}

fn content(object: &Value) -> Value {
    object["spec"].clone()
}

#[test]
fn an_apply_of_nothing_takes_back_what_was_applied() {
    let schema = Schema::parse(
        &json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "keep": {"type": "string"}, "count": {"type": "integer"}, "list": {"type": "array", "items": {"type": "string"}},
        "map": {"type": "object", "additionalProperties": {"type": "string"}},
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "mapl": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
            "items": {"type": "object", "properties": {"name": {"type": "string"}, "v": {"type": "string"}}}}}}}}),
    );
    let cx = |manager: &'static str| Context {
        schema: &schema,
        api_version: "e.io/v1",
        kind: "W",
        custom: true,
        manager,
        subresource: "",
        reset: Reset::Nothing,
        now: "2026-11-15T20:00:00Z",
        others: &[],
    };
    hold((spec(), spec()), |(mut first, second)| {
        first["keep"] = json!("x");
        let live =
            apply::apply(&cx("m1"), None, &widget(first), false).expect("a first apply has no conflicts");
        // The same again changes nothing.
        let again = apply::apply(&cx("m1"), Some(&live), &widget(content(&live)), false)
            .expect("nor has the same again");
        prop_assert!(apply::unchanged(&live, &again));
        let Ok(both) = apply::apply(&cx("m2"), Some(&live), &widget(second), false) else { return Ok(()) };
        let back = apply::apply(
            &cx("m2"),
            Some(&both),
            &json!({"apiVersion": "e.io/v1", "kind": "W", "metadata": {"name": "w"}}),
            false,
        );
        let back = back.expect("letting go has no conflicts");
        prop_assert_eq!(sorted(content(&back)), sorted(content(&live)));
        Ok(())
    });
}

/// Elements of associative lists may have been reordered by the other manager's request.
fn sorted(mut spec: Value) -> Value {
    for name in ["set", "mapl"] {
        if let Some(Value::Array(all)) = spec.get_mut(name) {
            all.sort_by_cached_key(ToString::to_string);
        }
    }
    spec
}

#[test]
fn applied_bodies_and_books() {
    let schema = builtin::schema(&GroupVersionKind::new("", "v1", "Pod")).expect("pods are built in");
    let cx = Context {
        schema,
        api_version: "v1",
        kind: "Pod",
        custom: false,
        manager: "m",
        subresource: "",
        reset: Reset::top_level(&["status"]),
        now: "2026-11-15T20:00:00Z",
        others: &[],
    };
    hold((pod(), pod(), value()), |(mut live, body, book)| {
        live["metadata"]["managedFields"] = book;
        let _ = apply::apply(&cx, Some(&live), &body, true);
        let mut new = body;
        apply::record_update(&cx, Some(&live), &mut new);
        Ok(())
    });
}

#[test]
fn built_in_objects() {
    let kinds = prop::sample::select(vec![
        ("", "v1", "Pod"),
        ("", "v1", "Service"),
        ("", "v1", "Secret"),
        ("", "v1", "ConfigMap"),
        ("", "v1", "PersistentVolumeClaim"),
        ("apps", "v1", "Deployment"),
        ("apps", "v1", "StatefulSet"),
        ("apps", "v1", "DaemonSet"),
        ("batch", "v1", "Job"),
        ("batch", "v1", "CronJob"),
        ("autoscaling", "v2", "HorizontalPodAutoscaler"),
        ("rbac.authorization.k8s.io", "v1", "Role"),
        ("rbac.authorization.k8s.io", "v1", "RoleBinding"),
        ("networking.k8s.io", "v1", "Ingress"),
        ("networking.k8s.io", "v1", "NetworkPolicy"),
        ("admissionregistration.k8s.io", "v1", "MutatingWebhookConfiguration"),
        ("apiextensions.k8s.io", "v1", "CustomResourceDefinition"),
    ]);
    hold((kinds, prop_oneof![pod(), value()], value()), |((group, version, kind), mut object, old)| {
        let gvk = GroupVersionKind::new(group, version, kind);
        if let Some(schema) = builtin::schema(&gvk) {
            schema::prune(schema, &mut object, true);
        }
        builtin::default(&gvk, &mut object);
        builtin::normalize(&gvk, &mut object);
        let _ = builtin::validate_create(&gvk, &object);
        let _ = builtin::validate_update(&gvk, &object, &old);
        Ok(())
    });
}
