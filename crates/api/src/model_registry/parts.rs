//! What both versions of a `ModelRegistry` have in common.

use k8s_openapi::{api::core::v1::ResourceRequirements, apimachinery::pkg::apis::meta::v1::Condition};
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::IntoDeserializer};

use crate::crd::required;

/// A key of a Secret or ConfigMap beside the registry.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyRef {
    /// The object's name.
    pub name: String,
    /// The key in it.
    pub key: String,
}

/// Whether a Route leads to a server from outside the cluster.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum ServiceRoute {
    /// None does.
    Disabled,
    /// One does.
    Enabled,
}

impl ServiceRoute {
    /// True if there is to be a Route.
    pub fn is_enabled(self) -> bool {
        self == ServiceRoute::Enabled
    }

    /// An empty text means the default: the mutating webhook is asked before the schema refuses it.
    fn read<'de, D: Deserializer<'de>>(deserializer: D, if_empty: Self) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text.is_empty() { Ok(if_empty) } else { Self::deserialize(text.into_deserializer()) }
    }

    fn or_disabled<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::read(deserializer, ServiceRoute::Disabled)
    }

    fn or_enabled<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::read(deserializer, ServiceRoute::Enabled)
    }

    pub(super) fn disabled() -> Self {
        ServiceRoute::Disabled
    }

    pub(super) fn enabled() -> Self {
        ServiceRoute::Enabled
    }
}

/// The REST server.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Rest {
    /// The port it listens on.
    #[serde(default = "rest_port")]
    #[schemars(range(min = 1, max = 65535))]
    pub port: i32,

    /// Whether a plain Route leads to it (OpenShift only).
    #[serde(default = "ServiceRoute::disabled", deserialize_with = "ServiceRoute::or_disabled")]
    pub service_route: ServiceRoute,

    /// Compute resources of its container, in place of the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources: Option<ResourceRequirements>,

    /// Its image; the operator's own default if not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
}

/// A server of which nothing was set: what the definition's defaults make of it.
impl Default for Rest {
    fn default() -> Self {
        Rest { port: rest_port(), service_route: ServiceRoute::Disabled, resources: None, image: None }
    }
}

fn rest_port() -> i32 {
    8080
}

/// The gRPC server that releases before this one had. Kept so that old resources are accepted; nothing comes of it.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Grpc {
    /// Not used.
    #[serde(default = "grpc_port")]
    #[schemars(range(min = 0, max = 65535))]
    pub port: i32,

    /// Not used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources: Option<ResourceRequirements>,

    /// Not used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
}

impl Default for Grpc {
    fn default() -> Self {
        Grpc { port: grpc_port(), resources: None, image: None }
    }
}

fn grpc_port() -> i32 {
    9090
}

/// A MySQL database.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = required(&["host", "username", "database"]))]
pub struct MySql {
    /// Where it is; this machine if empty.
    #[serde(default)]
    pub host: String,

    /// The port it listens on.
    #[serde(default = "mysql_port")]
    #[schemars(range(min = 1, max = 65535))]
    pub port: i32,

    /// The user to connect as.
    #[serde(default)]
    pub username: String,

    /// The user's password.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password_secret: Option<KeyRef>,

    /// The database on the server.
    #[serde(default)]
    pub database: String,

    /// Not used.
    #[serde(rename = "skipDBCreation", default, skip_serializing_if = "is_false")]
    #[schemars(extend("default" = false))]
    pub skip_db_creation: bool,

    /// The client's certificate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ssl_certificate_secret: Option<KeyRef>,

    /// The client's private key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ssl_key_secret: Option<KeyRef>,

    /// The authority that the server's certificate must be from. Wins over the Secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ssl_root_certificate_config_map: Option<KeyRef>,

    /// The same, in a Secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ssl_root_certificate_secret: Option<KeyRef>,

    /// A ConfigMap with several authorities. Wins over the Secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ssl_root_certificates_config_map_name: Option<String>,

