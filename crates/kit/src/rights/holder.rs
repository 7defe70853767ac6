//! Who gets rights.

use k8s_openapi::api::rbac::v1::{
    ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef, Subject,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// A ServiceAccount that roles are bound to.
#[derive(Clone, Copy, Debug)]
pub struct Holder<'a> {
    /// The account's namespace.
    pub namespace: &'a str,
    /// The account's name.
    pub account: &'a str,
}

impl Holder<'_> {
    /// A role that holds everywhere, and its binding.
    #[must_use]
    pub fn everywhere(
        &self,
        role: &str,
        binding: &str,
        rules: Vec<PolicyRule>,
    ) -> (ClusterRole, ClusterRoleBinding) {
        let named = |name: &str| ObjectMeta { name: Some(name.into()), ..ObjectMeta::default() };
        (
            ClusterRole { metadata: named(role), rules: Some(rules), aggregation_rule: None },
            ClusterRoleBinding {
                metadata: named(binding),
                role_ref: reference("ClusterRole", role),
                subjects: Some(vec![self.subject()]),
            },
        )
    }

    /// A role that holds in one namespace, and its binding.
    #[must_use]
    pub fn within(
        &self,
        place: &str,
        role: &str,
        binding: &str,
        rules: Vec<PolicyRule>,
    ) -> (Role, RoleBinding) {
        let named = |name: &str| ObjectMeta {
            name: Some(name.into()),
            namespace: Some(place.into()),
            ..ObjectMeta::default()
        };
        (
            Role { metadata: named(role), rules: Some(rules) },
            RoleBinding {
                metadata: named(binding),
                role_ref: reference("Role", role),
                subjects: Some(vec![self.subject()]),
            },
        )
    }

    fn subject(&self) -> Subject {
        Subject {
            kind: "ServiceAccount".into(),
            name: self.account.into(),
            namespace: Some(self.namespace.into()),
            api_group: None,
        }
    }
}

fn reference(kind: &str, name: &str) -> RoleRef {
    RoleRef { api_group: Some("rbac.authorization.k8s.io".into()), kind: kind.into(), name: name.into() }
}
