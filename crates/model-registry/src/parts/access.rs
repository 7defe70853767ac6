//! Who may do what: rules, bindings.

use k8s_openapi::{
    api::rbac::v1::{ClusterRoleBinding, PolicyRule, RoleRef, Subject},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};

const RBAC: &str = "rbac.authorization.k8s.io";
/// The cluster's own role for servers that ask whether a caller may do something.
pub(crate) const AUTH_DELEGATOR: &str = "system:auth-delegator";

/// What a caller of a server needs: to see its Service.
pub(crate) fn may_call(service: &str) -> Vec<PolicyRule> {
    let named = |resource: &str| PolicyRule {
        resource_names: Some(vec![service.into()]),
        ..rule("", &[resource], &["get"])
    };
    vec![named("services"), named("endpoints")]
}

pub(crate) fn rule(group: &str, resources: &[&str], verbs: &[&str]) -> PolicyRule {
    let all = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
    PolicyRule {
        api_groups: Some(vec![group.into()]),
        resources: Some(all(resources)),
        verbs: all(verbs),
        ..PolicyRule::default()
    }
}

/// What `system:auth-delegator` holds: whoever binds it must hold it too.
pub(crate) fn auth_delegator_rules() -> Vec<PolicyRule> {
    vec![
        rule("authentication.k8s.io", &["tokenreviews"], &["create"]),
        rule("authorization.k8s.io", &["subjectaccessreviews"], &["create"]),
    ]
}

pub(crate) fn role(kind: &str, name: &str) -> RoleRef {
    RoleRef { api_group: Some(RBAC.into()), kind: kind.into(), name: name.into() }
}

pub(crate) fn group(name: &str) -> Subject {
    Subject { api_group: Some(RBAC.into()), kind: "Group".into(), name: name.into(), namespace: None }
}

/// Lets a server's proxy ask the cluster about its callers.
pub(crate) fn auth_delegator(metadata: ObjectMeta, account: &str, namespace: &str) -> ClusterRoleBinding {
    ClusterRoleBinding {
        metadata,
        role_ref: role("ClusterRole", AUTH_DELEGATOR),
        subjects: Some(vec![Subject {
            kind: "ServiceAccount".into(),
            name: account.into(),
            namespace: Some(namespace.into()),
            api_group: None,
        }]),
    }
}
