//! What the server lets through, but warns of.

use std::collections::{BTreeMap, HashSet};

use serde_json::Value;

use super::quantity::Quantity;
use crate::resource::GroupVersionKind;
use crate::status::go_quote;
use crate::validate;

/// The warnings about an object that is about to be stored; `old` on update, when only a changed spec is looked at.
pub fn warnings(gvk: &GroupVersionKind, object: &Value, old: Option<&Value>) -> Vec<String> {
    if old.is_some_and(|old| old["spec"] == object["spec"]) {
        return vec![];
    }
    let path = match (&*gvk.group, &*gvk.kind) {
        ("", "Service") => return service(&object["spec"]),
        ("", "Pod") => "spec",
        ("apps", "Deployment" | "ReplicaSet" | "StatefulSet" | "DaemonSet") | ("batch", "Job") => {
            "spec.template.spec"
        }
        ("batch", "CronJob") => "spec.jobTemplate.spec.template.spec",
        _ => return vec![],
    };
    let pod = path.split('.').fold(object, |value, name| &value[name]);
    let mut all = vec![];
    if path == "spec"
        && old.is_none()
        && let why @ [_, ..] =
            validate::label(object["metadata"]["name"].as_str().unwrap_or_default()).as_slice()
    {
        all.push(format!(
            "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is \
             recommended: [{}]",
            why.join(" ")
        ));
    }
    for (index, secret) in list(pod, "imagePullSecrets").iter().enumerate() {
        if secret["name"].as_str().unwrap_or_default().is_empty() {
            all.push(format!("{path}.imagePullSecrets[{index}].name: invalid empty name \"\""));
        }
    }
    for group in ["initContainers", "containers", "ephemeralContainers"] {
        for (index, container) in list(pod, group).iter().enumerate() {
            let at = format!("{path}.{group}[{index}]");
            fractions(container, &at, &mut all);
            hidden_variables(container, &at, &mut all);
            repeated_ports(container, &at, &mut all);
        }
    }
    all
}

fn service(spec: &Value) -> Vec<String> {
    let headless = spec["clusterIP"] == "None" && spec["type"] != "ExternalName";
    if headless && spec["sessionAffinity"] == "ClientIP" {
        return vec!["spec.SessionAffinity is ignored for headless services".to_owned()];
    }
    vec![]
}

fn list<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    value[name].as_array().map_or(&[], Vec::as_slice)
}

/// Bytes cannot be divided.
fn fractions(container: &Value, path: &str, all: &mut Vec<String>) {
    for kind in ["limits", "requests"] {
        for name in ["memory", "ephemeral-storage"] {
            let text = container["resources"][kind][name].as_str().unwrap_or_default();
            if Quantity::parse(text).is_some_and(|amount| amount.as_units().is_none()) {
                let text = go_quote(text);
                all.push(format!(
                    "{path}.resources.{kind}[{name}]: fractional byte value {text} is invalid, must be an integer"
                ));
            }
        }
    }
}

fn hidden_variables(container: &Value, path: &str, all: &mut Vec<String>) {
    let mut names = HashSet::new();
    for (index, variable) in list(container, "env").iter().enumerate() {
        let name = variable["name"].as_str().unwrap_or_default();
        if !names.insert(name) {
            let name = go_quote(name);
            all.push(format!(
                "{path}.env[{index}]: hides previous definition of {name}, which may be dropped when using apply"
            ));
        }
    }
}

fn repeated_ports(container: &Value, path: &str, all: &mut Vec<String>) {
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for (index, port) in list(container, "ports").iter().enumerate() {
        let key =
            format!("{}/{}/{}/{}", port["containerPort"], port["protocol"], port["hostPort"], port["hostIP"]);
        match places.get(&key) {
            Some(first) => all
                .push(format!("{path}.ports[{index}]: duplicate port definition with {path}.ports[{first}]")),
            None => drop(places.insert(key, index)),
        }
    }
}
