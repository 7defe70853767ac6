//! `ExternalModel`: a model that a provider outside the cluster serves.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A model of an outside provider: where it is, what it is called there, and whose key to use.
#[derive(Clone, CustomResource, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[kube(group = "maas.opendatahub.io", version = "v1alpha1", kind = "ExternalModel", namespaced)]
#[kube(plural = "externalmodels", singular = "externalmodel", status = "ExternalModelStatus")]
#[kube(printcolumn(name = "Provider", type_ = "string", json_path = ".spec.provider"))]
#[kube(printcolumn(name = "TargetModel", type_ = "string", json_path = ".spec.targetModel"))]
#[kube(printcolumn(name = "Endpoint", type_ = "string", json_path = ".spec.endpoint"))]
#[kube(printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"))]
#[kube(printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"))]
#[serde(rename_all = "camelCase")]
pub struct ExternalModelSpec {
    /// Which API the provider speaks and how it is paid: `openai`, `anthropic`, `azure-openai`, `vertex-openai` or
    /// `bedrock-openai`. Others are stored, and refused when a request comes.
    #[schemars(length(min = 1, max = 63))]
    pub provider: String,
    /// What the provider calls the model.
    #[schemars(length(min = 1, max = 253))]
    pub target_model: String,
    /// The provider's host name.
    #[schemars(
        length(min = 1, max = 253),
        regex(
            pattern = r"^[a-zA-Z0-9]([a-zA-Z0-9\-]*[a-zA-Z0-9])?(\.[a-zA-Z0-9]([a-zA-Z0-9\-]*[a-zA-Z0-9])?)*$"
        )
    )]
    pub endpoint: String,
    /// The Secret with the provider's key.
    pub credential_ref: CredentialReference,
}

/// A Secret in the same namespace, with the key under `api-key`.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub struct CredentialReference {
    /// Its name.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
}

/// What is known about an external model.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExternalModelStatus {
    /// How far it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<ExternalModelPhase>,
    /// The latest observations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}

/// How far an external model is.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum ExternalModelPhase {
    /// Its route is not there yet.
    Pending,
    /// It can be reached.
    Ready,
    /// It cannot be offered as it is written.
    Failed,
}
