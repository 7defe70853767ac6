//! Roles and bindings.

use serde_json::Value;

use super::{Errors, list, text};
use crate::builtin::names::dns_subdomain;
use crate::status::FieldError;

pub(super) fn role(kind: &str, object: &Value, errors: &mut Errors) {
    for (index, rule) in list(object, "rules").iter().enumerate() {
        let at = |field: &str| format!("rules[{index}].{field}");
        if list(rule, "verbs").is_empty() {
            errors.push(FieldError::required(at("verbs"), "verbs must contain at least one value"));
        }
        let urls = list(rule, "nonResourceURLs");
        if !urls.is_empty() {
            if kind == "Role" {
                let text = "namespaced rules cannot apply to non-resource URLs";
                errors.push(FieldError::invalid(
                    at("nonResourceURLs"),
                    rule["nonResourceURLs"].clone(),
                    text,
                ));
            }
            if ["apiGroups", "resources", "resourceNames"].iter().any(|field| !list(rule, field).is_empty()) {
                let text = "rules cannot apply to both regular resources and non-resource URLs";
                errors.push(FieldError::invalid(
                    at("nonResourceURLs"),
                    rule["nonResourceURLs"].clone(),
                    text,
                ));
            }
            continue;
        }
        if list(rule, "apiGroups").is_empty() {
            errors.push(FieldError::required(
                at("apiGroups"),
                "resource rules must supply at least one api group",
            ));
        }
        if list(rule, "resources").is_empty() {
            errors.push(FieldError::required(
                at("resources"),
                "resource rules must supply at least one resource",
            ));
        }
    }
}

pub(super) fn binding(kind: &str, object: &Value, errors: &mut Errors) {
    const GROUP: &str = "rbac.authorization.k8s.io";
    let role = &object["roleRef"];
    if text(role, "apiGroup") != GROUP {
        errors.push(FieldError::not_supported("roleRef.apiGroup", text(role, "apiGroup"), &[GROUP]));
    }
    let kinds: &[&str] = if kind == "RoleBinding" { &["Role", "ClusterRole"] } else { &["ClusterRole"] };
    if !kinds.contains(&text(role, "kind")) {
        errors.push(FieldError::not_supported("roleRef.kind", text(role, "kind"), kinds));
    }
    if text(role, "name").is_empty() {
        errors.push(FieldError::required("roleRef.name", ""));
    }
    for (index, subject) in list(object, "subjects").iter().enumerate() {
        let at = |field: &str| format!("subjects[{index}].{field}");
        if text(subject, "name").is_empty() {
            errors.push(FieldError::required(at("name"), ""));
        }
        let group = text(subject, "apiGroup");
        match text(subject, "kind") {
            "ServiceAccount" => {
                if let Err(why) = dns_subdomain(text(subject, "name"))
                    && !text(subject, "name").is_empty()
                {
                    errors.push(FieldError::invalid(at("name"), text(subject, "name"), why));
                }
                if !group.is_empty() {
                    errors.push(FieldError::not_supported(at("apiGroup"), group, &[""]));
                }
                if kind == "ClusterRoleBinding" && text(subject, "namespace").is_empty() {
                    errors.push(FieldError::required(at("namespace"), ""));
                }
            }
            "User" | "Group" if group != GROUP => {
                errors.push(FieldError::not_supported(at("apiGroup"), group, &[GROUP]));
            }
            "User" | "Group" => {}
            other => {
                errors.push(FieldError::not_supported(
                    at("kind"),
                    other,
                    &["ServiceAccount", "User", "Group"],
                ));
            }
        }
    }
}
