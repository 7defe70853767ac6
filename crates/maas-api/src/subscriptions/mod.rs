//! MaaSSubscriptions as maas-api sees them: read tolerantly, chosen by pure functions.

mod health;
mod list;
mod parse;
mod select;

use std::collections::BTreeMap;

pub use health::Unhealthy;
pub use list::{accessible, containing_model};
pub use parse::parse;
pub use select::{SelectError, highest_priority, select};

/// One MaaSSubscription, as far as maas-api needs it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Subscription {
    /// `metadata.name`.
    pub name: String,
    /// `metadata.namespace`.
    pub namespace: String,
    /// Name for people; empty if there is none.
    pub display_name: String,
    /// Text for people; empty if there is none.
    pub description: String,
    /// Groups whose members may use it.
    pub groups: Vec<String>,
    /// Users who may use it.
    pub users: Vec<String>,
    /// The higher, the sooner a key is bound to it.
    pub priority: i32,
    /// The models in it.
    pub model_refs: Vec<ModelRef>,
    /// Who pays; empty if unsaid.
    pub organization_id: String,
    /// From which budget; empty if unsaid.
    pub cost_center: String,
    /// Anything else to report usage by.
    pub labels: BTreeMap<String, String>,
    /// `status.phase` as found; empty if there is none.
    pub phase: String,
    /// Whether its `Ready` condition is true.
    pub ready: bool,
    /// `metadata.deletionTimestamp` as found; set while it is being deleted.
    pub deletion_timestamp: Option<String>,
    /// The states of its rate limit policies.
    pub rate_limit_statuses: Vec<RateLimitStatus>,
}

/// One model of a subscription.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelRef {
    /// Name of the MaaSModelRef.
    pub name: String,
    /// Namespace of the MaaSModelRef.
    pub namespace: String,
    /// How many tokens in how much time.
    pub token_rate_limits: Vec<TokenRateLimit>,
    /// What a token costs, if that is said.
    pub billing_rate: Option<String>,
}

/// So many tokens in so much time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TokenRateLimit {
    /// Tokens.
    pub limit: i64,
    /// Time, such as `1m`.
    pub window: String,
}

/// The state of one generated rate limit policy.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RateLimitStatus {
    /// Name of the MaaSModelRef it is for.
    pub model: String,
    /// The namespace it is in, which is the model's; empty if unsaid.
    pub namespace: String,
    /// Whether it is enforced.
    pub ready: bool,
}

/// Who asks.
#[derive(Clone, Copy, Debug)]
pub struct Caller<'a> {
    /// User name.
    pub username: &'a str,
    /// Groups.
    pub groups: &'a [String],
}

impl Subscription {
    /// Whether the caller may use it: by name or by group, exactly as written.
    pub fn admits(&self, caller: Caller<'_>) -> bool {
        (!caller.username.is_empty() && self.users.iter().any(|user| user == caller.username))
            || caller.groups.iter().any(|group| self.groups.iter().any(|owner| owner == group.trim()))
    }

    /// The reference to a model given as `namespace/name`; one without a namespace is in no subscription.
    pub fn model(&self, model: &str) -> Option<&ModelRef> {
        let (namespace, name) = model.split_once('/')?;
        self.model_refs.iter().find(|r| r.namespace == namespace && r.name == name)
    }

    /// Whether requests are served under it: its phase says so, and it is not on its way out.
    pub fn is_serving(&self) -> bool {
        matches!(self.phase.as_str(), "Active" | "Degraded") && self.deletion_timestamp.is_none()
    }

    /// The largest token limit in it: of two with equal priority, the more generous goes first.
    fn max_limit(&self) -> i64 {
        self.model_refs.iter().flat_map(|r| &r.token_rate_limits).map(|l| l.limit).max().unwrap_or(0)
    }

    /// Orders by priority, then by generosity (both descending), then by name.
    fn by_priority(&self, other: &Self) -> std::cmp::Ordering {
        (other.priority, other.max_limit())
            .cmp(&(self.priority, self.max_limit()))
            .then(self.name.cmp(&other.name))
    }
}
