//! Who the server and the garbage-collection job are, and what they may do.

use k8s_openapi::{
    api::{
        core::v1::ServiceAccount,
        rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule, RoleRef, Subject},
    },
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use quintet_kit::parts::meta;

use super::plan::Plan;
use crate::mlflow::names::{GC_SERVICE_ACCOUNT, SHARED_ROLE};

pub(super) fn service_account(plan: &Plan<'_>) -> ServiceAccount {
    account(plan.meta(plan.service_account()))
}

pub(super) fn gc_service_account(plan: &Plan<'_>) -> ServiceAccount {
    account(plan.gc_meta(GC_SERVICE_ACCOUNT))
}

/// Pods ask for the token themselves.
fn account(metadata: ObjectMeta) -> ServiceAccount {
    ServiceAccount { metadata, automount_service_account_token: Some(false), ..ServiceAccount::default() }
}

/// The role of every MLflow's server. It has an owner reference per MLflow and no controller, and goes with the last.
pub(super) fn shared_role(plan: &Plan<'_>) -> ClusterRole {
    let mut owners = plan.inputs.shared_role_owners.clone();
    let owner = meta::owner_of(plan.mlflow);
    if !owners.iter().any(|other| other.uid == owner.uid) {
        owners.push(owner);
    }
    ClusterRole {
        metadata: ObjectMeta {
            name: Some(SHARED_ROLE.into()),
            labels: Some(meta::labels([("app", "mlflow"), ("component", "mlflow")])),
            owner_references: Some(owners),
            ..ObjectMeta::default()
        },
        rules: Some(server_rules()),
        aggregation_rule: None,
    }
}

pub(super) fn gc_role(plan: &Plan<'_>) -> ClusterRole {
    let metadata = cluster_scoped(plan.gc_meta(plan.names.gc()));
    ClusterRole { metadata, rules: Some(gc_rules()), aggregation_rule: None }
}

pub(super) fn binding(plan: &Plan<'_>) -> ClusterRoleBinding {
    bound(plan, plan.meta(plan.names.server()), SHARED_ROLE, plan.service_account())
}

pub(super) fn gc_binding(plan: &Plan<'_>) -> ClusterRoleBinding {
    bound(plan, plan.gc_meta(plan.names.gc()), &plan.names.gc(), GC_SERVICE_ACCOUNT)
}

fn bound(plan: &Plan<'_>, metadata: ObjectMeta, role: &str, account: &str) -> ClusterRoleBinding {
    ClusterRoleBinding {
        metadata: cluster_scoped(metadata),
        role_ref: RoleRef {
            api_group: Some("rbac.authorization.k8s.io".into()),
            kind: "ClusterRole".into(),
            name: role.into(),
        },
        subjects: Some(vec![Subject {
            kind: "ServiceAccount".into(),
            name: account.into(),
            namespace: Some(plan.config.namespace.clone()),
            api_group: None,
        }]),
    }
}

fn cluster_scoped(metadata: ObjectMeta) -> ObjectMeta {
    ObjectMeta { namespace: None, ..metadata }
}

/// The server reads namespaces (its workspaces), and each workspace's own artifact store.
pub(crate) fn server_rules() -> Vec<PolicyRule> {
    let artifact_secret = PolicyRule {
        resource_names: Some(vec!["mlflow-artifact-connection".into()]),
        ..rule("", "secrets", &["get", "list", "watch"])
    };
    vec![
        rule("", "namespaces", &["get", "list", "watch"]),
        artifact_secret,
        rule("mlflow.kubeflow.org", "mlflowconfigs", &["get", "list", "watch"]),
    ]
}

/// The job removes experiments; MLflow asks about them in access reviews, no API serves them.
pub(crate) fn gc_rules() -> Vec<PolicyRule> {
    vec![rule("mlflow.kubeflow.org", "experiments", &["get", "list", "update", "delete"])]
}

fn rule(group: &str, resource: &str, verbs: &[&str]) -> PolicyRule {
    PolicyRule {
        api_groups: Some(vec![group.into()]),
        resources: Some(vec![resource.into()]),
        verbs: verbs.iter().map(|&verb| verb.into()).collect(),
        ..PolicyRule::default()
    }
}
