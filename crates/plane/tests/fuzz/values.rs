//! Random JSON whose names and texts mean something to the code under test.

use proptest::prelude::*;
use serde_json::{Value, json};

/// Names that mean something to one of the readers, so that random values meet code.
fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "spec",
            "status",
            "metadata",
            "name",
            "labels",
            "containers",
            "env",
            "ports",
            "template",
            "$patch",
            "$retainKeys",
            "$setElementOrder/containers",
            "$deleteFromPrimitiveList/finalizers",
            "finalizers",
            "replicas",
            "type",
            "properties",
            "items",
            "default",
            "nullable",
            "additionalProperties",
            "anyOf",
            "oneOf",
            "not",
            "pattern",
            "enum",
            "required",
            "format",
            "maxLength",
            "minItems",
            "x-kubernetes-list-type",
            "x-kubernetes-list-map-keys",
            "x-kubernetes-preserve-unknown-fields",
            "x-kubernetes-int-or-string",
            "x-kubernetes-embedded-resource",
            "x-kubernetes-validations",
            "rule",
            "message",
            "set",
            "mapl",
            "map",
            "free",
            "list",
            "count",
            "op",
            "path",
            "value",
            "from",
            "managedFields",
            "fieldsV1",
            "manager",
            "operation",
        ])
        .prop_map(str::to_owned),
        "[a-z]{0,3}",
    ]
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-3i64..4).prop_map(Value::from),
        any::<f64>().prop_map(|f| json!(f)),
        name().prop_map(Value::from),
        prop::sample::select(vec![
            "object",
            "array",
            "string",
            "integer",
            "delete",
            "replace",
            "merge",
            "map",
            "set",
            "atomic",
            "(",
            "^a*$",
            "add",
            "remove",
            "test",
            "copy",
            "move",
            "/spec",
            "/spec/0",
            "/-",
            "Apply",
            "Update",
            "date-time",
            "self.all(x, x == 1)",
            "1Gi"
        ])
        .prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ]
}

/// Any JSON.
pub(crate) fn value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(5, 48, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(name(), inner, 0..6)
                .prop_map(|m| Value::Object(m.into_iter().collect())),
        ]
    })
}

/// Something like a Pod: containers with names that recur.
pub(crate) fn pod() -> impl Strategy<Value = Value> {
    let entry = (prop::sample::select(vec!["a", "b", "c"]), value()).prop_map(|(name, rest)| {
        let mut fields = rest.as_object().cloned().unwrap_or_default();
        fields.insert("name".into(), json!(name));
        Value::Object(fields)
    });
    (prop::collection::vec(entry, 0..4), value()).prop_map(|(containers, rest)| {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "x": rest}, "spec": {"containers": containers}})
    })
}
