//! Group, names, versions, conversion and stored versions of a CRD.

use std::collections::HashSet;

use serde_json::Value;

use super::versions;
use crate::builtin::names::{dns_1035_label, dns_subdomain};
use crate::status::FieldError;

pub(super) fn check(crd: &Value, old: Option<&Value>, errors: &mut Vec<FieldError>) {
    let spec = &crd["spec"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (group, plural) = (text(&spec["group"]), text(&spec["names"]["plural"]));
    let name = text(&crd["metadata"]["name"]);
    if name != format!("{plural}.{group}") {
        errors.push(FieldError::invalid("metadata.name", name, "must be spec.names.plural+\".\"+spec.group"));
    }
    approval(crd, &group, errors);
    if group.is_empty() {
        errors.push(FieldError::required("spec.group", ""));
    } else if let Err(why) = dns_subdomain(&group) {
        errors.push(FieldError::invalid("spec.group", group.clone(), why));
    } else if !group.contains('.') {
        errors.push(FieldError::invalid(
            "spec.group",
            group.clone(),
            "should be a domain with at least one dot",
        ));
    }
    match spec["scope"].as_str() {
        Some("Cluster" | "Namespaced") => {}
        None | Some("") => errors.push(FieldError::required("spec.scope", "")),
        Some(other) => {
            errors.push(FieldError::not_supported("spec.scope", other, &["Cluster", "Namespaced"]))
        }
    }
    if spec["preserveUnknownFields"] == Value::Bool(true) {
        errors.push(FieldError::invalid(
            "spec.preserveUnknownFields",
            true,
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead",
        ));
    }
    names(&spec["names"], errors);
    check_versions(spec, crd, errors);
    conversion(&spec["conversion"], errors);
    stored(crd, old, errors);
}

fn approval(crd: &Value, group: &str, errors: &mut Vec<FieldError>) {
    const KEY: &str = "api-approved.kubernetes.io";
    let protected =
        ["k8s.io", "kubernetes.io"].iter().any(|p| group == *p || group.ends_with(&format!(".{p}")));
    if !protected {
        return;
    }
    let path = format!("metadata.annotations[{KEY}]");
    match crd["metadata"]["annotations"][KEY].as_str() {
        None | Some("") => errors.push(FieldError::required(
            path,
            format!(
                "protected groups must have approval annotation \"{KEY}\", \
                 see https://github.com/kubernetes/enhancements/pull/1111"
            ),
        )),
        Some(value) if value.starts_with("https://") || value.starts_with("http://") || value.starts_with("unapproved") => {}
        Some(value) => errors.push(FieldError::invalid(
            path,
            value,
            format!(
                "protected groups must have approval annotation \"{KEY}\" with either a URL or a reason starting with \
                 \"unapproved\", see https://github.com/kubernetes/enhancements/pull/1111"
            ),
        )),
    }
}

fn names(names: &Value, errors: &mut Vec<FieldError>) {
    let at = |field: &str| format!("spec.names.{field}");
    for (field, lower) in [("plural", false), ("singular", false), ("kind", true), ("listKind", true)] {
        let Some(name) = names[field].as_str().filter(|name| !name.is_empty()) else {
            if matches!(field, "plural" | "kind") {
                errors.push(FieldError::required(at(field), ""));
            }
            continue;
        };
        let checked = if lower { name.to_lowercase() } else { name.to_owned() };
        if let Err(why) = dns_1035_label(&checked) {
            let why =
                if lower { format!("may have mixed case, but should otherwise match: {why}") } else { why };
            errors.push(FieldError::invalid(at(field), name, why));
        }
    }
    if names["kind"].is_string() && names["kind"] == names["listKind"] {
        let text = "kind and listKind may not be the same";
        errors.push(FieldError::invalid(at("listKind"), names["listKind"].clone(), text));
    }
    for list in ["shortNames", "categories"] {
        for (index, name) in versions(names.get(list)).enumerate() {
            if let Err(why) = dns_1035_label(name.as_str().unwrap_or_default()) {
                errors.push(FieldError::invalid(format!("spec.names.{list}[{index}]"), name.clone(), why));
            }
        }
    }
}

fn check_versions(spec: &Value, crd: &Value, errors: &mut Vec<FieldError>) {
    let mut seen = HashSet::new();
    let mut storage = 0;
    let mut unique = true;
    let mut any = false;
    for (index, version) in versions(spec.get("versions")).enumerate() {
        any = true;
        let name = version["name"].as_str().unwrap_or_default();
        if let Err(why) = dns_1035_label(name) {
            errors.push(FieldError::invalid(format!("spec.versions[{index}].name"), name, why));
        }
        unique &= seen.insert(name);
        storage += usize::from(version["storage"] == Value::Bool(true));
        let warning = version["deprecationWarning"].as_str();
        if warning.is_some() && version["deprecated"] != Value::Bool(true) {
            let text = "can only be set for deprecated versions";
            errors.push(FieldError::invalid(
                format!("spec.versions[{index}].deprecationWarning"),
                warning.unwrap_or_default(),
                text,
            ));
        }
    }
    let all = spec["versions"].to_string();
    if !unique {
        errors.push(FieldError::invalid_text("spec.versions", &all, "must contain unique version names"));
    }
    if storage != 1 {
        let text = "must have exactly one version marked as storage version";
        errors.push(FieldError::invalid_text("spec.versions", &all, text));
    }
    if !any {
        errors.push(FieldError::invalid_text("spec.versions", &all, "must have at least one version"));
    }
    if versions(crd.pointer("/status/storedVersions")).next().is_none() {
        let text = "must have at least one stored version";
        errors.push(FieldError::invalid("status.storedVersions", Value::Null, text));
    }
}

fn conversion(conversion: &Value, errors: &mut Vec<FieldError>) {
    let webhook = &conversion["webhook"];
    match conversion["strategy"].as_str() {
        Some("None") | None => {
            if !webhook.is_null() {
                let text = "should not be set when strategy is not set to Webhook";
                errors.push(FieldError::forbidden("spec.conversion.webhookClientConfig", text));
            }
        }
        Some("Webhook") => {
            let config = &webhook["clientConfig"];
            if config.is_null() {
                let text = "required when strategy is set to Webhook";
                errors.push(FieldError::required("spec.conversion.webhookClientConfig", text));
            } else if config["url"].is_null() == config["service"].is_null() {
                let text = "exactly one of url or service is required";
                errors.push(FieldError::required("spec.conversion.webhookClientConfig", text));
            }
            let review: Vec<&Value> = versions(webhook.get("conversionReviewVersions")).collect();
            let path = "spec.conversion.conversionReviewVersions";
            if review.is_empty() {
                errors.push(FieldError::required(path, ""));
            } else if !review.iter().any(|v| *v == "v1" || *v == "v1beta1") {
                let shown = webhook["conversionReviewVersions"].clone();
                errors.push(FieldError::invalid(path, shown, "must include at least one of v1, v1beta1"));
            }
        }
        Some(other) => {
            errors.push(FieldError::not_supported("spec.conversion.strategy", other, &["None", "Webhook"]));
        }
    }
}

fn stored(crd: &Value, old: Option<&Value>, errors: &mut Vec<FieldError>) {
    let spec = &crd["spec"];
    for (index, version) in versions(crd.pointer("/status/storedVersions")).enumerate() {
        if !versions(spec.get("versions")).any(|v| v["name"] == *version) {
            let name = version.as_str().unwrap_or_default();
            errors.push(FieldError::invalid(
                format!("status.storedVersions[{index}]"),
                name,
                format!(
                    "missing from spec.versions; {name} was previously a storage version, and must remain in \
                     spec.versions until a storage migration ensures no data remains persisted in {name} and removes \
                     {name} from status.storedVersions"
                ),
            ));
        }
    }
    let Some(old) = old else { return };
    for (path, pointer) in [
        ("spec.group", "/spec/group"),
        ("spec.names.plural", "/spec/names/plural"),
        ("spec.scope", "/spec/scope"),
        ("spec.names.kind", "/spec/names/kind"),
    ] {
        let (new, before) = (crd.pointer(pointer), old.pointer(pointer));
        let pinned = matches!(path, "spec.group" | "spec.names.plural") || established(old);
        if pinned && new != before {
            let new = new.cloned().unwrap_or(Value::Null);
            errors.push(FieldError::invalid(path, new, "field is immutable"));
        }
    }
}

fn established(crd: &Value) -> bool {
    versions(crd.pointer("/status/conditions")).any(|c| c["type"] == "Established" && c["status"] == "True")
}
