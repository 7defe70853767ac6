//! Who the server is, who may call it, and who may change what it shows.

use k8s_openapi::{
    api::{
        core::v1::{ConfigMap, ServiceAccount},
        rbac::v1::{ClusterRoleBinding, PolicyRule, Role, RoleBinding},
    },
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use std::collections::BTreeMap;

use super::Plan;
use crate::{
    catalog::names::{ADMIN_BINDING, AUTH_DELEGATOR, NAME, PROXY_CONFIG, family, named},
    parts::{
        access::{self, rule},
        labels::{CREATED_BY, NAMESPACE},
        proxy,
        server::{DESCRIPTION, DISPLAY_NAME},
    },
};
use quintet_kit::parts::meta;

const ADMIN_ROLE: &str = "model-catalog-admin";

pub(super) fn service_account(plan: &Plan<'_>) -> ServiceAccount {
    ServiceAccount { metadata: plan.meta(NAME), ..ServiceAccount::default() }
}

/// What a caller needs: the proxy asks for just this.
pub(super) fn user_role(plan: &Plan<'_>) -> Option<Role> {
    let metadata = plan.of_server(family().without_instance(), NAME)?;
    let metadata = described(metadata, "Model catalog User", "Can access model catalog");
    Some(Role { metadata, rules: Some(access::may_call(NAME)) })
}

/// Everybody who is known to the cluster may call.
pub(super) fn authenticated(plan: &Plan<'_>) -> Option<RoleBinding> {
    let labels = meta::labels([("component", NAME), CREATED_BY]);
    Some(RoleBinding {
        metadata: plan.of_server(labels, "model-catalog-authenticated")?,
        role_ref: access::role("Role", NAME),
        subjects: Some(vec![access::group("system:authenticated")]),
    })
}

/// What an administrator of the platform may do: change sources, and the credentials that they need.
pub(super) fn admin_role(plan: &Plan<'_>) -> Option<Role> {
    let labels = named(ADMIN_ROLE, ADMIN_ROLE).without_instance();
    let text = "Admin access to model catalog ConfigMaps and Secrets";
    let metadata = described(plan.of_server(labels, ADMIN_ROLE)?, "Model Catalog Admin", text);
    Some(Role { metadata, rules: Some(admin_rules()) })
}

/// Whoever gives these away must hold them.
pub(crate) fn admin_rules() -> Vec<PolicyRule> {
    vec![rule("", &["configmaps", "secrets"], &["get", "list", "watch", "update", "patch"])]
}

/// Gives it to the platform's administrators, if there are any.
pub(super) fn admin_binding(plan: &Plan<'_>) -> Option<RoleBinding> {
    let groups = &plan.inputs.admin_groups;
    let labels = named(ADMIN_BINDING, ADMIN_ROLE).without_instance();
    let metadata = plan.of_server(labels, ADMIN_BINDING).filter(|_| !groups.is_empty())?;
    let text = "Binds admin groups to model catalog admin role";
    Some(RoleBinding {
        metadata: described(metadata, "Model Catalog Admin Binding", text),
        role_ref: access::role("Role", ADMIN_ROLE),
        subjects: Some(groups.iter().map(|group| access::group(group)).collect()),
    })
}

/// What the proxy asks about callers.
pub(super) fn proxy_config(plan: &Plan<'_>) -> ConfigMap {
    ConfigMap {
        metadata: plan.meta(PROXY_CONFIG),
        data: Some(proxy::config(&plan.inputs.namespace, NAME)),
        ..ConfigMap::default()
    }
}

/// Lets the proxy ask.
pub(super) fn auth_delegator(plan: &Plan<'_>) -> ClusterRoleBinding {
    let namespace = &plan.inputs.namespace;
    let mut labels = family().labels(AUTH_DELEGATOR);
    labels.insert(NAMESPACE.into(), namespace.clone());
    let metadata =
        ObjectMeta { name: Some(AUTH_DELEGATOR.into()), labels: Some(labels), ..ObjectMeta::default() };
    access::auth_delegator(metadata, NAME, namespace)
}

fn described(metadata: ObjectMeta, display_name: &str, description: &str) -> ObjectMeta {
    let annotations: BTreeMap<String, String> =
        meta::labels([(DISPLAY_NAME, display_name), (DESCRIPTION, description)]);
    ObjectMeta { annotations: Some(annotations), ..metadata }
}
