//! Containers: ports, environment, mounts, resources, probes, security.

use std::collections::HashSet;

use serde_json::Value;

use super::{Errors, list, present, text};
use crate::builtin::names::{port_name, qualified_name};
use crate::builtin::quantity::Quantity;
use crate::status::FieldError;

const HANDLERS: [&str; 4] = ["exec", "httpGet", "tcpSocket", "grpc"];

pub(super) fn check(
    container: &Value,
    path: &str,
    volumes: &HashSet<String>,
    init: bool,
    errors: &mut Errors,
) {
    let image = text(container, "image");
    if image.is_empty() {
        errors.push(FieldError::required(format!("{path}.image"), ""));
    } else if image.trim() != image
        && (path.starts_with("spec.containers") || path.starts_with("spec.initContainers"))
    {
        // Templates are spared: some carry a blank that is replaced later.
        errors.push(FieldError::invalid(
            format!("{path}.image"),
            image,
            "must not have leading or trailing whitespace",
        ));
    }
    ports(container, path, errors);
    environment(container, path, errors);
    mounts(container, path, volumes, errors);
    resources(&container["resources"], &format!("{path}.resources"), errors);
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if present(container, name) {
            if init && text(container, "restartPolicy") != "Always" {
                let text = "may not be set for init containers without restartPolicy=Always";
                errors.push(FieldError::forbidden(format!("{path}.{name}"), text));
                continue;
            }
            probe(&container[name], name, &format!("{path}.{name}"), errors);
        }
    }
    let security = &container["securityContext"];
    if security["privileged"] == Value::Bool(true)
        && security["allowPrivilegeEscalation"] == Value::Bool(false)
    {
        let text = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true";
        errors.push(FieldError::invalid(format!("{path}.securityContext"), security.clone(), text));
    }
}

fn ports(container: &Value, path: &str, errors: &mut Errors) {
    let mut names = HashSet::new();
    for (index, port) in list(container, "ports").iter().enumerate() {
        let at = format!("{path}.ports[{index}]");
        let name = text(port, "name");
        if !name.is_empty() {
            let wrong = port_name(name);
            if wrong.is_empty() && !names.insert(name) {
                errors.push(FieldError::duplicate(format!("{at}.name"), name));
            }
            for why in wrong {
                errors.push(FieldError::invalid(format!("{at}.name"), name, why));
            }
        }
    }
}

