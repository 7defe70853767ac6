//! One rule of a role.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::Target;

const ALL: &str = "*";

/// Verbs on resources, or on paths.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rule {
    /// What may be done.
    #[serde(default, deserialize_with = "or_default")]
    pub verbs: Vec<String>,
    /// In which API groups.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub api_groups: Vec<String>,
    /// On which resources (`pods`, `pods/log`, `*/scale`, `*`).
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<String>,
    /// On which objects; all when empty.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub resource_names: Vec<String>,
    /// On which paths (`/healthz`, `/openapi/*`, `*`).
    #[serde(
        default,
        rename = "nonResourceURLs",
        deserialize_with = "or_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub non_resource_urls: Vec<String>,
}

/// `null` is as good as absent.
fn or_default<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

impl Rule {
    /// The rules of a Role or ClusterRole. A rule that cannot be read grants nothing.
    pub fn of_role(role: &Value) -> Vec<Rule> {
        let rules = role.get("rules").and_then(Value::as_array);
        rules.into_iter().flatten().filter_map(|rule| Self::deserialize(rule).ok()).collect()
    }

    /// Whether this rule alone allows it.
    pub fn allows(&self, verb: &str, target: &Target<'_>) -> bool {
        if !self.verbs.iter().any(|v| v == ALL || v == verb) {
            return false;
        }
        match *target {
            Target::Path(path) => self.non_resource_urls.iter().any(|url| url_covers(url, path)),
            Target::Resource { group, resource, subresource, name, .. } => {
                self.api_groups.iter().any(|g| g == ALL || g == group)
                    && self.resources.iter().any(|r| resource_matches(r, resource, subresource))
                    && (self.resource_names.is_empty() || self.resource_names.iter().any(|n| n == name))
            }
        }
    }

    /// Whether all that `other` grants is granted by this rule.
    pub(super) fn covers(&self, other: &Rule) -> bool {
        let all_in = |own: &[String], asked: &[String]| {
            own.iter().any(|o| o == ALL) || asked.iter().all(|asked| own.contains(asked))
        };
        all_in(&self.verbs, &other.verbs)
            && all_in(&self.api_groups, &other.api_groups)
            && other
                .resources
                .iter()
                .all(|asked| self.resources.iter().any(|own| resource_covers(own, asked)))
            && (self.resource_names.is_empty()
                || !other.resource_names.is_empty()
                    && other.resource_names.iter().all(|asked| self.resource_names.contains(asked)))
            && other
                .non_resource_urls
                .iter()
                .all(|url| self.non_resource_urls.iter().any(|own| url_covers(own, url)))
    }

    /// As the escalation text shows it.
    pub(super) fn compact(&self) -> String {
        let parts: Vec<String> = [
            ("APIGroups", &self.api_groups),
            ("Resources", &self.resources),
            ("NonResourceURLs", &self.non_resource_urls),
            ("ResourceNames", &self.resource_names),
            ("Verbs", &self.verbs),
        ]
        .into_iter()
        .filter(|(_, items)| !items.is_empty())
        .map(|(key, items)| format!("{key}:{}", crate::auth::go_list(items)))
        .collect();
        format!("{{{}}}", parts.join(", "))
    }
}

fn resource_matches(pattern: &str, resource: &str, subresource: &str) -> bool {
    if pattern == ALL {
        return true;
    }
    match (pattern.split_once('/'), subresource.is_empty()) {
        (None, true) => pattern == resource,
        (Some((r, s)), false) => s == subresource && (r == ALL || r == resource),
        _ => false,
    }
}

fn resource_covers(own: &str, asked: &str) -> bool {
    own == asked || asked.split_once('/').map_or_else(|| own == ALL, |(r, s)| resource_matches(own, r, s))
}

fn url_covers(own: &str, asked: &str) -> bool {
    own == ALL
        || own == asked
        || own.strip_suffix('*').is_some_and(|prefix| asked.starts_with(prefix.trim_end_matches('*')))
}
