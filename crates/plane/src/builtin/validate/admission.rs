//! Webhook configurations.

use std::collections::HashSet;

use serde_json::Value;

use super::{Errors, list, present, text};
use crate::builtin::names::dns_subdomain;
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
    }
}

fn client(config: &Value, path: &str, errors: &mut Errors) {
    if present(config, "url") == present(config, "service") {
        errors.push(FieldError::required(path, "exactly one of url or service is required"));
        return;
    }
    if let Some(url) = config["url"].as_str() {
        let at = format!("{path}.url");
        match url.split_once("://") {
            Some(("https", rest)) if !rest.is_empty() => {}
            _ => {
                let scheme = url.split_once("://").map_or("", |(scheme, _)| scheme);
                let text = "'https' is the only allowed URL scheme; desired format: https://host[/path]";
                errors.push(FieldError::invalid(at, scheme, text));
            }
        }
    } else {
        for field in ["name", "namespace"] {
            if text(&config["service"], field).is_empty() {
                errors.push(FieldError::required(
                    format!("{path}.service.{field}"),
                    format!("service {field} is required"),
                ));
            }
        }
    }
}
