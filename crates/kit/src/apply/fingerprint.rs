//! A hash of an object's values at the places that an intent speaks of.

use serde_json::Value;
use std::hash::{DefaultHasher, Hash, Hasher};

/// The fingerprint of `live` as seen through `intent`. Fields that the intent leaves out do not count; a list that the
/// intent sets counts as a whole, since what belongs to whom in a list is the server's to say: if others add to it,
/// that costs one apply, not one per reconcile.
pub(super) fn fingerprint(live: &Value, intent: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    feed(Some(live), intent, &mut hasher);
    hasher.finish()
}

fn feed(live: Option<&Value>, intent: &Value, hasher: &mut DefaultHasher) {
    match (live, intent) {
        (Some(Value::Object(live)), Value::Object(intent)) => {
            for (name, intent) in intent {
                name.hash(hasher);
                feed(live.get(name), intent, hasher);
            }
        }
        (Some(live), _) => live.hash(hasher),
        (None, _) => "absent".hash(hasher),
    }
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
}
