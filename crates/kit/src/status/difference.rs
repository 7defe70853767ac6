//! The merge patch that leads from one value to another.

use serde_json::{Map, Value};

/// The JSON merge patch (RFC 7386) that turns `old` into `new`; nothing if they are equal. What is gone is null, lists
/// are replaced whole.
#[must_use]
pub fn difference(old: &Value, new: &Value) -> Option<Value> {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            let mut patch = Map::new();
            for (name, value) in new {
                let change = old.get(name).map_or_else(|| Some(value.clone()), |old| difference(old, value));
                patch.extend(change.map(|change| (name.clone(), change)));
            }
            for name in old.keys().filter(|name| !new.contains_key(*name)) {
                patch.insert(name.clone(), Value::Null);
            }
            (!patch.is_empty()).then_some(Value::Object(patch))
        }
        _ => (old != new).then(|| new.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn what_is_gone_is_null_and_what_is_equal_is_left_out() {
        let old = json!({"url": "x", "phase": "Up", "address": {"url": "a", "ca": "b"}, "conditions": [1]});
        let new = json!({"phase": "Up", "address": {"url": "a", "port": 1}, "conditions": [1, 2]});
        assert_eq!(
            difference(&old, &new),
            Some(json!({"url": null, "address": {"ca": null, "port": 1}, "conditions": [1, 2]}))
        );
        assert_eq!(difference(&old, &old), None);
    }

    /// Values as a status has them: no nulls, which a merge patch cannot tell from absence.
    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![any::<bool>().prop_map(Value::from), (0..3i64).prop_map(Value::from)];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::btree_map("[a-c]", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    /// RFC 7386, section 2.
    fn merge(target: &mut Value, patch: &Value) {
        let Value::Object(patch) = patch else { return *target = patch.clone() };
        if !target.is_object() {
            *target = json!({});
        }
        let Some(map) = target.as_object_mut() else { return };
        for (name, value) in patch {
            if value.is_null() {
                map.remove(name);
            } else {
                merge(map.entry(name.clone()).or_insert(Value::Null), value);
            }
        }
    }

    proptest! {
        #[test]
        fn merging_the_difference_leads_from_old_to_new(old in value(), new in value()) {
            let mut got = old.clone();
            if let Some(patch) = difference(&old, &new) {
                prop_assert_ne!(&old, &new);
                merge(&mut got, &patch);
            }
            prop_assert_eq!(got, new);
        }
    }
}
