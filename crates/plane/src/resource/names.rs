//! The names one resource goes by.

use std::fmt;
use std::sync::Arc;

/// Group and names of a resource, shared by everything that speaks about it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Names {
    /// API group; empty for the core group.
    pub group: Arc<str>,
    /// `configmaps`
    pub plural: Arc<str>,
    /// `configmap`
    pub singular: Arc<str>,
    /// `ConfigMap`
    pub kind: Arc<str>,
    /// `ConfigMapList`
    pub list_kind: Arc<str>,
}

impl Names {
    /// `deployments.apps`, `configmaps`.
    pub fn group_resource(&self) -> String {
        qualified(&self.plural, &self.group)
    }

    /// `Deployment.apps`, `ConfigMap`.
    pub fn group_kind(&self) -> String {
        qualified(&self.kind, &self.group)
    }
}

fn qualified(name: &str, group: &str) -> String {
    if group.is_empty() { name.to_string() } else { format!("{name}.{group}") }
}

/// Group, version and kind.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupVersionKind {
    /// API group; empty for the core group.
    pub group: Arc<str>,
    /// API version.
    pub version: Arc<str>,
    /// Kind.
    pub kind: Arc<str>,
}

impl GroupVersionKind {
    /// From its three parts.
    pub fn new(group: &str, version: &str, kind: &str) -> Self {
        Self { group: group.into(), version: version.into(), kind: kind.into() }
    }

    /// From an object's `apiVersion` and `kind`.
    pub fn from_api_version(api_version: &str, kind: &str) -> Self {
        let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
        Self::new(group, version, kind)
    }

    /// `apps/v1`, `v1`.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.to_string()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }
}

/// As Go prints it: `apps/v1, Kind=Deployment`, `/v1, Kind=ConfigMap`.
impl fmt::Display for GroupVersionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}, Kind={}", self.group, self.version, self.kind)
    }
}
