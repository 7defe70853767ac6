//! `ModelRegistry` as old clients know it.
#![allow(dead_code, reason = "kube copies the specification for its schema, and nobody reads the copy")]

use std::collections::BTreeMap;

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::parts::{
    Grpc, KeyRef, ModelRegistryStatus, MySql, Proxy, Rest, ServiceRoute, SslMode, is_false, postgres_port,
};
use crate::crd::required;

/// A model registry, in the version before `v1beta1`.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[kube(
    group = "modelregistry.opendatahub.io",
    version = "v1alpha1",
    kind = "ModelRegistry",
    plural = "modelregistries",
    shortname = "mr",
    namespaced,
    status = "ModelRegistryStatus",
    derive = "Default",
    storage = false,
    deprecated = "Version v1alpha1 of the ModelRegistry API is deprecated and will be removed in a future release. Please use v1beta1 instead."
)]
#[kube(printcolumn(
    name = "Available",
    type_ = "string",
    json_path = r#".status.conditions[?(@.type=="Available")].status"#
))]
#[kube(printcolumn(
    name = "Istio",
    type_ = "string",
    json_path = r#".status.conditions[?(@.type=="IstioAvailable")].status"#,
    priority = 2
))]
#[kube(printcolumn(
    name = "Gateway",
    type_ = "string",
    json_path = r#".status.conditions[?(@.type=="GatewayAvailable")].status"#,
    priority = 2
))]
#[kube(printcolumn(
    name = "OAuthProxy",
    type_ = "string",
    json_path = r#".status.conditions[?(@.type=="OAuthProxyAvailable")].status"#,
    priority = 2
))]
#[kube(printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"))]
#[kube(printcolumn(name = "Hosts", type_ = "string", json_path = ".status.hostsStr", priority = 2))]
#[kube(printcolumn(
    name = "Status",
    type_ = "string",
    json_path = r#".status.conditions[?(@.type=="Available")].message"#,
    priority = 2
))]
#[x_kube(validation = ("!(has(self.istio) && has(self.oauthProxy))", "Cannot use both istio and oauthProxy"))]
#[serde(rename_all = "camelCase", remote = "Self")]
#[schemars(transform = required(&["rest", "grpc"]))]
pub struct ModelRegistrySpec {
    /// The REST server.
    #[serde(default)]
    pub rest: Rest,

    /// Not used.
    #[serde(default)]
    pub grpc: Grpc,

    /// Not used.
    #[serde(rename = "enable_database_upgrade", skip_serializing_if = "Option::is_none")]
    pub enable_database_upgrade: Option<bool>,

    /// Not used.
    #[serde(rename = "downgrade_db_schema_version", skip_serializing_if = "Option::is_none")]
    pub downgrade_db_schema_version: Option<i64>,

    /// A PostgreSQL database. Wins over MySQL; one of them must be set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub postgres: Option<Postgres>,

    /// A MySQL database.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mysql: Option<MySql>,

    /// How Istio led to the server. Becomes a proxy in the newer version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub istio: Option<Istio>,

    /// A proxy that lets users of the cluster through.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oauth_proxy: Option<Proxy>,
}

may_be_absent!(ModelRegistrySpec);

/// A PostgreSQL database.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = required(&["database"]))]
pub struct Postgres {
    /// Where the database is, by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,

    /// Where it is, by address; used if there is no name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_address: Option<String>,

    /// The port it listens on.
    #[serde(default = "postgres_port")]
    #[schemars(range(min = 1, max = 65535))]
    pub port: i32,

    /// The user to connect as.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub username: Option<String>,

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

    /// How the connection is secured.
    #[serde(
        default = "SslMode::disabled",
        deserialize_with = "SslMode::or_disabled",
        skip_serializing_if = "Option::is_none"
    )]
    pub ssl_mode: Option<SslMode>,

    /// The client's certificate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ssl_certificate_secret: Option<KeyRef>,

    /// The client's private key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ssl_key_secret: Option<KeyRef>,

    /// The key's password.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ssl_password_secret: Option<KeyRef>,

    /// The authority that the server's certificate must be from. Wins over the Secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ssl_root_certificate_config_map: Option<KeyRef>,

    /// The same, in a Secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ssl_root_certificate_secret: Option<KeyRef>,
}

/// How Istio led to the server.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Istio {
    /// Who authenticated callers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auth_provider: Option<String>,

    /// Labels of the authentication's configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auth_config_labels: Option<BTreeMap<String, String>>,

    /// How connections inside the mesh were secured.
    #[serde(default = "istio_mutual", skip_serializing_if = "Option::is_none")]
    pub tls_mode: Option<String>,

    /// What tokens had to be for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audiences: Option<Vec<String>>,

    /// The gateway from outside the mesh.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gateway: Option<Gateway>,
}

fn istio_mutual() -> Option<String> {
    Some("ISTIO_MUTUAL".into())
}

/// The gateway from outside the mesh.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = required(&["rest", "grpc"]))]
pub struct Gateway {
    /// The domain of its hosts.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(max = 253),
        regex(
            pattern = r"^(([a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9\-]{0,61}[a-zA-Z0-9])(\.([a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9\-]{0,61}[a-zA-Z0-9]))*)?$"
        )
    )]
    pub domain: Option<String>,

    /// Which ingress served it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub istio_ingress: Option<String>,

    /// Which control plane it belonged to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane: Option<String>,

    /// How REST calls came in.
    #[serde(default)]
    pub rest: GatewayServer,

    /// How gRPC calls came in.
    #[serde(default)]
    pub grpc: GatewayServer,
}

/// How calls of one kind came in through the gateway.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct GatewayServer {
    /// The port.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 65535))]
    pub port: Option<i32>,

    /// How connections were secured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<GatewayTls>,

    /// Whether a Route led to the gateway.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gateway_route: Option<ServiceRoute>,
}

/// How connections to the gateway were secured.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct GatewayTls {
    /// Whose certificates were checked.
    #[serde(default = "GatewayTlsMode::simple", skip_serializing_if = "Option::is_none")]
    pub mode: Option<GatewayTlsMode>,

    /// The Secret with the certificate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credential_name: Option<String>,
}

/// Whose certificates the gateway checked.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum GatewayTlsMode {
    /// Nobody's.
    Simple,
    /// Every client's.
    Mutual,
    /// Every client's, with the mesh's own certificates.
    IstioMutual,
    /// Those of clients that had one.
    OptionalMutual,
}

impl GatewayTlsMode {
    fn simple() -> Option<Self> {
        Some(GatewayTlsMode::Simple)
    }
}
