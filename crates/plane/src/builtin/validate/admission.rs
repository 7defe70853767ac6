//! Webhook configurations and admission policies.

use std::collections::HashSet;

use serde_json::Value;

use super::{Errors, list, present, text};
use crate::builtin::names::{dns_subdomain, qualified_name};
use crate::schema::cel::{Expression, Names, Wanted};
use crate::status::FieldError;

pub(super) fn webhooks(object: &Value, errors: &mut Errors) {
    let mut names = HashSet::new();
    for (index, webhook) in list(object, "webhooks").iter().enumerate() {
        let at = |field: &str| format!("webhooks[{index}].{field}");
        let name = text(webhook, "name");
        if let Err(why) = dns_subdomain(name) {
            errors.push(FieldError::invalid(at("name"), name, why));
        } else if name.split('.').count() < 3 {
            let text = "should be a domain with at least three segments separated by dots";
            errors.push(FieldError::invalid(at("name"), name, text));
        } else if !names.insert(name) {
            errors.push(FieldError::duplicate(at("name"), name));
        }
        let versions = list(webhook, "admissionReviewVersions");
        if versions.is_empty() {
            let text = "must specify one of v1, v1beta1";
            errors.push(FieldError::required(at("admissionReviewVersions"), text));
        } else if !versions.iter().any(|v| v == "v1" || v == "v1beta1") {
            let shown = webhook["admissionReviewVersions"].clone();
            let text = "must include at least one of v1, v1beta1";
            errors.push(FieldError::invalid(at("admissionReviewVersions"), shown, text));
        }
        client(&webhook["clientConfig"], &at("clientConfig"), errors);
        if let Some(seconds) = webhook["timeoutSeconds"].as_i64().filter(|s| !(1..=30).contains(s)) {
            let text = "the timeout value must be between 1 and 30 seconds";
            errors.push(FieldError::invalid(at("timeoutSeconds"), seconds, text));
        }
        match webhook["sideEffects"].as_str() {
            None => {
                errors.push(FieldError::required(at("sideEffects"), "must specify one of None, NoneOnDryRun"))
            }
            Some("None" | "NoneOnDryRun") => {}
            Some(other) => {
                errors.push(FieldError::not_supported(at("sideEffects"), other, &["None", "NoneOnDryRun"]));
            }
        }
        for (number, rule) in list(webhook, "rules").iter().enumerate() {
            self::rule(rule, &format!("webhooks[{index}].rules[{number}]"), errors);
        }
        conditions(webhook, &format!("webhooks[{index}]"), &Names::default(), errors);
    }
}

/// What a rule covers: something of everything, and nothing beside everything.
fn rule(rule: &Value, path: &str, errors: &mut Errors) {
    for field in ["operations", "apiGroups", "apiVersions", "resources"] {
        let (all, at) = (list(rule, field), format!("{path}.{field}"));
        let beside = |of: &dyn Fn(&&Value) -> bool| {
            all.iter().any(|item| item == "*") && all.iter().filter(of).count() > 1
        };
        if all.is_empty() {
            errors.push(FieldError::required(at, ""));
        } else if field == "resources" {
            let plain = |item: &&Value| item.as_str().is_some_and(|item| !item.contains('/'));
            if beside(&plain) {
                let text = "if '*' is present, must not specify other resources without subresources";
                errors.push(FieldError::invalid(at, rule[field].clone(), text));
            }
        } else if beside(&|_| true) {
            let what = match field {
                "operations" => "operations",
                "apiGroups" => "API groups",
                _ => "API versions",
            };
            let text = format!("if '*' is present, must not specify other {what}");
            errors.push(FieldError::invalid(at, rule[field].clone(), text));
        }
    }
}

/// Conditions: each named once, each an expression that comes to a truth value.
fn conditions(of: &Value, path: &str, names: &Names<'_>, errors: &mut Errors) {
    let mut seen = HashSet::new();
    for (index, condition) in list(of, "matchConditions").iter().enumerate() {
        let at = |field: &str| format!("{path}.matchConditions[{index}].{field}");
        let name = text(condition, "name");
        let source = text(condition, "expression").trim();
        if source.is_empty() {
            errors.push(FieldError::required(at("expression"), ""));
        } else {
            expression(source, names, Wanted::Bool, at("expression"), errors);
        }
        if name.is_empty() {
            errors.push(FieldError::required(at("name"), ""));
        } else if let Err(why) = qualified_name(name) {
            errors.push(FieldError::invalid(at("name"), name, why));
        } else if !seen.insert(name) {
            errors.push(FieldError::duplicate(at("name"), name));
        }
    }
}

