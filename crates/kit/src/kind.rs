//! What the kit asks of an API type, and a kind as plain data.

use k8s_openapi::ClusterResourceScope;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::Resource;
use kube::core::PartialObjectMeta;
use kube::discovery::ApiResource;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::any::TypeId;
use std::fmt;

/// An API type known at compile time. Use one Rust type per kind in a process: two types would be two watches.
pub trait Kind:
    Resource<DynamicType = (), Scope: 'static>
    + Clone
    + fmt::Debug
    + DeserializeOwned
    + Serialize
    + Send
    + Sync
    + 'static
{
    /// The kind as data.
    fn gvk() -> Gvk {
        Gvk {
            group: Self::group(&()).into_owned(),
            version: Self::version(&()).into_owned(),
            kind: Self::kind(&()).into_owned(),
            plural: Self::plural(&()).into_owned(),
        }
    }

    /// True if objects of the kind live in namespaces.
    fn is_namespaced() -> bool {
        TypeId::of::<Self::Scope>() != TypeId::of::<ClusterResourceScope>()
    }

    /// The kind as the client library wants it.
    fn api_resource() -> ApiResource {
        ApiResource::erase::<Self>(&())
    }
}

impl<K> Kind for K where
    K: Resource<DynamicType = (), Scope: 'static>
        + Clone
        + fmt::Debug
        + DeserializeOwned
        + Serialize
        + Send
        + Sync
        + 'static
{
}

/// A kind of which only metadata is watched and kept.
pub type Meta<K> = PartialObjectMeta<K>;

/// Group, version, kind and the plural name under which the API serves it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Gvk {
    /// The API group, empty for the core group.
    pub group: String,
    /// The version within the group.
    pub version: String,
    /// The kind.
    pub kind: String,
    /// The plural name, which paths and rights use.
    pub plural: String,
}

impl Gvk {
    /// `group/version`, or just the version for the core group.
    #[must_use]
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    /// The name of the CustomResourceDefinition that would serve this kind.
    #[must_use]
    pub fn crd_name(&self) -> String {
        format!("{}.{}", self.plural, self.group)
    }

    /// True for the groups that every cluster serves without a CustomResourceDefinition.
    #[must_use]
    pub fn is_builtin(&self) -> bool {
        !self.group.contains('.') || self.group.ends_with(".k8s.io") && BUILTIN.contains(&self.group.as_str())
    }

    /// True if the reference names this kind, whatever its version.
    #[must_use]
    pub fn is_referred_by(&self, reference: &OwnerReference) -> bool {
        let group = reference.api_version.rsplit_once('/').map_or("", |(group, _)| group);
        reference.kind == self.kind && group == self.group
    }
}

/// Dotted groups that are part of Kubernetes itself (`gateway.networking.k8s.io`, for one, is not).
const BUILTIN: [&str; 12] = [
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "certificates.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "events.k8s.io",
    "networking.k8s.io",
    "rbac.authorization.k8s.io",
    "storage.k8s.io",
];

impl fmt::Display for Gvk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.group, self.version, self.kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::{apps::v1::Deployment, core::v1::Secret, rbac::v1::ClusterRole};

    #[test]
    fn a_kind_is_known_by_its_group_kind_and_plural() {
        let gvk = Deployment::gvk();
        assert_eq!(
            (gvk.to_string(), gvk.api_version(), gvk.plural.as_str()),
            ("apps/v1/Deployment".into(), "apps/v1".into(), "deployments")
        );
        assert_eq!(Meta::<Secret>::gvk(), Secret::gvk(), "metadata only is the same kind");
        assert_eq!(Secret::gvk().api_version(), "v1");
        assert!(Secret::is_namespaced() && Meta::<Secret>::is_namespaced() && !ClusterRole::is_namespaced());
    }

    #[test]
    fn built_in_groups_need_no_definition() {
        assert!(
            Secret::gvk().is_builtin() && Deployment::gvk().is_builtin() && ClusterRole::gvk().is_builtin()
        );
        let route = Gvk { group: "gateway.networking.k8s.io".into(), ..Secret::gvk() };
        assert!(!route.is_builtin());
    }
}
