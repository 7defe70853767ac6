//! Nodes, namespaces, classes.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Cells, Printer, age_of, list, name, or, or_none, text};

pub(super) fn printer(key: (&str, &str)) -> Option<Printer> {
    let (headings, cells): (&[&str], Cells) = match key {
        ("", "Namespace") => (&["Name", "Status", "Age"], |o, now| {
            vec![name(o), or(&o["status"]["phase"], ""), age_of(o, now)]
        }),
        ("", "Node") => (
            &[
                "Name",
                "Status",
                "Roles",
                "Age",
                "Version",
                "Internal-IP*",
                "External-IP*",
                "OS-Image*",
                "Kernel-Version*",
                "Container-Runtime*",
            ],
            node,
        ),
        ("storage.k8s.io", "StorageClass") => (
            &["Name", "Provisioner", "ReclaimPolicy", "VolumeBindingMode", "AllowVolumeExpansion", "Age"],
            |o, now| {
                let default =
                    o["metadata"]["annotations"]["storageclass.kubernetes.io/is-default-class"] == "true";
                let shown = if default { json!(format!("{} (default)", text(&name(o)))) } else { name(o) };
                vec![
                    shown,
                    o["provisioner"].clone(),
                    or(&o["reclaimPolicy"], "Delete"),
                    or(&o["volumeBindingMode"], "Immediate"),
                    json!(o["allowVolumeExpansion"] == true),
                    age_of(o, now),
                ]
            },
        ),
        ("scheduling.k8s.io", "PriorityClass") => {
            (&["Name", "Value:integer", "Global-Default:boolean", "Age", "PreemptionPolicy"], |o, now| {
                vec![
                    name(o),
                    o["value"].clone(),
                    json!(o["globalDefault"] == true),
                    age_of(o, now),
                    or(&o["preemptionPolicy"], "PreemptLowerPriority"),
                ]
            })
        }
        _ => return None,
    };
    Some(Printer { headings, cells })
}

fn node(o: &Value, now: Timestamp) -> Vec<Value> {
    let ready = list(&o["status"]["conditions"]).iter().find(|c| c["type"] == "Ready");
    let mut status = match ready {
        Some(c) if c["status"] == "True" => "Ready".to_string(),
        Some(_) => "NotReady".to_string(),
        None => "Unknown".to_string(),
    };
    if o["spec"]["unschedulable"] == true {
        status.push_str(",SchedulingDisabled");
    }
    let mut roles: Vec<&str> = o["metadata"]["labels"]
        .as_object()
        .into_iter()
        .flatten()
        .filter_map(|(key, value)| match key.strip_prefix("node-role.kubernetes.io/") {
            Some(role) if !role.is_empty() => Some(role),
            _ if key == "kubernetes.io/role" => Some(text(value)),
            _ => None,
        })
        .collect();
    roles.sort_unstable();
    let address = |kind: &str| {
        let found = list(&o["status"]["addresses"]).iter().find(|a| a["type"] == kind);
        or(found.map_or(&Value::Null, |a| &a["address"]), "<none>")
    };
    let info = &o["status"]["nodeInfo"];
    vec![
        name(o),
        json!(status),
        or_none(roles.join(",")),
        age_of(o, now),
        or(&info["kubeletVersion"], ""),
        address("InternalIP"),
        address("ExternalIP"),
        or(&info["osImage"], "<unknown>"),
        or(&info["kernelVersion"], "<unknown>"),
        or(&info["containerRuntimeVersion"], "<unknown>"),
    ]
}
