//! What a manager may do beside what its controllers do, and its account.

use super::{Labels, value};
use crate::rights::Holder;
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::{ClusterRole, PolicyRule};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;

pub(super) fn account(holder: Holder<'_>, labels: &Labels) -> Value {
    let metadata = ObjectMeta {
        name: Some(holder.account.into()),
        namespace: Some(holder.namespace.into()),
        labels: Some(labels.clone()),
        ..ObjectMeta::default()
    };
    value(&ServiceAccount { metadata, ..ServiceAccount::default() })
}

/// To take and keep a lease. Its name can be checked only once it exists.
pub(super) fn lease(name: &str) -> Vec<PolicyRule> {
    let held = PolicyRule {
        resource_names: Some(vec![name.into()]),
        ..rule("coordination.k8s.io", "leases", &["get", "update"])
    };
    vec![rule("coordination.k8s.io", "leases", &["create"]), held]
}

/// To keep certificates of our own in a Secret. Its name can be checked only once it exists.
pub(super) fn certificates(secret: &str) -> Vec<PolicyRule> {
    let kept =
        PolicyRule { resource_names: Some(vec![secret.into()]), ..rule("", "secrets", &["get", "update"]) };
    vec![rule("", "secrets", &["create"]), kept]
}

/// To have the API server trust them.
pub(super) fn trust(
    mutating: Vec<String>,
    validating: Vec<String>,
    definitions: Vec<String>,
) -> Vec<PolicyRule> {
    let hooks = "admissionregistration.k8s.io";
    let each = [
        (hooks, "mutatingwebhookconfigurations", mutating),
        (hooks, "validatingwebhookconfigurations", validating),
        ("apiextensions.k8s.io", "customresourcedefinitions", definitions),
    ];
    let named = each.into_iter().filter(|(_, _, names)| !names.is_empty());
    named
        .map(|(group, resource, names)| PolicyRule {
            resource_names: Some(names),
            ..rule(group, resource, &["get", "patch"])
        })
        .collect()
}

/// To ask who reads the metrics, and whether it may.
pub(super) fn reviews() -> Vec<PolicyRule> {
    vec![
        rule("authentication.k8s.io", "tokenreviews", &["create"]),
        rule("authorization.k8s.io", "subjectaccessreviews", &["create"]),
    ]
}

/// For whoever shall read the metrics; bound to nobody.
pub(super) fn metrics_reader(name: &str) -> Value {
    let rule = PolicyRule {
        non_resource_urls: Some(vec!["/metrics".into()]),
        verbs: vec!["get".into()],
        ..PolicyRule::default()
    };
    let metadata = ObjectMeta { name: Some(name.into()), ..ObjectMeta::default() };
    value(&ClusterRole { metadata, rules: Some(vec![rule]), aggregation_rule: None })
}

fn rule(group: &str, resource: &str, verbs: &[&str]) -> PolicyRule {
    PolicyRule {
        api_groups: Some(vec![group.into()]),
        resources: Some(vec![resource.into()]),
        verbs: verbs.iter().map(|&verb| verb.into()).collect(),
        ..PolicyRule::default()
    }
}
