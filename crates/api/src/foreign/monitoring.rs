//! The Prometheus operator: `monitoring.coreos.com/v1`.

use k8s_openapi::{
    api::core::v1::{ConfigMapKeySelector, SecretKeySelector},
    apimachinery::pkg::apis::meta::v1::LabelSelector,
};
use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

/// Which Services Prometheus scrapes, and how.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[kube(group = "monitoring.coreos.com", version = "v1", kind = "ServiceMonitor", namespaced)]
#[serde(rename_all = "camelCase")]
pub struct ServiceMonitorSpec {
    /// The ports to scrape.
    pub endpoints: Vec<Endpoint>,
    /// The Services.
    pub selector: LabelSelector,
    /// Where the Services are; the monitor's own namespace, if not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace_selector: Option<NamespaceSelector>,
}

/// Namespaces by name.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct NamespaceSelector {
    /// All of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub any: Option<bool>,
    /// Just these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub match_names: Vec<String>,
}

/// A port to scrape.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Endpoint {
    /// Path of the metrics.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Name of the Service's port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<String>,
    /// `http` or `https`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheme: Option<String>,
    /// How often, as a duration such as `30s`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<String>,
    /// File of the Prometheus pod with the token to send.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bearer_token_file: Option<String>,
    /// Whether labels of the scraped series win over the scraper's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub honor_labels: Option<bool>,
    /// How the server's certificate is checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls_config: Option<TlsConfig>,
}

/// How a server's certificate is checked.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct TlsConfig {
    /// The authority to trust.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<SecretOrConfigMap>,
    /// File of the Prometheus pod with the authority to trust.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_file: Option<String>,
    /// The name that the certificate must be for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_name: Option<String>,
    /// Whether any certificate will do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub insecure_skip_verify: Option<bool>,
}

/// A key of a Secret or of a ConfigMap.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct SecretOrConfigMap {
    /// A ConfigMap's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_map: Option<ConfigMapKeySelector>,
    /// A Secret's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<SecretKeySelector>,
}
