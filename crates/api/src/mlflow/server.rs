//! `MLflow`: one tracking server for the whole cluster.

use std::collections::BTreeMap;

use k8s_openapi::{
    api::{
        core::v1::{
            Affinity, EnvFromSource, EnvVar, PersistentVolumeClaimSpec, PodSecurityContext,
            ResourceRequirements, SecretKeySelector, SecurityContext, Toleration,
        },
        networking::v1::NetworkPolicyEgressRule,
    },
    apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector},
};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An MLflow tracking server and what it needs around it.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[kube(
    group = "mlflow.opendatahub.io",
    version = "v1",
    kind = "MLflow",
    plural = "mlflows",
    status = "MLflowStatus"
)]
#[kube(validation = ("self.metadata.name == 'mlflow'", "MLflow resource name must be 'mlflow'"))]
#[kube(validation = (
    "self.metadata.name.size() <= 40",
    "MLflow resource name must be at most 40 characters to ensure generated resource names stay within Kubernetes 63-character limit"
))]
#[x_kube(validation = (
    "has(self.defaultArtifactRoot) || (has(self.serveArtifacts) && self.serveArtifacts)",
    "defaultArtifactRoot must be set when serveArtifacts is not true"
))]
#[x_kube(validation = (
    "!has(self.defaultArtifactRoot) || !self.defaultArtifactRoot.startsWith('file://') || (has(self.serveArtifacts) && self.serveArtifacts)",
    "serveArtifacts must be enabled when defaultArtifactRoot uses file-based storage (file:// prefix)"
))]
#[x_kube(validation = (
    "(has(self.backendStoreUri) && size(self.backendStoreUri) > 0) || (has(self.backendStoreUriFrom) && size(self.backendStoreUriFrom.name) > 0 && size(self.backendStoreUriFrom.key) > 0)",
    "backendStoreUri or backendStoreUriFrom must be set"
))]
#[x_kube(validation = (
    "!(has(self.backendStoreUri) && has(self.backendStoreUriFrom))",
    "backendStoreUri and backendStoreUriFrom are mutually exclusive"
))]
#[x_kube(validation = (
    "!(has(self.registryStoreUri) && has(self.registryStoreUriFrom))",
    "registryStoreUri and registryStoreUriFrom are mutually exclusive"
))]
#[x_kube(validation = (
    "!has(self.registryStoreUriFrom) || (size(self.registryStoreUriFrom.name) > 0 && size(self.registryStoreUriFrom.key) > 0)",
    "registryStoreUriFrom.name and registryStoreUriFrom.key must be non-empty when registryStoreUriFrom is set"
))]
#[x_kube(validation = (
    "!has(self.backendStoreUri) || (!self.backendStoreUri.startsWith('sqlite://') && !self.backendStoreUri.startsWith('file://')) || has(self.storage)",
    "storage must be configured when using file-based backend store (sqlite:// or file:// prefix)"
))]
#[x_kube(validation = (
    "!has(self.registryStoreUri) || (!self.registryStoreUri.startsWith('sqlite://') && !self.registryStoreUri.startsWith('file://')) || has(self.storage)",
    "storage must be configured when using file-based registry store (sqlite:// or file:// prefix)"
))]
#[x_kube(validation = (
    "!has(self.artifactsDestination) || !self.artifactsDestination.startsWith('file://') || has(self.storage)",
    "storage must be configured when artifactsDestination uses file-based storage (file:// prefix)"
))]
#[x_kube(validation = (
    "!has(self.artifactsDestination) || !self.artifactsDestination.startsWith('file://') || (has(self.serveArtifacts) && self.serveArtifacts)",
    "serveArtifacts must be enabled when artifactsDestination uses file-based storage (file:// prefix)"
))]
#[x_kube(validation = (
    "!has(self.env) || self.env.all(e, e.name != 'MLFLOW_SERVER_DISABLE_SECURITY_MIDDLEWARE')",
    "setting the MLFLOW_SERVER_DISABLE_SECURITY_MIDDLEWARE environment variable is not allowed"
))]
#[x_kube(validation = (
    "!has(self.networkPolicyAdditionalEgressRules) || self.networkPolicyAdditionalEgressRules.all(r, (has(r.ports) && size(r.ports) > 0) || (has(r.to) && size(r.to) > 0))",
    "each networkPolicyAdditionalEgressRules entry must specify at least one port or one destination"
))]
#[serde(rename_all = "camelCase")]
pub struct MLflowSpec {
    /// The server's image; the operator's own default if not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<ImageConfig>,

    /// How many server pods. More than one needs a database and storage that can be shared.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub replicas: i32,

    /// Compute resources of the server's container. Each request or limit named here replaces the default of that name;
    /// the others keep theirs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources: Option<ResourceRequirements>,

    /// Name of the ServiceAccount that the operator makes for the server.
    #[serde(default = "default_service_account")]
    pub service_account_name: String,

    /// A volume for databases and artifacts kept in files. Read are the size, the storage class and the first access
    /// mode. It is made once: later changes do not resize it. Deleting the MLflow deletes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage: Option<PersistentVolumeClaimSpec>,

