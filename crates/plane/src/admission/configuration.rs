//! Webhook configurations, read once per change.

use serde::Deserialize;
use serde_json::Value;

use crate::label_selector::LabelSelector;
use crate::webhook::ClientConfig;

use super::condition::MatchCondition;

/// Which of the two chains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Phase {
    /// May change the object.
    Mutating,
    /// May only refuse.
    Validating,
}

/// One webhook of a configuration, as stored (defaults filled in).
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Hook {
    pub(super) name: String,
    pub(super) client_config: ClientConfig,
    #[serde(default)]
    pub(super) rules: Vec<RuleWithOperations>,
    pub(super) failure_policy: Option<String>,
    pub(super) match_policy: Option<String>,
    pub(super) namespace_selector: Option<LabelSelector>,
    pub(super) object_selector: Option<LabelSelector>,
    pub(super) side_effects: Option<String>,
    pub(super) timeout_seconds: Option<u64>,
    #[serde(default)]
    pub(super) admission_review_versions: Vec<String>,
    #[serde(default)]
    pub(super) match_conditions: Vec<MatchCondition>,
    pub(super) reinvocation_policy: Option<String>,
}

/// Operations on resources.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct RuleWithOperations {
    pub(super) operations: Vec<String>,
    pub(super) api_groups: Vec<String>,
    pub(super) api_versions: Vec<String>,
    pub(super) resources: Vec<String>,
    pub(super) resource_names: Vec<String>,
    pub(super) scope: Option<String>,
}

impl Hook {
    /// The webhooks of a configuration, in order. One that cannot be read is an error: skipping it would let through
    /// what it was there to refuse.
    pub(super) fn of_configuration(configuration: &Value) -> Result<Vec<Hook>, String> {
        let hooks = configuration.get("webhooks").and_then(Value::as_array);
        let name = configuration.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
        hooks
            .into_iter()
            .flatten()
            .map(|hook| {
                Hook::deserialize(hook).map_err(|error| format!("webhook configuration {name:?}: {error}"))
            })
            .collect()
    }

    pub(super) fn ignores_failures(&self) -> bool {
        self.failure_policy.as_deref() == Some("Ignore")
    }

    pub(super) fn is_reinvocable(&self) -> bool {
        self.reinvocation_policy.as_deref() == Some("IfNeeded")
    }

    pub(super) fn may_run_dry(&self) -> bool {
        matches!(self.side_effects.as_deref(), Some("None" | "NoneOnDryRun"))
    }

    pub(super) fn timeout(&self) -> u64 {
        self.timeout_seconds.unwrap_or(10)
    }

    /// The first version that both sides know.
    pub(super) fn review_version(&self) -> &str {
        let known = |version: &&String| matches!(version.as_str(), "v1" | "v1beta1");
        self.admission_review_versions.iter().find(known).map_or("v1", String::as_str)
    }
}
