//! A hash of an object's values at the places that an intent speaks of.

use serde_json::{Map, Value};
use std::hash::{DefaultHasher, Hash, Hasher};

/// The fingerprint of `live` as seen through `intent`. Fields that the intent leaves out do not count; a list that the
/// intent sets counts as a whole, since what belongs to whom in a list is the server's to say: if others add to it,
/// that costs one apply, not one per reconcile. So does a map of texts other than labels and annotations: many, such as
/// node selectors, are the intent's as a whole.
pub(super) fn fingerprint(live: &Value, intent: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    feed(Some(live), intent, "metadata", &mut hasher);
    hasher.finish()
}

fn feed(live: Option<&Value>, intent: &Value, name: &str, hasher: &mut DefaultHasher) {
    match (live, intent) {
        (Some(Value::Object(live)), Value::Object(intent)) if !counts_as_a_whole(name, intent) => {
            for (name, intent) in intent {
                name.hash(hasher);
                feed(live.get(name), intent, name, hasher);
            }
        }
        (Some(live), _) => live.hash(hasher),
        (None, _) => "absent".hash(hasher),
    }
}

fn counts_as_a_whole(name: &str, intent: &Map<String, Value>) -> bool {
    !matches!(name, "metadata" | "labels" | "annotations") && intent.values().all(Value::is_string)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_what_the_intent_speaks_of_counts() {
        let intent = json!({"spec": {"cpu": "1000m", "ports": [{"port": 80}]}});
        let live = json!({"spec": {"cpu": "1", "ports": [{"port": 80, "protocol": "TCP"}]}});
        let same = |changed: Value| fingerprint(&live, &intent) == fingerprint(&changed, &intent);
        assert!(same(
            json!({"spec": {"cpu": "1", "ports": [{"port": 80, "protocol": "TCP"}], "more": 1}, "status": {}})
        ));
        assert!(!same(json!({"spec": {"cpu": "2", "ports": [{"port": 80, "protocol": "TCP"}]}})), "changed");
        assert!(!same(json!({"spec": {"ports": [{"port": 80, "protocol": "TCP"}]}})), "removed");
        assert!(!same(json!({"spec": {"cpu": "1", "ports": []}})), "list emptied");
        assert!(!same(json!({})), "gone");
    }

    #[test]
    fn a_selector_counts_as_a_whole_and_labels_do_not() {
        let same =
            |before: Value, after: Value| fingerprint(&before, &before) == fingerprint(&after, &before);
        let selector = |more: Value| json!({"spec": {"nodeSelector": more, "replicas": 1}});
        assert!(!same(selector(json!({"a": "b"})), selector(json!({"a": "b", "c": "d"}))));
        let labels = |more: Value| json!({"metadata": {"name": "x", "labels": more}});
        assert!(same(labels(json!({"a": "b"})), labels(json!({"a": "b", "c": "d"}))));
        let version = |v: &str| json!({"kind": "A", "metadata": {"name": "x", "resourceVersion": v}});
        let intent = json!({"kind": "A", "metadata": {"name": "x"}});
        assert_eq!(fingerprint(&version("1"), &intent), fingerprint(&version("2"), &intent));
    }
}
