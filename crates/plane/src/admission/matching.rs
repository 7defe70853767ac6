//! Whether a webhook or a policy wants to hear of a request.

use serde_json::Value;

use crate::hooks::AdmissionRequest;
use crate::label_selector::LabelSelector;

use super::configuration::RuleWithOperations;

/// Kinds that no webhook may see: those that configure admission itself, and the reviews that webhooks make.
const EXEMPT: &[(&str, &str)] = &[
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"),
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations"),
    ("admissionregistration.k8s.io", "mutatingadmissionpolicies"),
    ("admissionregistration.k8s.io", "mutatingadmissionpolicybindings"),
    ("admissionregistration.k8s.io", "validatingadmissionpolicies"),
    ("admissionregistration.k8s.io", "validatingadmissionpolicybindings"),
    ("authentication.k8s.io", "tokenreviews"),
    ("authentication.k8s.io", "selfsubjectreviews"),
    ("authorization.k8s.io", "localsubjectaccessreviews"),
    ("authorization.k8s.io", "selfsubjectaccessreviews"),
    ("authorization.k8s.io", "selfsubjectrulesreviews"),
    ("authorization.k8s.io", "subjectaccessreviews"),
];

/// Whether no webhook is asked about this resource.
pub(super) fn is_exempt(request: &AdmissionRequest) -> bool {
    EXEMPT.contains(&(&*request.names.group, &*request.names.plural))
}

impl RuleWithOperations {
    /// Whether the rule covers a request, were its resource of this version.
    pub(super) fn covers(&self, request: &AdmissionRequest, version: &str) -> bool {
        let has = |list: &[String], item: &str| list.iter().any(|i| i == "*" || i == item);
        let (plural, subresource) = (&*request.names.plural, request.subresource.as_str());
        let scope = match self.scope.as_deref() {
            None | Some("*") => true,
            Some("Namespaced") => is_namespaced(request),
            Some("Cluster") => !is_namespaced(request),
            Some(_) => false,
        };
        scope
            && has(&self.operations, request.operation.as_str())
            && has(&self.api_groups, &request.names.group)
            && has(&self.api_versions, version)
            && self.resources.iter().any(|pattern| resource_covers(pattern, plural, subresource))
            && (self.resource_names.is_empty() || self.resource_names.contains(&request.name))
    }
}

/// `pods`, `pods/status`, `pods/*`, `*/status`, `*/*`; `*` alone means all resources without subresources.
fn resource_covers(pattern: &str, resource: &str, subresource: &str) -> bool {
    let fits = |pattern: &str, text: &str| pattern == "*" || pattern == text;
    match pattern.split_once('/') {
        None => subresource.is_empty() && fits(pattern, resource),
        Some((r, "*")) => fits(r, resource),
        Some((r, s)) => fits(r, resource) && s == subresource,
    }
}

/// A Namespace is itself at cluster scope, although its requests name a namespace.
fn is_namespaced(request: &AdmissionRequest) -> bool {
    !request.namespace.is_empty() && !is_namespace(request)
}

pub(super) fn is_namespace(request: &AdmissionRequest) -> bool {
    request.names.group.is_empty() && &*request.names.plural == "namespaces"
}

/// Cluster-scoped objects match any namespace selector; a Namespace is judged by its own labels.
pub(super) fn namespace_matches(
    selector: Option<&LabelSelector>,
    request: &AdmissionRequest,
    namespace: Option<&Value>,
) -> bool {
    let Some(selector) = selector else { return true };
    if is_namespace(request) {
        let own = if request.object.is_null() { &request.old_object } else { &request.object };
        return selector.matches_object(own);
    }
    if request.namespace.is_empty() {
        return true;
    }
    selector.matches_object(namespace.unwrap_or(&Value::Null))
}

/// The object as it was or as it will be: either will do.
pub(super) fn object_matches(selector: Option<&LabelSelector>, request: &AdmissionRequest) -> bool {
    let Some(selector) = selector else { return true };
    [&request.object, &request.old_object]
        .into_iter()
        .any(|object| !object.is_null() && selector.matches_object(object))
}
