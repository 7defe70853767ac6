//! Label selectors as objects write them (`matchLabels`, `matchExpressions`).

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// A label selector; the empty one matches everything.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LabelSelector {
    match_labels: Option<BTreeMap<String, String>>,
    match_expressions: Option<Vec<Requirement>>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Requirement {
    key: String,
    operator: String,
    values: Option<Vec<String>>,
}

impl LabelSelector {
    /// Reads a selector; none if it is not one, so that a broken selector selects nothing.
    pub(crate) fn of(value: &Value) -> Option<Self> {
        Self::deserialize(value).ok()
    }

    /// Whether an object's own labels match.
    pub(crate) fn matches_object(&self, object: &Value) -> bool {
        let labels = object.pointer("/metadata/labels").and_then(Value::as_object);
        self.matches(|key| labels?.get(key)?.as_str())
    }

    /// Whether labels looked up by key match.
    pub(crate) fn matches<'a>(&self, label: impl Fn(&str) -> Option<&'a str>) -> bool {
        let pairs = self.match_labels.iter().flatten().all(|(key, value)| label(key) == Some(value));
        pairs
            && self
                .match_expressions
                .iter()
                .flatten()
                .all(|requirement| requirement.matches(label(&requirement.key)))
    }
}

impl Requirement {
    fn matches(&self, label: Option<&str>) -> bool {
        let listed = |value: &str| self.values.iter().flatten().any(|v| v == value);
        match self.operator.as_str() {
            "In" => label.is_some_and(listed),
            "NotIn" => !label.is_some_and(listed),
            "Exists" => label.is_some(),
            "DoesNotExist" => label.is_none(),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn all_requirements_must_hold() {
        let object = json!({ "metadata": { "labels": { "app": "web", "tier": "front" } } });
        let matches = |selector: Value| LabelSelector::of(&selector).unwrap().matches_object(&object);
        let one = |key: &str, operator: &str, values: Value| {
            matches(json!({ "matchExpressions": [{ "key": key, "operator": operator, "values": values }] }))
        };
        assert!(matches(json!({})));
        assert!(matches(json!({ "matchLabels": { "app": "web" } })));
        assert!(!matches(json!({ "matchLabels": { "app": "web", "tier": "back" } })));
        assert!(one("app", "In", json!(["api", "web"])) && !one("none", "In", json!(["web"])));
        assert!(one("app", "NotIn", json!(["api"])) && one("none", "NotIn", json!(["web"])));
        assert!(!one("app", "NotIn", json!(["web"])));
        assert!(one("app", "Exists", Value::Null) && !one("none", "Exists", Value::Null));
        assert!(one("none", "DoesNotExist", Value::Null) && !one("app", "DoesNotExist", Value::Null));
        assert!(!one("app", "Near", json!(["web"])), "an unknown operator matches nothing");
    }
}
