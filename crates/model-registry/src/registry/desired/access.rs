//! Who the server is, who may call it, and whom it asks about that.

use k8s_openapi::{
    api::{
        core::v1::{ConfigMap, ServiceAccount},
        rbac::v1::{ClusterRoleBinding, Role, RoleBinding},
    },
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use quintet_api::foreign::openshift::{Group, GroupMembers};
use quintet_kit::{Adopt, Child};

use super::Plan;
use crate::parts::{
    access,
    labels::NAMESPACE,
    proxy,
    server::{DESCRIPTION, DISPLAY_NAME},
};

pub(super) fn service_account(plan: &Plan<'_>) -> ServiceAccount {
    ServiceAccount { metadata: plan.meta(plan.names.server()), ..ServiceAccount::default() }
}

/// What a user of the registry needs: the proxy asks for just this.
pub(super) fn user_role(plan: &Plan<'_>) -> Role {
    let name = plan.names.server();
    let annotations = [
        (DISPLAY_NAME.to_owned(), format!("Registry User {name}")),
        (DESCRIPTION.to_owned(), format!("Can access Model Registry {name}")),
    ];
    let metadata = ObjectMeta { annotations: Some(annotations.into()), ..plan.meta(plan.names.user_role()) };
    Role { metadata, rules: Some(access::may_call(name)) }
}

/// The registry's users. Its members are the administrators' to add; one that they made beforehand is taken over.
pub(super) fn group(plan: &Plan<'_>) -> Option<Child> {
    let apis = plan.inputs.apis;
    (apis.route && apis.group).then(|| {
        let group = Group { metadata: plan.cluster_meta(plan.names.users()), spec: GroupMembers::default() };
        Child::new(group).adopt(Adopt::Uncontrolled)
    })
}

/// Gives the role to the group, be it one of the cluster or of an identity provider elsewhere.
pub(super) fn users_binding(plan: &Plan<'_>) -> Option<RoleBinding> {
    plan.inputs.apis.route.then(|| RoleBinding {
        metadata: plan.meta(plan.names.users()),
        role_ref: access::role("Role", &plan.names.user_role()),
        subjects: Some(vec![access::group(&plan.names.users())]),
    })
}

/// What the proxy asks about callers. Unlike the original we mend it: an edit could let everybody in.
pub(super) fn proxy_config(plan: &Plan<'_>) -> Option<ConfigMap> {
    plan.spec.kube_rbac_proxy.as_ref().map(|_| ConfigMap {
        metadata: plan.meta(plan.names.proxy_config()),
        data: Some(proxy::config(plan.names.namespace(), plan.names.server())),
        ..ConfigMap::default()
    })
}

/// Lets the proxy ask. It says whose it is, so that a registry of the same name elsewhere leaves it alone.
pub(super) fn auth_delegator(plan: &Plan<'_>) -> Option<ClusterRoleBinding> {
    plan.spec.kube_rbac_proxy.as_ref().map(|_| {
        let mut metadata = plan.cluster_meta(plan.names.auth_delegator());
        metadata.labels.get_or_insert_default().insert(NAMESPACE.into(), plan.names.namespace().into());
        access::auth_delegator(metadata, plan.names.server(), plan.names.namespace())
    })
}