fn expression(source: &str, names: &Names<'_>, wanted: Wanted, path: String, errors: &mut Errors) {
    if let Err(why) = Expression::new(source).check(names, wanted) {
        errors.push(FieldError::invalid(path, source, why));
    }
}

/// A ValidatingAdmissionPolicy's spec.
pub(super) fn policy(spec: &Value, errors: &mut Errors) {
    const REASONS: [&str; 4] = ["Forbidden", "Invalid", "RequestEntityTooLarge", "Unauthorized"];
    // The real server knows the last one too, but does not say so.
    const TOLD: [&str; 3] = ["Forbidden", "Invalid", "RequestEntityTooLarge"];
    let variables: Vec<String> =
        list(spec, "variables").iter().map(|variable| text(variable, "name").to_owned()).collect();
    let names = Names { params: present(spec, "paramKind"), variables: &variables };
    for field in ["apiVersion", "kind"] {
        if present(spec, "paramKind") && text(&spec["paramKind"], field).is_empty() {
            errors.push(FieldError::required(format!("spec.paramKind.{field}"), ""));
        }
    }
    if !present(spec, "matchConstraints") {
        errors.push(FieldError::required("spec.matchConstraints", ""));
    } else if list(&spec["matchConstraints"], "resourceRules").is_empty() {
        errors.push(FieldError::required("spec.matchConstraints.resourceRules", ""));
    }
    conditions(spec, "spec", &Names { variables: &[], ..names.clone() }, errors);
    for (index, variable) in list(spec, "variables").iter().enumerate() {
        let at = |field: &str| format!("spec.variables[{index}].{field}");
        let known = Names { variables: &variables[..index], ..names.clone() };
        let name = text(variable, "name");
        if name.is_empty() {
            errors.push(FieldError::required(at("name"), "name is not specified"));
        } else if !is_identifier(name) {
            errors.push(FieldError::invalid(at("name"), name, "must be a valid CEL identifier"));
        }
        let source = text(variable, "expression").trim();
        if source.is_empty() {
            errors.push(FieldError::required(at("expression"), "expression is not specified"));
        } else {
            expression(source, &known, Wanted::Anything, at("expression"), errors);
        }
    }
    if list(spec, "validations").is_empty() && list(spec, "auditAnnotations").is_empty() {
        let text = "validations or auditAnnotations must contain at least one item";
        errors.push(FieldError::required("spec.validations", text));
        errors.push(FieldError::required("spec.auditAnnotations", text));
    }
    for (index, validation) in list(spec, "validations").iter().enumerate() {
        let at = |field: &str| format!("spec.validations[{index}].{field}");
        let source = text(validation, "expression").trim();
        if source.is_empty() {
            errors.push(FieldError::required(at("expression"), "expression is not specified"));
        } else {
            expression(source, &names, Wanted::Bool, at("expression"), errors);
        }
        let message = text(validation, "messageExpression").trim();
        if !message.is_empty() {
            expression(message, &names, Wanted::Text, at("messageExpression"), errors);
        }
        if text(validation, "message").contains('\n') {
            let given = text(validation, "message");
            errors.push(FieldError::invalid(at("message"), given, "must not contain line breaks"));
        }
        if let Some(reason) = validation["reason"].as_str().filter(|reason| !REASONS.contains(reason)) {
            errors.push(FieldError::not_supported(at("reason"), reason, &TOLD));
        }
    }
}

