//! `MaaSAuthPolicy`: who may call which models.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    status::{Phase, StatusReason},
    subscription::GroupReference,
};

/// Who may call which models.
#[derive(Clone, CustomResource, Debug, Deserialize, KubeSchema, PartialEq, Serialize)]
#[kube(group = "maas.opendatahub.io", version = "v1alpha1", kind = "MaaSAuthPolicy", namespaced)]
#[kube(plural = "maasauthpolicies", singular = "maasauthpolicy", status = "MaaSAuthPolicyStatus")]
#[kube(printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"))]
#[kube(printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"))]
#[kube(printcolumn(
    name = "AuthPolicies",
    type_ = "string",
    json_path = ".status.authPolicies[*].name",
    priority = 1
))]
#[serde(rename_all = "camelCase")]
pub struct MaaSAuthPolicySpec {
    /// The models.
    #[schemars(length(min = 1))]
    pub model_refs: Vec<ModelReference>,
    /// Those who may call them.
    pub subjects: Subjects,
    /// For metering and billing. Stored, and read by nobody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metering_metadata: Option<MeteringMetadata>,
}

/// A `MaaSModelRef`.
#[derive(Clone, Debug, Deserialize, Eq, Hash, JsonSchema, Ord, PartialEq, PartialOrd, Serialize)]
pub struct ModelReference {
    /// Its name.
    #[schemars(length(min = 1, max = 63))]
    pub name: String,
    /// Its namespace.
    #[schemars(length(min = 1, max = 63))]
    pub namespace: String,
}

/// Any of these users, or a member of any of these groups.
#[derive(Clone, Debug, Default, Deserialize, Eq, KubeSchema, PartialEq, Serialize)]
#[x_kube(validation = (
    "size(self.groups) > 0 || size(self.users) > 0",
    "at least one group or user must be specified in subjects"
))]
pub struct Subjects {
    /// Groups, by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<Vec<GroupReference>>,
    /// Users, by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub users: Option<Vec<String>>,
}

/// For metering and billing.
#[derive(Clone, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MeteringMetadata {
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

/// What is known about a policy.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MaaSAuthPolicyStatus {
    /// How far it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
    /// The state of each Kuadrant policy made for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth_policies: Option<Vec<AuthPolicyStatus>>,
    /// The latest observations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}

/// The state of one generated Kuadrant policy.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AuthPolicyStatus {
    /// Name of the `MaaSModelRef` it is for.
    #[schemars(length(min = 1, max = 63))]
    pub model: String,
    /// Namespace of that `MaaSModelRef`.
    #[schemars(length(min = 1, max = 63))]
    pub model_namespace: String,
    /// Name of the policy.
    #[schemars(length(max = 253))]
    pub name: String,
    /// Namespace of the policy.
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
