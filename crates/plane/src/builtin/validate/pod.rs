//! Pods and pod templates.

use std::collections::HashSet;

use serde_json::Value;

use super::{Errors, containers, list, present, text, volumes};
use crate::builtin::names::dns_label;
use crate::status::FieldError;

/// Judges a pod spec at `path`.
pub(super) fn check(spec: &Value, path: &str, errors: &mut Errors) {
    let volumes = volumes::check(spec, path, errors);
    let mut names: HashSet<&str> = HashSet::new();
    if list(spec, "containers").is_empty() {
        errors.push(FieldError::required(format!("{path}.containers"), ""));
    }
    for group in ["containers", "initContainers", "ephemeralContainers"] {
        for (index, container) in list(spec, group).iter().enumerate() {
            let at = format!("{path}.{group}[{index}]");
            let name = text(container, "name");
            if name.is_empty() {
                errors.push(FieldError::required(format!("{at}.name"), ""));
            } else if let Err(why) = dns_label(name) {
                errors.push(FieldError::invalid(format!("{at}.name"), name, why));
            }
            if !name.is_empty() && !names.insert(name) {
                errors.push(FieldError::duplicate(format!("{at}.name"), name));
            }
            containers::check(container, &at, &volumes, group == "initContainers", errors);
        }
    }
    let policy = text(spec, "restartPolicy");
    if path == "spec" && !matches!(policy, "" | "Always" | "OnFailure" | "Never") {
        let supported = &["Always", "OnFailure", "Never"];
        errors.push(FieldError::not_supported(format!("{path}.restartPolicy"), policy, supported));
    }
    for (index, toleration) in list(spec, "tolerations").iter().enumerate() {
        self::toleration(toleration, &format!("{path}.tolerations[{index}]"), errors);
    }
    if present(spec, "activeDeadlineSeconds") && spec["activeDeadlineSeconds"].as_i64().is_none_or(|n| n < 1)
    {
        let text = "must be between 1 and 2147483647, inclusive";
        let at = format!("{path}.activeDeadlineSeconds");
        errors.push(FieldError::invalid(at, spec["activeDeadlineSeconds"].clone(), text));
    }
}

fn toleration(toleration: &Value, path: &str, errors: &mut Errors) {
    let operator = text(toleration, "operator");
    if text(toleration, "key").is_empty() && operator != "Exists" {
        let text =
            "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
        let shown = if operator.is_empty() { "Equal" } else { operator };
        errors.push(FieldError::invalid(format!("{path}.operator"), shown, text));
    }
    if operator == "Exists" && !text(toleration, "value").is_empty() {
        let text = "value must be empty when `operator` is 'Exists'";
        errors.push(FieldError::invalid(format!("{path}.operator"), toleration["value"].clone(), text));
    }
}