/// Whether an expression can speak of a variable of that name.
fn is_identifier(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// A ValidatingAdmissionPolicyBinding's spec.
pub(super) fn policy_binding(spec: &Value, errors: &mut Errors) {
    const ACTIONS: [&str; 3] = ["Audit", "Deny", "Warn"];
    if text(spec, "policyName").is_empty() {
        errors.push(FieldError::required("spec.policyName", ""));
    }
    let reference = &spec["paramRef"];
    if present(spec, "paramRef") {
        let (named, selected) = (!text(reference, "name").is_empty(), present(reference, "selector"));
        if named && selected {
            let text = "name and selector are mutually exclusive";
            errors.push(FieldError::forbidden("spec.paramRef.name", text));
            errors.push(FieldError::forbidden("spec.paramRef.selector", text));
        } else if !named && !selected {
            errors.push(FieldError::required("spec.paramRef", "one of name or selector must be specified"));
        }
        if text(reference, "parameterNotFoundAction").is_empty() {
            errors.push(FieldError::required("spec.paramRef.parameterNotFoundAction", ""));
        }
    }
    let actions = list(spec, "validationActions");
    if actions.is_empty() {
        let text = "at least one validation action is required";
        errors.push(FieldError::required("spec.validationActions", text));
    }
    let mut seen = HashSet::new();
    for (index, action) in actions.iter().enumerate() {
        let at = format!("spec.validationActions[{index}]");
        let action = action.as_str().unwrap_or_default();
        if !ACTIONS.contains(&action) {
            errors.push(FieldError::not_supported(at, action, &ACTIONS));
        } else if !seen.insert(action) {
            errors.push(FieldError::duplicate(at, action));
        }
    }
    if seen.contains("Deny") && seen.contains("Warn") {
        let text = "must not contain both Deny and Warn (repeating the same validation failure information in the API \
                    response and headers serves no purpose)";
        errors.push(FieldError::invalid("spec.validationActions", spec["validationActions"].clone(), text));
    }
}

fn client(config: &Value, path: &str, errors: &mut Errors) {
    if present(config, "url") == present(config, "service") {
        errors.push(FieldError::required(path, "exactly one of url or service is required"));
        return;
    }
    match config["url"].as_str() {
        Some(url) => self::url(url, &format!("{path}.url"), errors),
        None => service(&config["service"], &format!("{path}.service"), errors),
    }
}

fn url(url: &str, path: &str, errors: &mut Errors) {
    let Ok(parsed) = reqwest::Url::parse(url) else {
        let text = "url must be a valid URL: desired format: https://host[/path]";
        errors.push(FieldError::required(path, text));
        return;
    };
    let mut wrong = |part: &str, text: &str| errors.push(FieldError::invalid(path, part, text));
    if parsed.scheme() != "https" {
        wrong(parsed.scheme(), "'https' is the only allowed URL scheme; desired format: https://host[/path]");
    }
    if parsed.host_str().is_none_or(str::is_empty) {
        wrong("", "host must be specified; desired format: https://host[/path]");
    }
    if !parsed.username().is_empty() {
        let user = match parsed.password() {
            Some(password) => format!("{}:{password}", parsed.username()),
            None => parsed.username().to_owned(),
        };
        wrong(&user, "user information is not permitted in the URL");
    }
    if let Some(fragment) = parsed.fragment().filter(|fragment| !fragment.is_empty()) {
        wrong(fragment, "fragments are not permitted in the URL");
    }
    if let Some(query) = parsed.query().filter(|query| !query.is_empty()) {
        wrong(query, "query parameters are not permitted in the URL");
    }
}

fn service(service: &Value, path: &str, errors: &mut Errors) {
    // The real server tells each as the other.
    for (field, shown) in [("name", "namespace"), ("namespace", "name")] {
        if text(service, field).is_empty() {
            errors.push(FieldError::required(format!("{path}.{shown}"), ""));
        }
    }
    if let Some(port) = service["port"].as_i64().filter(|port| !(1..=65535).contains(port)) {
        let text = "port is not valid: must be between 1 and 65535, inclusive";
        errors.push(FieldError::invalid(format!("{path}.port"), port, text));
    }
    let given = text(service, "path");
    if matches!(given, "" | "/") {
        return;
    }
    let at = format!("{path}.path");
    if !given.starts_with('/') {
        errors.push(FieldError::invalid(at.clone(), given, "must start with a '/'"));
    }
    let rest = given.get(1..).unwrap_or_default();
    for (index, step) in rest.strip_suffix('/').unwrap_or(rest).split('/').enumerate() {
        if step.is_empty() {
            errors.push(FieldError::invalid(at.clone(), given, format!("segment[{index}] may not be empty")));
        } else if let Err(why) = dns_subdomain(step) {
            errors.push(FieldError::invalid(at.clone(), given, format!("segment[{index}]: {why}")));
        }
    }
}
