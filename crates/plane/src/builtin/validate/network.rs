//! Services, Ingresses, NetworkPolicies, and where endpoints are.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::{Errors, list, port, present, text};
use crate::builtin::names::{dns_label, dns_subdomain, label_value, qualified_name};
use crate::status::FieldError;

const NO_ADDRESS: &str = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";

pub(super) fn service(spec: &Value, errors: &mut Errors) {
    let kind = text(spec, "type");
    let headless = text(spec, "clusterIP") == "None";
    let ports = list(spec, "ports");
    if kind == "ExternalName" {
        let name = text(spec, "externalName").trim_end_matches('.');
        if name.is_empty() {
            errors.push(FieldError::required("spec.externalName", ""));
        } else if let Err(why) = dns_subdomain(name) {
            errors.push(FieldError::invalid("spec.externalName", name, why));
        }
        if present(spec, "clusterIP") || !list(spec, "clusterIPs").is_empty() {
            errors.push(FieldError::forbidden("spec.clusterIPs", "may not be set for ExternalName services"));
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
    for (key, value) in spec["selector"].as_object().into_iter().flatten() {
        if let Err(why) = qualified_name(key) {
            errors.push(FieldError::invalid("spec.selector", key.clone(), why));
        }
        if let Err(why) = label_value(value.as_str().unwrap_or_default()) {
            errors.push(FieldError::invalid("spec.selector", value.clone(), why));
        }
    }
    let balanced = kind == "LoadBalancer" && text(spec, "externalTrafficPolicy") == "Local";
    if let Some(port) = spec["healthCheckNodePort"].as_i64().filter(|port| *port != 0 && !balanced) {
        let text = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
        errors.push(FieldError::invalid("spec.healthCheckNodePort", port, text));
    }
    let addresses: Vec<&Value> = match list(spec, "clusterIPs") {
        [] => spec.get("clusterIP").into_iter().collect(),
        all => all.iter().collect(),
    };
    for (index, address) in addresses.iter().enumerate() {
        let address = address.as_str().unwrap_or_default();
        if !address.is_empty() && address != "None" && address.parse::<std::net::IpAddr>().is_err() {
            errors.push(FieldError::invalid(format!("spec.clusterIPs[{index}]"), address, NO_ADDRESS));
        }
    }
}

/// Where an Ingress leads: a Service with a port, or some other object.
fn backend(backend: &Value, path: &str, errors: &mut Errors) {
    let service = &backend["service"];
    if !present(backend, "service") && !present(backend, "resource") {
        errors.push(FieldError::invalid(path, "", "resource or service backend is required"));
    } else if present(backend, "service") {
        if text(service, "name").is_empty() {
            errors.push(FieldError::required(format!("{path}.service.name"), ""));
        }
        let port = &service["port"];
        if text(port, "name").is_empty() && port["number"].as_i64().unwrap_or(0) == 0 {
            errors.push(FieldError::required(path, "port name or number is required"));
        }
    }
}

pub(super) fn ingress(spec: &Value, errors: &mut Errors) {
    if list(spec, "rules").is_empty() && !present(spec, "defaultBackend") {
        let text = "either `defaultBackend` or `rules` must be specified";
        errors.push(FieldError::invalid("spec", Value::Null, text));
    }
    if present(spec, "defaultBackend") {
        backend(&spec["defaultBackend"], "spec.defaultBackend", errors);
    }
    for (index, rule) in list(spec, "rules").iter().enumerate() {
        let host = text(rule, "host");
        if let Err(why) = dns_subdomain(host.trim_start_matches("*."))
            && !host.is_empty()
        {
            errors.push(FieldError::invalid(format!("spec.rules[{index}].host"), host, why));
        }
        for (number, path) in list(&rule["http"], "paths").iter().enumerate() {
            let at = format!("spec.rules[{index}].http.paths[{number}]");
            backend(&path["backend"], &format!("{at}.backend"), errors);
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
            for (number, entry) in list(rule, "ports").iter().enumerate() {
                let at = format!("spec.{direction}[{index}].ports[{number}]");
                if present(entry, "port") {
                    port(&entry["port"], format!("{at}.port"), errors);
                }
                let protocol = text(entry, "protocol");
                if !matches!(protocol, "TCP" | "UDP" | "SCTP") {
                    let supported = &["TCP", "UDP", "SCTP"];
                    errors.push(FieldError::not_supported(format!("{at}.protocol"), protocol, supported));
                }
            }
            for (number, peer) in list(rule, peers).iter().enumerate() {
                if !["podSelector", "namespaceSelector", "ipBlock"].iter().any(|field| present(peer, field)) {
                    let at = format!("spec.{direction}[{index}].{peers}[{number}]");
                    errors.push(FieldError::required(at, "must specify a peer"));
                }
            }
        }
    }
}

/// The addresses and ports behind a Service, in their old form.
pub(super) fn endpoints(object: &Value, errors: &mut Errors) {
    for (index, subset) in list(object, "subsets").iter().enumerate() {
        let at = format!("subsets[{index}]");
        for group in ["addresses", "notReadyAddresses"] {
            for (number, address) in list(subset, group).iter().enumerate() {
                let (at, ip) = (format!("{at}.{group}[{number}].ip"), text(address, "ip"));
                match ip.parse::<std::net::IpAddr>() {
                    Err(_) => {
                        errors.push(FieldError::invalid(at.clone(), ip, NO_ADDRESS));
                        errors.push(FieldError::invalid(at, ip, "must be a valid IP address"));
                    }
                    Ok(known) if known.is_loopback() => {
                        let text = "may not be in the loopback range (127.0.0.0/8, ::1/128)";
                        errors.push(FieldError::invalid(at, ip, text));
                    }
                    Ok(_) => {}
                }
            }
        }
        for (number, entry) in list(subset, "ports").iter().enumerate() {
            port(&entry["port"], format!("{at}.ports[{number}].port"), errors);
        }
    }
}

/// A slice of the addresses and ports behind a Service.
pub(super) fn endpoint_slice(object: &Value, errors: &mut Errors) {
    let kind = text(object, "addressType");
    if !matches!(kind, "" | "FQDN" | "IPv4" | "IPv6") {
        errors.push(FieldError::not_supported("addressType", kind, &["FQDN", "IPv4", "IPv6"]));
    }
    for (index, endpoint) in list(object, "endpoints").iter().enumerate() {
        let at = format!("endpoints[{index}].addresses");
        let addresses = list(endpoint, "addresses");
        if addresses.is_empty() {
            errors.push(FieldError::required(at.clone(), "must contain at least 1 address"));
        }
        for (number, address) in addresses.iter().enumerate() {
            let address = address.as_str().unwrap_or_default();
            if matches!(kind, "IPv4" | "IPv6") && address.parse::<std::net::IpAddr>().is_err() {
                errors.push(FieldError::invalid(format!("{at}[{number}]"), address, NO_ADDRESS));
            }
        }
    }
    for (index, port) in list(object, "ports").iter().enumerate() {
        let name = text(port, "name");
        if let Err(why) = dns_label(name)
            && !name.is_empty()
        {
            errors.push(FieldError::invalid(format!("ports[{index}].name"), name, why));
        }
    }
}
