//! Reading a MaaSSubscription, whatever is in it.
//!
//! The schema keeps most nonsense out, but an object written before a schema change is still there after it. So a
//! field of the wrong type counts as absent, and one odd object never hides the others.

use kube::core::ObjectMeta;
use quintet_api::maas::annotations;
use serde_json::Value;

use super::{ModelRef, RateLimitStatus, Subscription, TokenRateLimit};

/// The subscription, or `None` if it has no `spec`.
pub fn parse(metadata: &ObjectMeta, spec: &Value, status: &Value) -> Option<Subscription> {
    if !spec.is_object() {
        return None;
    }
    let (owner, tokens) = (&spec["owner"], &spec["tokenMetadata"]);
    let annotation =
        |key: &str| metadata.annotations.as_ref().and_then(|a| a.get(key)).cloned().unwrap_or_default();
    Some(Subscription {
        name: metadata.name.clone().unwrap_or_default(),
        namespace: metadata.namespace.clone().unwrap_or_default(),
        display_name: annotation(annotations::DISPLAY_NAME),
        description: annotation(annotations::DESCRIPTION),
        groups: objects(&owner["groups"]).filter_map(|g| g["name"].as_str()).map(str::to_owned).collect(),
        users: strings(&owner["users"]),
        priority: priority(&spec["priority"]),
        model_refs: objects(&spec["modelRefs"]).map(model_ref).collect(),
        organization_id: string(&tokens["organizationId"]),
        cost_center: string(&tokens["costCenter"]),
        labels: tokens["labels"]
            .as_object()
            .into_iter()
            .flatten()
            .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
            .collect(),
        phase: string(&status["phase"]).trim().to_owned(),
        ready: objects(&status["conditions"])
            .find(|c| c["type"] == "Ready")
            .is_some_and(|c| c["status"] == "True"),
        deletion_timestamp: metadata.deletion_timestamp.as_ref().map(|time| time.0.to_string()),
        rate_limit_statuses: objects(&status["tokenRateLimitStatuses"]).map(rate_limit_status).collect(),
    })
}

fn model_ref(object: &Value) -> ModelRef {
    ModelRef {
        name: string(&object["name"]),
        namespace: string(&object["namespace"]),
        token_rate_limits: objects(&object["tokenRateLimits"])
            .map(|limit| TokenRateLimit {
                limit: limit["limit"].as_i64().unwrap_or(0),
                window: string(&limit["window"]),
            })
            .collect(),
        billing_rate: object["billingRate"]
            .as_object()
            .map(|rate| string(rate.get("perToken").unwrap_or(&Value::Null))),
    }
}

fn rate_limit_status(object: &Value) -> RateLimitStatus {
    RateLimitStatus {
        model: string(&object["model"]),
        namespace: string(&object["namespace"]),
        ready: object["ready"].as_bool().unwrap_or(false),
    }
}

fn priority(value: &Value) -> i32 {
    value.as_i64().and_then(|n| i32::try_from(n).ok()).filter(|n| *n >= 0).unwrap_or(0)
}

fn string(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The objects of a list; whatever else is in it is passed over.
fn objects(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten().filter(|item| item.is_object())
}

/// All the strings of a list, or none if one item is not a string: half a list of users would be a guess.
fn strings(list: &Value) -> Vec<String> {
    let items = list.as_array().map(Vec::as_slice).unwrap_or_default();
    items.iter().map(|item| item.as_str().map(str::to_owned)).collect::<Option<_>>().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn metadata(value: Value) -> ObjectMeta {
        serde_json::from_value(value).expect("metadata")
    }

    #[test]
    fn every_field_is_read() {
        let parsed = parse(
            &metadata(json!({
                "name": "gold", "namespace": "models-as-a-service", "deletionTimestamp": "2026-04-29T10:29:54Z",
                "annotations": {"openshift.io/display-name": "Gold", "openshift.io/description": "Gold plan"},
            })),
            &json!({
                "owner": {"groups": [{"name": "g1"}, {"name": "g2"}], "users": ["alice"]},
                "priority": 10,
                "modelRefs": [{
                    "name": "llama", "namespace": "llm", "billingRate": {"perToken": "0.001"},
                    "tokenRateLimits": [{"limit": 1000, "window": "1m"}, {"limit": 5000, "window": "1h"}],
                }],
                "tokenMetadata": {"organizationId": "org-1", "costCenter": "cc-1", "labels": {"env": "prod", "n": 1}},
            }),
            &json!({
                "phase": " Active ",
                "conditions": [{"type": "Other", "status": "False"}, {"type": "Ready", "status": "True"}],
                "tokenRateLimitStatuses": [{"model": "llama", "name": "maas-trlp-llama", "namespace": "llm", "ready": true}],
            }),
        );
        insta::assert_debug_snapshot!(parsed.expect("has a spec"));
    }

    #[test]
    fn a_field_of_the_wrong_type_counts_as_absent() {
        let odd = parse(
            &metadata(json!({"name": "odd", "namespace": "ns"})),
            &json!({
                "owner": {"groups": [{"name": 1}, "g", {"name": "kept"}], "users": ["alice", 2]},
                "priority": -1,
                "modelRefs": ["x", {"name": "m", "tokenRateLimits": [{"limit": "many"}, 3], "billingRate": {}}],
                "tokenMetadata": {"organizationId": 7, "labels": ["a"]},
            }),
            &json!({"phase": 1, "conditions": {}, "tokenRateLimitStatuses": [{"model": 1, "ready": "yes"}]}),
        )
        .expect("has a spec");
        let expected = Subscription {
            name: "odd".into(),
            namespace: "ns".into(),
            groups: vec!["kept".into()],
            model_refs: vec![ModelRef {
                name: "m".into(),
                token_rate_limits: vec![TokenRateLimit::default()],
                billing_rate: Some(String::new()),
                ..Default::default()
            }],
            rate_limit_statuses: vec![RateLimitStatus::default()],
            ..Default::default()
        };
        assert_eq!(odd, expected);
    }

    #[test]
    fn priorities_beyond_32_bits_count_as_none() {
        for (value, expected) in
            [(json!(2147483647), 2147483647), (json!(2147483648_i64), 0), (json!(1.5), 0)]
        {
            let parsed = parse(&ObjectMeta::default(), &json!({"priority": value}), &Value::Null);
            assert_eq!(parsed.expect("has a spec").priority, expected, "{value}");
        }
    }

    #[test]
    fn without_a_spec_it_is_no_subscription() {
        for spec in [Value::Null, json!("text"), json!([])] {
            assert_eq!(parse(&ObjectMeta::default(), &spec, &Value::Null), None);
        }
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let names = prop::sample::select(vec![
            "owner",
            "groups",
            "users",
            "name",
            "priority",
            "modelRefs",
            "tokenRateLimits",
            "limit",
            "billingRate",
            "tokenMetadata",
            "labels",
            "phase",
            "conditions",
            "type",
            "status",
            "tokenRateLimitStatuses",
        ]);
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[a-zR]{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(5, 64, 8, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(names.clone().prop_map(str::to_owned), inner, 0..6)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn nothing_makes_it_panic(spec in any_json(), status in any_json()) {
            let parsed = parse(&ObjectMeta::default(), &spec, &status);
            prop_assert_eq!(parsed.is_some(), spec.is_object());
        }
    }
}
