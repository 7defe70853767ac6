use super::*;
use crate::builtin;
use crate::resource::GroupVersionKind;
use serde_json::json;

fn custom() -> Schema {
    Schema::parse(&json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": {
            "count": {"type": "integer"}, "text": {"type": "string"},
            "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
            "mapl": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name", "proto"],
                     "items": {"type": "object", "properties": {"name": {"type": "string"}, "v": {"type": "string"},
                               "proto": {"type": "string", "default": "TCP"}}}},
            "list": {"type": "array", "items": {"type": "string"}},
            "map": {"type": "object", "additionalProperties": {"type": "string"}},
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
            "atom": {"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": {"type": "string"}},
        }},
        "status": {"type": "object", "properties": {"replicas": {"type": "integer"}}}}}))
}

fn cx<'a>(schema: &'a Schema, manager: &'a str) -> Context<'a> {
    Context {
        schema,
        api_version: "example.com/v1",
        kind: "Widget",
        custom: true,
        manager,
        subresource: "",
        reset: Reset::Nothing,
        now: "2026-11-15T20:10:09Z",
        others: &[],
    }
}

fn widget(spec: Value) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": spec})
}

fn fields_of(object: &Value, manager: &str) -> Value {
    let entries = object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    entries.iter().find(|e| e["manager"] == manager).map_or(Value::Null, |e| e["fieldsV1"].clone())
}

#[test]
fn a_first_apply_owns_exactly_its_body() {
    let schema = custom();
    let body = widget(
        json!({"count": 1, "set": ["a"], "mapl": [{"name": "x", "v": "1"}], "map": {"k": "v"}, "free": {"a": {"b": [1]}}}),
    );
    let object = apply(&cx(&schema, "m1"), None, &body, false).unwrap();
    assert_eq!(
        fields_of(&object, "m1"),
        json!({"f:spec": {"f:count": {}, "f:set": {"v:\"a\"": {}},
            "f:mapl": {"k:{\"name\":\"x\",\"proto\":\"TCP\"}": {".": {}, "f:name": {}, "f:v": {}}},
            "f:map": {"f:k": {}}, "f:free": {"f:a": {".": {}, "f:b": {}}}}})
    );
    assert_eq!(object["metadata"]["managedFields"][0]["time"], "2026-11-15T20:10:09Z");
}

#[test]
fn left_out_fields_go_unless_another_has_them() {
    let schema = custom();
    let first =
        apply(&cx(&schema, "m1"), None, &widget(json!({"count": 1, "text": "t", "set": ["a", "b"]})), false)
            .unwrap();
    let second =
        apply(&cx(&schema, "m2"), Some(&first), &widget(json!({"text": "t", "set": ["b", "c"]})), false)
            .unwrap();
    assert_eq!(second["spec"]["set"], json!(["a", "b", "c"]));
    let third = apply(&cx(&schema, "m1"), Some(&second), &widget(json!({"count": 2})), false).unwrap();
    assert_eq!(third["spec"], json!({"count": 2, "text": "t", "set": ["b", "c"]}));
    assert_eq!(fields_of(&third, "m1"), json!({"f:spec": {"f:count": {}}}));
}

#[test]
fn order_follows_the_request_then_the_live_list() {
    let schema = custom();
    let set = |live: Value, new: Value| {
        let first = apply(&cx(&schema, "m1"), None, &widget(json!({"set": live})), false).unwrap();
        apply(&cx(&schema, "m2"), Some(&first), &widget(json!({"set": new})), false).unwrap()["spec"]["set"]
            .clone()
    };
    assert_eq!(set(json!(["a", "b"]), json!(["c", "a"])), json!(["c", "a", "b"]));
    assert_eq!(set(json!(["x"]), json!(["y"])), json!(["x", "y"]));
    assert_eq!(set(json!(["c"]), json!(["side", "c"])), json!(["side", "c"]));
}

#[test]
fn conflicts_name_managers_and_fields() {
    let schema = custom();
    let first = apply(&cx(&schema, "m1"), None, &widget(json!({"list": ["a"]})), false).unwrap();
    let error = apply(&cx(&schema, "m2"), Some(&first), &widget(json!({"list": ["b"]})), false).unwrap_err();
    assert_eq!(error.to_string(), "Apply failed with 1 conflict: conflict with \"m1\": .spec.list");
    let forced = apply(&cx(&schema, "m2"), Some(&first), &widget(json!({"list": ["b"]})), true).unwrap();
    assert_eq!(fields_of(&forced, "m1"), Value::Null);

    let config = builtin::schema(&GroupVersionKind::new("", "v1", "ConfigMap")).unwrap();
    let cm = |manager| Context { api_version: "v1", kind: "ConfigMap", custom: false, ..cx(config, manager) };
    let body = |data: Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": data});
    let live = apply(&cm("m1"), None, &body(json!({"a": "1", "b": "1"})), false).unwrap();
    let live = apply(&cm("m2"), Some(&live), &body(json!({"a": "1"})), false).unwrap();
    let error = apply(&cm("m3"), Some(&live), &body(json!({"a": "2", "b": "2"})), false).unwrap_err();
    assert_eq!(
        error.to_string(),
        "Apply failed with 3 conflicts: conflicts with \"m1\":\n- .data.a\n- .data.b\nconflicts with \"m2\":\n- .data.a"
    );
    let mut new = live.clone();
    new["data"]["a"] = json!("9");
    record_update(&cm("probe"), Some(&live), &mut new);
    let error = apply(&cm("m4"), Some(&new), &body(json!({"a": "2"})), false).unwrap_err();
    assert_eq!(error.to_string(), "Apply failed with 1 conflict: conflict with \"probe\" using v1: .data.a");
}