    /// The same, in a Secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ssl_root_certificates_secret_name: Option<String>,

    /// Ciphers that may be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ssl_cipher: Option<String>,

    /// Whether the server's certificate must be for the host's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verify_server_cert: Option<bool>,
}

fn mysql_port() -> i32 {
    3306
}

pub(super) fn postgres_port() -> i32 {
    5432
}

pub(super) fn is_false(value: &bool) -> bool {
    !value
}

/// How a connection to PostgreSQL is secured.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum SslMode {
    /// Not at all.
    Disable,
    /// Only if the server insists.
    Allow,
    /// If the server can.
    Prefer,
    /// Always, with any certificate.
    Require,
    /// Always, with a certificate of the authority.
    VerifyCa,
    /// Always, with a certificate of the authority for the host's name.
    VerifyFull,
}

impl SslMode {
    /// The word that PostgreSQL uses.
    pub fn as_str(self) -> &'static str {
        match self {
            SslMode::Disable => "disable",
            SslMode::Allow => "allow",
            SslMode::Prefer => "prefer",
            SslMode::Require => "require",
            SslMode::VerifyCa => "verify-ca",
            SslMode::VerifyFull => "verify-full",
        }
    }

    pub(super) fn disabled() -> Option<Self> {
        Some(SslMode::Disable)
    }

    /// As [`ServiceRoute`]: an empty text means the default.
    pub(super) fn or_disabled<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Self>, D::Error> {
        match Option::<String>::deserialize(deserializer)?.as_deref() {
            None => Ok(None),
            Some("") => Ok(Self::disabled()),
            Some(word) => Self::deserialize(word.into_deserializer()).map(Some),
        }
    }
}

/// A proxy in front of the REST server that lets authorised callers through.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[x_kube(validation = (
    "has(self.tlsCertificateSecret) == has(self.tlsKeySecret)",
    "tlsCertificateSecret and tlsKeySecret MUST be set together"
))]
#[serde(rename_all = "camelCase")]
pub struct Proxy {
    /// The port it listens on.
    #[serde(default = "proxy_port")]
    #[schemars(range(min = 0, max = 65535))]
    pub port: i32,

    /// The proxy's certificate; one that OpenShift makes, if not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls_certificate_secret: Option<KeyRef>,

    /// The proxy's private key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls_key_secret: Option<KeyRef>,

    /// Whether a Route leads to it (OpenShift only).
    #[serde(default = "ServiceRoute::enabled", deserialize_with = "ServiceRoute::or_enabled")]
    pub service_route: ServiceRoute,

    /// The Route's domain; the cluster's, if not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(max = 253),
        regex(
            pattern = r"^(([a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9\-]{0,61}[a-zA-Z0-9])(\.([a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9\-]{0,61}[a-zA-Z0-9]))*)?$"
        )
    )]
    pub domain: Option<String>,

    /// The port under which the Route is advertised.
    #[serde(default = "route_port")]
    #[schemars(range(min = 0, max = 65535))]
    pub route_port: i32,

    /// The proxy's image; the operator's own default if not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
}

/// A proxy of which nothing was set: what the definition's defaults make of it.
impl Default for Proxy {
    fn default() -> Self {
        Proxy {
            port: proxy_port(),
            tls_certificate_secret: None,
            tls_key_secret: None,
            service_route: ServiceRoute::Enabled,
            domain: None,
            route_port: route_port(),
            image: None,
        }
    }
}

fn proxy_port() -> i32 {
    8443
}

fn route_port() -> i32 {
    443
}

/// What the operator found.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct ModelRegistryStatus {
    /// Names under which the server is reached.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,

    /// The same, as one text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub hosts_str: String,

    /// What the operator's defaults add to the specification, as a JSON merge patch.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub spec_defaults: String,

    /// `Available`, `Progressing`, `KubeRBACProxyAvailable` and, while it is being deleted, `Degraded`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}
