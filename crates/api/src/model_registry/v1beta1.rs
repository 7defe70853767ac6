//! `ModelRegistry` as it is stored.
#![allow(dead_code, reason = "kube copies the specification for its schema, and nobody reads the copy")]

use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

use super::parts::{Grpc, KeyRef, ModelRegistryStatus, MySql, Proxy, Rest, SslMode, is_false, postgres_port};
use crate::crd::required;

/// A model registry: a REST server on a database, and what leads to it.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[kube(
    group = "modelregistry.opendatahub.io",
    version = "v1beta1",
    kind = "ModelRegistry",
    plural = "modelregistries",
    shortname = "mr",
    namespaced,
    status = "ModelRegistryStatus",
    derive = "Default"
)]
#[kube(printcolumn(
    name = "Available",
    type_ = "string",
    json_path = r#".status.conditions[?(@.type=="Available")].status"#
))]
#[kube(printcolumn(
    name = "KubeRBACProxy",
    type_ = "string",
    json_path = r#".status.conditions[?(@.type=="KubeRBACProxyAvailable")].status"#,
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
#[x_kube(validation = (
    "!(has(self.oauthProxy) && has(self.kubeRBACProxy))",
    "Cannot use both oauthProxy and kubeRBACProxy"
))]
#[serde(rename_all = "camelCase", remote = "Self")]
#[schemars(transform = required(&["rest"]))]
pub struct ModelRegistrySpec {
    /// The REST server.
    #[serde(default)]
    pub rest: Rest,

    /// Not used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grpc: Option<Grpc>,

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

    /// The proxy of earlier releases. The operator turns it into `kubeRBACProxy`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oauth_proxy: Option<Proxy>,

    /// A proxy that asks the cluster whether a caller may `get` the registry's Service.
    #[serde(rename = "kubeRBACProxy", skip_serializing_if = "Option::is_none")]
    pub kube_rbac_proxy: Option<Proxy>,
}

may_be_absent!(ModelRegistrySpec);

impl ModelRegistrySpec {
    /// The password of a PostgreSQL of the user's; none where it needs none, or another database is used.
    pub fn password(&self) -> Option<&KeyRef> {
        self.postgres.as_ref().filter(|postgres| !postgres.is_generated())?.password_secret.as_ref()
    }
}

/// A PostgreSQL database.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[x_kube(validation = (
    "has(self.generateDeployment) && self.generateDeployment ? true : (size(self.host) > 0 || size(self.hostAddress) > 0)",
    "GenerateDeployment must be set to true if host/hostAddress are not provided"
))]
#[x_kube(validation = (
    "has(self.database) && size(self.database) > 0 ? has(self.username) && size(self.username) > 0 : true",
    "Username must be set if database is specified"
))]
#[x_kube(validation = (
    "!(has(self.generateDeployment) && self.generateDeployment) || ((!has(self.host) || size(self.host) == 0) && (!has(self.hostAddress) || size(self.hostAddress) == 0))",
    "host and hostAddress must not be set when generateDeployment is true"
))]
#[serde(rename_all = "camelCase")]
pub struct Postgres {
    /// Whether the operator runs the database itself. All else but the image is then not used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generate_deployment: Option<bool>,

    /// Image of the database that the operator runs; its own default if not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,

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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub database: Option<String>,

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

impl Postgres {
    /// True if the operator runs the database.
    pub fn is_generated(&self) -> bool {
        self.generate_deployment == Some(true)
    }

    /// True if it says where the database is.
    pub fn has_host(&self) -> bool {
        [&self.host, &self.host_address].into_iter().flatten().any(|host| !host.is_empty())
    }
}

/// A database of which nothing was set: what the definition's defaults make of it.
impl Default for Postgres {
    fn default() -> Self {
        serde_json::from_value(serde_json::json!({})).expect("every field has a default or may be absent")
    }
}
