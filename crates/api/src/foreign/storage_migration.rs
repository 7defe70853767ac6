//! The storage-version migrator: `migration.k8s.io/v1alpha1`.

use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

/// A request to write every object of a resource anew, so that all are stored in one version.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[kube(
    group = "migration.k8s.io",
    version = "v1alpha1",
    kind = "StorageVersionMigration",
    status = "StorageVersionMigrationStatus"
)]
pub struct StorageVersionMigrationSpec {
    /// The resource.
    pub resource: MigratedResource,
}

/// A resource in a version.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
pub struct MigratedResource {
    /// The API group.
    pub group: String,
    /// The version.
    pub version: String,
    /// The plural name.
    pub resource: String,
}

/// How far the migration is.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
pub struct StorageVersionMigrationStatus {
    /// `Running`, `Succeeded` or `Failed`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<MigrationCondition>,
}

/// What the migrator has to say.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
pub struct MigrationCondition {
    /// About what.
    #[serde(rename = "type")]
    pub type_: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// In a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}
