//! Services, Ingresses, NetworkPolicies.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::{Errors, list, port, present, text};
use crate::builtin::names::dns_label;
use crate::status::FieldError;

pub(super) fn service(spec: &Value, errors: &mut Errors) {
    let kind = text(spec, "type");
    let headless = text(spec, "clusterIP") == "None";
    let ports = list(spec, "ports");
    if kind == "ExternalName" {
        if text(spec, "externalName").is_empty() {
            errors.push(FieldError::required("spec.externalName", ""));
        }
    } else if ports.is_empty() && !headless {
        errors.push(FieldError::required("spec.ports", ""));
    }
    let mut names = HashSet::new();
    let mut pairs = HashSet::new();
    for (index, entry) in ports.iter().enumerate() {
        let at = format!("spec.ports[{index}]");
        let name = text(entry, "name");
        if name.is_empty() && ports.len() > 1 {
            errors.push(FieldError::required(format!("{at}.name"), ""));
        } else if !name.is_empty() {
            if let Err(why) = dns_label(name) {
                errors.push(FieldError::invalid(format!("{at}.name"), name, why));
            } else if !names.insert(name) {
                errors.push(FieldError::duplicate(format!("{at}.name"), name));
            }
        }
        port(&entry["port"], format!("{at}.port"), errors);
        port(&entry["targetPort"], format!("{at}.targetPort"), errors);
        if !pairs.insert((entry["port"].as_i64(), text(entry, "protocol"))) {
            let shown = format!(
                "{{\"Name\":\"\",\"Protocol\":{},\"AppProtocol\":null,\"Port\":{},\"TargetPort\":0,\"NodePort\":0}}",
                json!(text(entry, "protocol")),
                entry["port"]
            );
            let kind = crate::status::FieldErrorKind::Verbatim(
                "FieldValueDuplicate",
                format!("Duplicate value: {shown}"),
            );
            errors.push(FieldError::new(at.clone(), kind));
        }
        if kind == "ClusterIP" && entry["nodePort"].as_i64().is_some_and(|n| n != 0) {
            let text = "may not be used when `type` is 'ClusterIP'";
            errors.push(FieldError::forbidden(format!("{at}.nodePort"), text));
        }
    }
    let addresses: Vec<&Value> = match list(spec, "clusterIPs") {
        [] => spec.get("clusterIP").into_iter().collect(),
        all => all.iter().collect(),
    };
    for (index, address) in addresses.iter().enumerate() {
        let address = address.as_str().unwrap_or_default();
        if !address.is_empty() && address != "None" && address.parse::<std::net::IpAddr>().is_err() {
            let text = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
            errors.push(FieldError::invalid(format!("spec.clusterIPs[{index}]"), address, text));
        }
    }
}

pub(super) fn ingress(spec: &Value, errors: &mut Errors) {
    if list(spec, "rules").is_empty() && !present(spec, "defaultBackend") {
        let text = "either `defaultBackend` or `rules` must be specified";
        errors.push(FieldError::invalid("spec", Value::Null, text));
    }
    for (index, rule) in list(spec, "rules").iter().enumerate() {
        for (number, path) in list(&rule["http"], "paths").iter().enumerate() {
            let at = format!("spec.rules[{index}].http.paths[{number}]");
            match text(path, "pathType") {
                "" => {
                    errors.push(FieldError::required(format!("{at}.pathType"), "pathType must be specified"))
                }
                "Exact" | "Prefix" => {
                    let given = text(path, "path");
                    if !given.starts_with('/') {
                        errors.push(FieldError::invalid(
                            format!("{at}.path"),
                            given,
                            "must be an absolute path",
                        ));
                    }
                }
                "ImplementationSpecific" => {}
                other => {
                    let supported = &["Exact", "ImplementationSpecific", "Prefix"];
                    errors.push(FieldError::not_supported(format!("{at}.pathType"), other, supported));
                }
            }
        }
    }
}

pub(super) fn policy(spec: &Value, errors: &mut Errors) {
    for (index, kind) in list(spec, "policyTypes").iter().enumerate() {
        if kind != "Ingress" && kind != "Egress" {
            let at = format!("spec.policyTypes[{index}]");
            errors.push(FieldError::not_supported(at, kind.clone(), &["Ingress", "Egress"]));
        }
    }
    for (direction, peers) in [("ingress", "from"), ("egress", "to")] {
        for (index, rule) in list(spec, direction).iter().enumerate() {
            for (number, peer) in list(rule, peers).iter().enumerate() {
                if !["podSelector", "namespaceSelector", "ipBlock"].iter().any(|field| present(peer, field)) {
                    let at = format!("spec.{direction}[{index}].{peers}[{number}]");
                    errors.push(FieldError::required(at, "must specify a peer"));
                }
            }
        }
    }
}