    /// Where runs and experiments are kept, such as `postgresql://host:5432/db`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backend_store_uri: Option<String>,

    /// The same, from a Secret beside the server: for URIs that hold a password.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backend_store_uri_from: Option<SecretKeySelector>,

    /// Where registered models are kept; where runs are kept, if not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registry_store_uri: Option<String>,

    /// The same, from a Secret beside the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registry_store_uri_from: Option<SecretKeySelector>,

    /// Where the server keeps the artifacts it serves, such as `s3://bucket/path`. Used with `serveArtifacts`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifacts_destination: Option<String>,

    /// Where clients put artifacts of new experiments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_artifact_root: Option<String>,

    /// Whether artifacts go through the server, so that clients need no credentials for their store.
    #[serde(default)]
    pub serve_artifacts: bool,

    /// Worker processes in each server pod.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub workers: i32,

    /// More origins that browsers may call the server from. An entry with a comma is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub extra_allowed_origins: Option<Vec<String>>,

    /// Which namespaces are workspaces; all, if not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace_label_selector: Option<LabelSelector>,

    /// Environment of the server's container. An entry of a name that the operator sets replaces the operator's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env: Option<Vec<EnvVar>>,

    /// ConfigMaps and Secrets whose entries become environment of the server and of the garbage-collection job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env_from: Option<Vec<EnvFromSource>>,

    /// Labels of the server's pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = ("self.all(key, size(self[key]) <= 63)", "label values must be 63 characters or less"))]
    pub pod_labels: Option<BTreeMap<String, String>>,

    /// Annotations of the server's pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod_annotations: Option<BTreeMap<String, String>>,

    /// Security context of the server's pods and of the garbage-collection job's, in place of the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod_security_context: Option<PodSecurityContext>,

    /// Security context of every container, in place of the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub security_context: Option<SecurityContext>,

    /// Nodes that the server and the garbage-collection job may run on.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = ("self.all(key, size(self[key]) <= 63)", "label values must be 63 characters or less"))]
    pub node_selector: Option<BTreeMap<String, String>>,

    /// Taints that the server and the garbage-collection job tolerate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tolerations: Option<Vec<Toleration>>,

    /// Where the server and the garbage-collection job prefer, or must, run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub affinity: Option<Affinity>,

    /// A ConfigMap beside the server with certificates of authorities to trust (`*.crt` and `*.pem` keys).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_bundle_config_map: Option<CaBundleConfigMap>,

    /// What the server may connect to beside DNS, HTTPS, the Kubernetes API, PostgreSQL, MySQL and S3 ports.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    pub network_policy_additional_egress_rules: Option<Vec<NetworkPolicyEgressRule>>,

    /// A job that removes deleted runs and experiments for good.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub garbage_collection: Option<GarbageCollection>,
}

/// A specification in which nothing was set: what the definition's defaults make of it.
impl Default for MLflowSpec {
    fn default() -> Self {
        serde_json::from_value(serde_json::json!({})).expect("every field has a default or may be absent")
    }
}

fn one() -> i32 {
    1
}

/// The ServiceAccount's name when the resource names none.
pub const DEFAULT_SERVICE_ACCOUNT: &str = "mlflow-sa";

fn default_service_account() -> String {
    DEFAULT_SERVICE_ACCOUNT.into()
}

/// An image and when to pull it.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct ImageConfig {
    /// The image, with registry and tag or digest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,

    /// When to pull it; the cluster's default if not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image_pull_policy: Option<ImagePullPolicy>,
}

/// When a node pulls an image.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImagePullPolicy {
    /// At every start of a container.
    Always,
    /// When the node does not have it.
    IfNotPresent,
    /// Not at all: the node must have it.
    Never,
}

impl ImagePullPolicy {
    /// The word that Kubernetes uses.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Always => "Always",
            Self::IfNotPresent => "IfNotPresent",
            Self::Never => "Never",
        }
    }
}

/// The ConfigMap that holds a CA bundle.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct CaBundleConfigMap {
    /// Its name, in the server's namespace.
    #[schemars(length(min = 1))]
    pub name: String,
}

/// When and how deleted runs and experiments are removed for good.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct GarbageCollection {
    /// When the job runs, as a cron expression.
    #[schemars(length(min = 1))]
    pub schedule: String,

    /// Only what was deleted longer ago than this, such as `30d` or `7d12h`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(min = 1),
        regex(pattern = r"^(\d+(\.\d+)?d)?(\d+(\.\d+)?h)?(\d+(\.\d+)?m)?(\d+(\.\d+)?s)?$")
    )]
    pub older_than: Option<String>,

    /// Compute resources of the job's container, over its defaults key by key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources: Option<ResourceRequirements>,
}

/// What the operator found.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
pub struct MLflowStatus {
    /// `Available` and `Progressing`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,

    /// Where people find the server, through the gateway.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2048))]
    pub url: Option<String>,

    /// Where programs inside the cluster find it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<Address>,
}

/// An address inside the cluster.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
pub struct Address {
    /// Scheme, host and port.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2048))]
    pub url: Option<String>,
}
