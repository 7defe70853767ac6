//! What the statuses of several kinds share.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How far a MaaSAuthPolicy, MaaSSubscription or Tenant is.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, JsonSchema, PartialEq, Serialize)]
pub enum Phase {
    /// Not reconciled to an end yet.
    Pending,
    /// Everything it stands for is in place.
    Active,
    /// Some of it is in place.
    Degraded,
    /// None of it is.
    Failed,
}

impl Phase {
    /// As written in `status.phase`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Active => "Active",
            Self::Degraded => "Degraded",
            Self::Failed => "Failed",
        }
    }
}

/// Why a referenced or generated object is, or is not, ready.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, JsonSchema, PartialEq, Serialize)]
#[allow(missing_docs)] // the names say it all
pub enum StatusReason {
    Reconciled,
    ReconcileFailed,
    PartialFailure,
    Valid,
    NotFound,
    GetFailed,
    Accepted,
    AcceptedEnforced,
    NotAccepted,
    Enforced,
    NotEnforced,
    BackendNotReady,
    ConditionsNotFound,
    Unknown,
}

/// The state of one object that a custom resource refers to or generates.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceRefStatus {
    /// Its name.
    #[schemars(length(max = 253))]
    pub name: String,
    /// Its namespace.
    #[schemars(length(max = 63))]
    pub namespace: String,
    /// Whether it is there and healthy.
    pub ready: bool,
    /// Why, in one word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<StatusReason>,
    /// Why, in a sentence.
    #[schemars(length(max = 1024))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}
