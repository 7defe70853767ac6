//! `MaaSSubscription`: who may use which models, and how much of them.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::status::{Phase, ResourceRefStatus, StatusReason};

/// Who may use which models, and how much of them.
#[derive(Clone, CustomResource, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[kube(group = "maas.opendatahub.io", version = "v1alpha1", kind = "MaaSSubscription", namespaced)]
#[kube(plural = "maassubscriptions", singular = "maassubscription", status = "MaaSSubscriptionStatus")]
#[kube(printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"))]
#[kube(printcolumn(name = "Priority", type_ = "integer", json_path = ".spec.priority"))]
#[kube(printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"))]
#[serde(rename_all = "camelCase")]
pub struct MaaSSubscriptionSpec {
    /// Whose it is.
    pub owner: SubscriptionOwner,
    /// The models in it, each with its limits.
    #[schemars(length(min = 1))]
    pub model_refs: Vec<ModelSubscriptionRef>,
    /// Which of several a key is bound to when its owner names none: the highest.
    #[serde(default)]
    pub priority: i32,
    /// For metering and billing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_metadata: Option<TokenMetadata>,
}

/// Whose a subscription is: any of these users, or a member of any of these groups.
#[derive(Clone, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub struct SubscriptionOwner {
    /// Groups, by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<Vec<GroupReference>>,
    /// Users, by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub users: Option<Vec<String>>,
}

/// A Kubernetes group.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub struct GroupReference {
    /// Its name.
    pub name: String,
}

/// One model of a subscription.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelSubscriptionRef {
    /// Name of the `MaaSModelRef`.
    #[schemars(length(min = 1, max = 63))]
    pub name: String,
    /// Namespace of the `MaaSModelRef`.
    #[schemars(length(min = 1, max = 63))]
    pub namespace: String,
    /// How many tokens in how much time; all must hold.
    #[schemars(length(min = 1))]
    pub token_rate_limits: Vec<TokenRateLimit>,
    /// What a token costs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub billing_rate: Option<BillingRate>,
}

/// At most so many tokens in so much time.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub struct TokenRateLimit {
    /// The number of tokens.
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub limit: i64,
    /// The time: 1 to 9999 seconds (`s`), minutes (`m`) or hours (`h`).
    #[schemars(length(min = 2, max = 5), regex(pattern = r"^[1-9]\d{0,3}(s|m|h)$"))]
    pub window: String,
}

/// What a token costs.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BillingRate {
    /// A decimal number; maas-api only passes it on.
    pub per_token: String,
}

/// For metering and billing; passed on to the gateway's telemetry.
#[derive(Clone, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenMetadata {
    /// Who pays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub organization_id: Option<String>,
    /// From which budget.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_center: Option<String>,
    /// Anything else to report usage by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<BTreeMap<String, String>>,
}

/// What is known about a subscription.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MaaSSubscriptionStatus {
    /// How far it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
    /// The state of each model it names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_ref_statuses: Option<Vec<ResourceRefStatus>>,
    /// The state of each rate limit policy made for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_rate_limit_statuses: Option<Vec<TokenRateLimitStatus>>,
    /// The latest observations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}

/// The state of one generated rate limit policy.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub struct TokenRateLimitStatus {
    /// Name of the `MaaSModelRef` it is for.
    #[schemars(length(min = 1, max = 63))]
    pub model: String,
    /// Name of the policy.
    #[schemars(length(max = 253))]
    pub name: String,
    /// Namespace of the policy, which is that of the model.
    #[schemars(length(max = 63))]
    pub namespace: String,
    /// Whether it is enforced.
    pub ready: bool,
    /// Why, in one word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<StatusReason>,
    /// Why, in a sentence.
    #[schemars(length(max = 1024))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}
