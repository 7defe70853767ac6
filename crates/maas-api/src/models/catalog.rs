//! The list of models as clients see it.

use std::collections::BTreeMap;

use serde::Serialize;
use utoipa::ToSchema;

/// One model in the OpenAI-compatible list.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = Model)]
pub struct ListedModel {
    /// The name to send in inference requests.
    pub id: String,
    /// Seconds since 1970.
    pub created: i64,
    /// Always `model`.
    pub object: &'static str,
    /// Namespace and name of the MaaSModelRef.
    pub owned_by: String,
    /// What runs it.
    pub kind: String,
    /// Where it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Whether it is ready.
    pub ready: bool,
    /// What people should know about it.
    #[serde(rename = "modelDetails", skip_serializing_if = "Option::is_none")]
    pub model_details: Option<ModelDetails>,
    /// The subscriptions through which the caller may use it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub subscriptions: Vec<SubscriptionRef>,
}

/// What people should know about a model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelDetails {
    /// What it is good for.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub genai_use_case: String,
    /// A sentence.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// A name for people.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub display_name: String,
    /// How many tokens it can look at.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub context_window: String,
}

/// A subscription in the list of models.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubscriptionRef {
    /// What to send as `X-MaaS-Subscription`.
    pub name: String,
    /// A name for people.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub display_name: String,
    /// A sentence.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
}

/// One list of many: a model that is in several subscriptions appears once and names them all, in the order given.
/// Sorted by id, then URL, then owner.
pub fn merge(entries: impl IntoIterator<Item = ListedModel>) -> Vec<ListedModel> {
    let mut merged: BTreeMap<(String, String, String), ListedModel> = BTreeMap::new();
    for entry in entries {
        let key = (entry.id.clone(), entry.url.clone().unwrap_or_default(), entry.owned_by.clone());
        match merged.get_mut(&key) {
            None => drop(merged.insert(key, entry)),
            Some(model) => {
                for subscription in entry.subscriptions {
                    if model.subscriptions.iter().all(|known| known.name != subscription.name) {
                        model.subscriptions.push(subscription);
                    }
                }
            }
        }
    }
    merged.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(id: &str, url: &str, subscription: &str) -> ListedModel {
        ListedModel {
            id: id.into(),
            created: 1,
            object: "model",
            owned_by: "llm/x".into(),
            kind: "k".into(),
            url: Some(url.into()),
            ready: true,
            model_details: None,
            subscriptions: vec![SubscriptionRef {
                name: subscription.into(),
                display_name: String::new(),
                description: String::new(),
            }],
        }
    }

    #[test]
    fn a_model_in_several_subscriptions_is_listed_once() {
        let merged = merge([
            entry("b", "u", "gold"),
            entry("a", "v", "gold"),
            entry("a", "u", "gold"),
            entry("b", "u", "silver"),
            entry("b", "u", "gold"),
        ]);
        let shown: Vec<String> = merged
            .iter()
            .map(|m| {
                let names: Vec<&str> = m.subscriptions.iter().map(|s| s.name.as_str()).collect();
                format!("{} {} {}", m.id, m.url.as_deref().unwrap_or_default(), names.join("+"))
            })
            .collect();
        assert_eq!(shown, ["a u gold", "a v gold", "b u gold+silver"]);
    }
}