#[test]
fn co_ownership_of_equal_values_has_no_time() {
    let schema = custom();
    let first = apply(&cx(&schema, "m1"), None, &widget(json!({"count": 1})), false).unwrap();
    let second = apply(&cx(&schema, "m2"), Some(&first), &widget(json!({"count": 1})), false).unwrap();
    let entries = second["metadata"]["managedFields"].as_array().unwrap();
    let m2 = entries.iter().find(|e| e["manager"] == "m2").unwrap();
    assert_eq!(m2.get("time"), None);
}

#[test]
fn emptied_structs_are_left_null_in_custom_resources() {
    let schema = custom();
    let status = |status: Value| json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "status": status});
    let first = apply(&cx(&schema, "m1"), None, &status(json!({"replicas": 1})), false).unwrap();
    let second = apply(&cx(&schema, "m1"), Some(&first), &status(json!({})), false).unwrap();
    assert_eq!(second["status"], Value::Null);
    assert!(second.as_object().unwrap().contains_key("status"));
}

#[test]
fn container_ports_are_keyed_with_the_default_protocol() {
    let schema = builtin::schema(&GroupVersionKind::new("apps", "v1", "Deployment")).unwrap();
    let cx = Context { api_version: "apps/v1", kind: "Deployment", custom: false, ..cx(schema, "m1") };
    let body = |containers: Value| {
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
            "spec": {"replicas": 1, "template": {"spec": {"containers": containers}}}})
    };
    let object = apply(
        &cx,
        None,
        &body(json!([{"name": "c", "image": "i", "command": null, "ports": [{"containerPort": 80}]}])),
        false,
    )
    .unwrap();
    assert_eq!(
        fields_of(&object, "m1"),
        json!({"f:spec": {"f:replicas": {}, "f:template": {"f:spec": {"f:containers": {"k:{\"name\":\"c\"}": {".": {},
            "f:image": {}, "f:name": {}, "f:command": {},
            "f:ports": {"k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {".": {}, "f:containerPort": {}}}}}}}}})
    );
    assert_eq!(object["spec"]["template"]["spec"]["containers"][0].get("command"), None);
}

#[test]
fn bodies_that_do_not_fit_are_typed_errors() {
    let schema = builtin::schema(&GroupVersionKind::new("apps", "v1", "Deployment")).unwrap();
    let cx = Context { api_version: "apps/v1", kind: "Deployment", custom: false, ..cx(schema, "m1") };
    let head = "failed to create typed patch object (/web; apps/v1, Kind=Deployment): ";
    let containers = |containers: Value| json!({"template": {"spec": {"containers": containers}}});
    for (spec, text) in [
        (json!({"foo": 1}), ".spec.foo: field not declared in schema"),
        (json!({"replicas": "x"}), ".spec.replicas: expected numeric (int or float), got string"),
        (
            containers(json!([{"name": "c", "image": 5}])),
            ".spec.template.spec.containers[name=\"c\"].image: expected string, got &value.valueUnstructured{Value:5}",
        ),
        (containers(json!("x")), ".spec.template.spec.containers: expected list, got &{x}"),
        (json!({"template": ["a", "b"]}), ".spec.template: expected map, got &{[a b]}"),
        (
            containers(json!([{"name": "c", "env": [{"name": "A"}, {"name": "A"}]}])),
            ".spec.template.spec.containers[name=\"c\"].env: duplicate entries for key [name=\"A\"]",
        ),
        (
            containers(json!([{"name": "c", "ports": [{"containerPort": 80}, {"containerPort": 80}]}])),
            ".spec.template.spec.containers[name=\"c\"].ports: duplicate entries for key [containerPort=80,protocol=\"TCP\"]",
        ),
    ] {
        let body =
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec});
        assert_eq!(apply(&cx, None, &body, false), Err(ApplyError::Typed(format!("{head}{text}"))));
    }
    let wrong = json!({"apiVersion": "v2", "kind": "ConfigMap"});
    assert_eq!(
        apply(&cx, None, &wrong, false).unwrap_err().to_string(),
        "invalid object type: /v2, Kind=ConfigMap"
    );
    let managed = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"managedFields": [{}]}});
    assert_eq!(
        apply(&cx, None, &managed, false).unwrap_err().to_string(),
        "metadata.managedFields must be nil"
    );
}

#[test]
fn updates_are_booked_to_their_manager() {
    let schema = custom();
    let mut object = widget(json!({"count": 1, "map": {"a": "1"}}));
    record_update(&cx(&schema, "creator"), None, &mut object);
    assert_eq!(
        fields_of(&object, "creator"),
        json!({"f:spec": {".": {}, "f:count": {}, "f:map": {".": {}, "f:a": {}}}})
    );
    let mut next = object.clone();
    next["spec"] = json!({"count": 2, "map": {"a": "1", "b": "2"}});
    record_update(&cx(&schema, "other"), Some(&object), &mut next);
    assert_eq!(fields_of(&next, "creator"), json!({"f:spec": {".": {}, "f:map": {".": {}, "f:a": {}}}}));
    assert_eq!(fields_of(&next, "other"), json!({"f:spec": {"f:count": {}, "f:map": {"f:b": {}}}}));
    // A reset leaves no book, and updates are not tracked from then on …
    let mut reset = next.clone();
    reset["metadata"]["managedFields"] = json!([{}]);
    record_update(&cx(&schema, "other"), Some(&next), &mut reset);
    assert_eq!(reset["metadata"].get("managedFields"), None);
    let mut untracked = reset.clone();
    untracked["spec"]["count"] = json!(7);
    record_update(&cx(&schema, "other"), Some(&reset), &mut untracked);
    assert_eq!(untracked["metadata"].get("managedFields"), None);
    // … until an apply, which books what was there to nobody in particular.
    let applied = apply(&cx(&schema, "m1"), Some(&untracked), &widget(json!({"count": 7})), false).unwrap();
    assert_ne!(fields_of(&applied, "before-first-apply"), Value::Null);
}

#[test]
fn status_writes_have_entries_of_their_own() {
    let schema = custom();
    let mut object = widget(json!({"count": 1}));
    record_update(&Context { reset: Reset::top_level(&["status"]), ..cx(&schema, "c") }, None, &mut object);
    let mut next = object.clone();
    next["status"] = json!({"replicas": 1});
    let status = Context { subresource: "status", reset: Reset::AllBut("status"), ..cx(&schema, "c") };
    record_update(&status, Some(&object), &mut next);
    let entries = next["metadata"]["managedFields"].as_array().unwrap();
    assert_eq!(entries.len(), 2);
    let entry = entries.iter().find(|e| e["subresource"] == "status").unwrap();
    assert_eq!(entry["fieldsV1"], json!({"f:status": {".": {}, "f:replicas": {}}}));
}

#[test]
fn live_duplicates_are_one_leaf_and_collapse_when_applied() {
    let schema = builtin::schema(&GroupVersionKind::new("", "v1", "Pod")).unwrap();
    let cx = |manager| Context { api_version: "v1", kind: "Pod", custom: false, ..cx(schema, manager) };
    let pod = |env: Value| {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "env": env}]}})
    };
    let mut live = pod(json!([{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]));
    record_update(&cx("creator"), None, &mut live);
    let env = &fields_of(&live, "creator")["f:spec"]["f:containers"]["k:{\"name\":\"c\"}"]["f:env"];
    assert_eq!(env["k:{\"name\":\"A\"}"], json!({}));
    let without = apply(&cx("m1"), Some(&live), &pod(json!([{"name": "B", "value": "x"}])), false).unwrap();
    assert_eq!(without["spec"]["containers"][0]["env"].as_array().unwrap().len(), 3);
    let with = apply(&cx("m1"), Some(&live), &pod(json!([{"name": "A", "value": "9"}])), true).unwrap();
    assert_eq!(with["spec"]["containers"][0]["env"], json!([{"name": "A", "value": "9"}]));
}

#[test]
fn too_many_updaters_are_folded() {
    let schema = custom();
    let mut object = widget(json!({"map": {}}));
    record_update(&cx(&schema, "m0"), None, &mut object);
    for i in 0..14 {
        let mut next = object.clone();
        next["spec"]["map"][format!("k{i}")] = json!("v");
        let (name, now) = (format!("u{i}"), format!("2026-11-15T20:10:{:02}Z", 10 + i));
        record_update(&Context { now: &now, manager: &name, ..cx(&schema, "") }, Some(&object), &mut next);
        object = next;
    }
    let entries = object["metadata"]["managedFields"].as_array().unwrap();
    assert_eq!(entries.len(), 10);
    assert!(entries.iter().any(|e| e["manager"] == "ancient-changes"));
}