fn environment(container: &Value, path: &str, errors: &mut Errors) {
    const SOURCES: [&str; 5] =
        ["fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"];
    for (index, variable) in list(container, "env").iter().enumerate() {
        let at = format!("{path}.env[{index}]");
        let name = text(variable, "name");
        if name.is_empty() {
            errors.push(FieldError::required(format!("{at}.name"), ""));
        } else if !name.chars().all(|c| c.is_ascii_graphic() && c != '=' || c == ' ') {
            let text = "a valid environment variable name must consist only of printable ASCII characters other than '='";
            errors.push(FieldError::invalid(format!("{at}.name"), name, text));
        }
        let Some(from) = variable.get("valueFrom").filter(|from| !from.is_null()) else { continue };
        let sources = SOURCES.iter().filter(|source| present(from, source)).count();
        let at = format!("{at}.valueFrom");
        if sources == 0 {
            let text = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`";
            errors.push(FieldError::invalid(at.clone(), "", text));
        } else if !text(variable, "value").is_empty() {
            errors.push(FieldError::invalid(
                at.clone(),
                "",
                "may not be specified when `value` is not empty",
            ));
        } else if sources > 1 {
            errors.push(FieldError::invalid(
                at.clone(),
                "",
                "may not have more than one field specified at a time",
            ));
        }
        let field = text(&from["fieldRef"], "fieldPath");
        if !field.is_empty() && !field_known(field) {
            let text = format!("error converting fieldPath: field label not supported: {field}");
            errors.push(FieldError::invalid(format!("{at}.fieldRef.fieldPath"), field, text));
        }
    }
    for from in list(container, "envFrom") {
        match (present(from, "configMapRef"), present(from, "secretRef")) {
            (false, false) => {
                let text = "must specify one of: `configMapRef` or `secretRef`";
                errors.push(FieldError::invalid(format!("{path}.envFrom"), "", text));
            }
            (true, true) => {
                let text = "may not have more than one field specified at a time";
                errors.push(FieldError::invalid(format!("{path}.envFrom"), "", text));
            }
            _ => {}
        }
    }
}

fn field_known(path: &str) -> bool {
    const KNOWN: [&str; 10] = [
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
        "spec.nodeName",
        "spec.serviceAccountName",
        "status.hostIP",
        "status.hostIPs",
        "status.podIP",
        "status.podIPs",
        "spec.restartPolicy",
    ];
    KNOWN.contains(&path)
        || path.starts_with("metadata.labels['")
        || path.starts_with("metadata.annotations['")
}

fn mounts(container: &Value, path: &str, volumes: &HashSet<String>, errors: &mut Errors) {
    let mut seen = HashSet::new();
    for (index, mount) in list(container, "volumeMounts").iter().enumerate() {
        let at = format!("{path}.volumeMounts[{index}]");
        let name = text(mount, "name");
        if name.is_empty() {
            errors.push(FieldError::required(format!("{at}.name"), ""));
        } else if !volumes.contains(name) {
            errors.push(FieldError::not_found(format!("{at}.name"), name));
        }
        let place = text(mount, "mountPath");
        if !place.is_empty() && !seen.insert(place) {
            errors.push(FieldError::invalid(format!("{at}.mountPath"), place, "must be unique"));
        }
    }
}

pub(super) fn resources(resources: &Value, path: &str, errors: &mut Errors) {
    let amount = |value: &Value| Quantity::parse(value.as_str().unwrap_or_default());
    let limits = resources["limits"].as_object();
    for kind in ["limits", "requests"] {
        for (name, value) in resources[kind].as_object().into_iter().flatten() {
            let at = format!("{path}.{kind}[{name}]");
            resource_name(name, &at, errors);
            if amount(value).is_some_and(|q| q.nano() < 0) {
                errors.push(FieldError::invalid(at, value.clone(), "must be greater than or equal to 0"));
            }
        }
    }
    for (name, request) in resources["requests"].as_object().into_iter().flatten() {
        let overcommittable = standard(name);
        match limits.and_then(|limits| limits.get(name)) {
            Some(limit) if !overcommittable && amount(request) != amount(limit) => {
                let text = format!("must be equal to {name} limit of {}", limit.as_str().unwrap_or_default());
                errors.push(FieldError::invalid(format!("{path}.requests"), request.clone(), text));
            }
            Some(limit) if amount(request) > amount(limit) => {
                let text = format!(
                    "must be less than or equal to {name} limit of {}",
                    limit.as_str().unwrap_or_default()
                );
                errors.push(FieldError::invalid(format!("{path}.requests"), request.clone(), text));
            }
            None if !overcommittable => {
                let text = "Limit must be set for non overcommitable resources";
                errors.push(FieldError::required(format!("{path}.limits"), text));
            }
            _ => {}
        }
    }
}

fn standard(name: &str) -> bool {
    matches!(name, "cpu" | "memory" | "ephemeral-storage")
}

fn resource_name(name: &str, path: &str, errors: &mut Errors) {
    if let Err(why) = qualified_name(name) {
        errors.push(FieldError::invalid(path, name, why));
    } else if !name.contains('/') && !standard(name) && !name.starts_with("hugepages-") {
        errors.push(FieldError::invalid(path, name, "must be a standard resource type or fully qualified"));
        errors.push(FieldError::invalid(path, name, "must be a standard resource for containers"));
    }
}

fn probe(probe: &Value, name: &str, path: &str, errors: &mut Errors) {
    let given: Vec<&str> = HANDLERS.into_iter().filter(|handler| present(probe, handler)).collect();
    match given.as_slice() {
        [] => errors.push(FieldError::required(path, "must specify a handler type")),
        [_] => {}
        [_, more @ ..] => {
            for handler in more {
                errors.push(FieldError::forbidden(
                    format!("{path}.{handler}"),
                    "may not specify more than 1 handler type",
                ));
            }
        }
    }
    for handler in ["httpGet", "tcpSocket"] {
        if present(probe, handler) {
            super::port(&probe[handler]["port"], format!("{path}.{handler}.port"), errors);
        }
    }
    let successes = probe["successThreshold"].as_i64().unwrap_or(1);
    if name != "readinessProbe" && successes != 1 {
        errors.push(FieldError::invalid(format!("{path}.successThreshold"), successes, "must be 1"));
    }
}
