//! `Tenant`: the platform itself, of which there is one.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::status::Phase;

/// The platform: maas-api, payload processing and the gateway's default policies.
#[derive(Clone, CustomResource, Debug, Default, Deserialize, KubeSchema, PartialEq, Serialize)]
#[kube(group = "maas.opendatahub.io", version = "v1alpha1", kind = "Tenant", namespaced)]
#[kube(plural = "tenants", singular = "tenant", status = "TenantStatus")]
#[kube(validation = ("self.metadata.name == 'default-tenant'", "Tenant name must be default-tenant"))]
#[kube(printcolumn(
    name = "Ready",
    type_ = "string",
    description = "Ready",
    json_path = r#".status.conditions[?(@.type=="Ready")].status"#
))]
#[kube(printcolumn(
    name = "Reason",
    type_ = "string",
    description = "Reason",
    json_path = r#".status.conditions[?(@.type=="Ready")].reason"#
))]
#[kube(printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"))]
#[serde(rename_all = "camelCase")]
pub struct TenantSpec {
    /// The Gateway that models are offered on; `openshift-ingress/maas-default-gateway` if not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway_ref: Option<GatewayReference>,
    /// What API keys may be like.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_keys: Option<ApiKeys>,
    /// An identity provider beside the cluster's own, for calls of maas-api.
    #[serde(default, rename = "externalOIDC", skip_serializing_if = "Option::is_none")]
    pub external_oidc: Option<ExternalOidc>,
    /// What is measured. Absent means nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub telemetry: Option<Telemetry>,
}

/// A Gateway.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub struct GatewayReference {
    /// Its namespace.
    #[serde(default = "gateway_namespace")]
    #[schemars(length(max = 63), regex(pattern = "^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$"))]
    pub namespace: String,
    /// Its name.
    #[serde(default = "gateway_name")]
    #[schemars(length(max = 63), regex(pattern = "^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$"))]
    pub name: String,
}

impl Default for GatewayReference {
    fn default() -> Self {
        Self { namespace: gateway_namespace(), name: gateway_name() }
    }
}

fn gateway_namespace() -> String {
    "openshift-ingress".into()
}

fn gateway_name() -> String {
    "maas-default-gateway".into()
}

/// What API keys may be like.
#[derive(Clone, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ApiKeys {
    /// How many days one may live.
    #[schemars(range(min = 1))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_expiration_days: Option<i32>,
}

/// An OpenID Connect identity provider.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExternalOidc {
    /// Its URL.
    #[schemars(length(min = 9, max = 2048), regex(pattern = r"^https://\S+$"))]
    pub issuer_url: String,
    /// What it knows this platform as.
    #[schemars(length(min = 1, max = 256), regex(pattern = r"^\S+$"))]
    pub client_id: String,
    /// How long its keys are kept, in seconds.
    #[schemars(range(min = 30), extend("format" = null))]
    #[serde(default = "five_minutes")]
    pub ttl: i64,
}

fn five_minutes() -> i64 {
    300
}

/// What is measured.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub struct Telemetry {
    /// Whether anything is.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// By what usage is told apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metrics: Option<TelemetryMetrics>,
}

/// By what usage is told apart.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TelemetryMetrics {
    /// By organization.
    #[serde(default = "yes")]
    pub capture_organization: bool,
    /// By user. Personal data: see to it that you may.
    #[serde(default)]
    pub capture_user: bool,
    /// By group.
    #[serde(default)]
    pub capture_group: bool,
    /// By model.
    #[serde(default = "yes")]
    pub capture_model_usage: bool,
}

fn yes() -> bool {
    true
}

/// What is known about the platform.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TenantStatus {
    /// How far it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
    /// The latest observations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}
