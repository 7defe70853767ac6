//! ClusterRoles made of other ClusterRoles.

use serde_json::Value;

use crate::label_selector::LabelSelector;

/// The rules that an aggregated ClusterRole should have, given all ClusterRoles in order of name; none if it has no
/// `aggregationRule`.
pub fn aggregated_rules<'a>(
    role: &Value,
    all: impl IntoIterator<Item = &'a Value> + Clone,
) -> Option<Vec<Value>> {
    let selectors = role.pointer("/aggregationRule/clusterRoleSelectors")?.as_array()?;
    let name = role.pointer("/metadata/name");
    let mut rules: Vec<Value> = vec![];
    for selector in selectors.iter().filter_map(LabelSelector::of) {
        for other in all.clone() {
            if other.pointer("/metadata/name") == name || !selector.matches_object(other) {
                continue;
            }
            for rule in other.get("rules").and_then(Value::as_array).into_iter().flatten() {
                if !rules.contains(rule) {
                    rules.push(rule.clone());
                }
            }
        }
    }
    Some(rules)
}
