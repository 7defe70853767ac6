//! The one node that all Pods run on.

use k8s_openapi::api::core::v1::PodSpec;
use serde_json::json;

use super::SIMULATED;
use super::pod::HOST;
use crate::Plane;
use crate::clock;
use crate::internal::Internal;

/// Its name.
pub(super) const NAME: &str = "local";

/// Makes it, if it is not there.
pub(super) async fn create(plane: &Plane) {
    let now = clock::seconds(plane.clock().now());
    let condition = |kind: &str, status: &str, reason: &str| json!({ "type": kind, "status": status, "reason": reason, "lastHeartbeatTime": now, "lastTransitionTime": now });
    let capacity = json!({ "cpu": "64", "memory": "256Gi", "pods": "1000", "ephemeral-storage": "1Ti", "nvidia.com/gpu": "8" });
    let node = json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": NAME,
            "labels": { "kubernetes.io/hostname": NAME, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64" },
            "annotations": { SIMULATED: "true" },
        },
        "spec": {},
        "status": {
            "capacity": capacity,
            "allocatable": capacity,
            "addresses": [{ "type": "InternalIP", "address": HOST }, { "type": "Hostname", "address": NAME }],
            "conditions": [
                condition("MemoryPressure", "False", "KubeletHasSufficientMemory"),
                condition("DiskPressure", "False", "KubeletHasNoDiskPressure"),
                condition("PIDPressure", "False", "KubeletHasSufficientPID"),
                condition("Ready", "True", "KubeletReady"),
            ],
            "nodeInfo": {
                "kubeletVersion": "v1.36.4", "containerRuntimeVersion": "simulated://1", "operatingSystem": "linux",
                "architecture": "amd64", "osImage": "simulated", "kernelVersion": "", "machineID": "", "systemUUID": "",
                "bootID": "", "kubeProxyVersion": "",
            },
        },
    });
    match Internal::new(plane, "kubelet").create(node).await {
        Err(error) if error.code != 409 => tracing::warn!(%error, "the node could not be created"),
        _ => {}
    }
}

/// Whether a Pod asks for another node than this one. Only plain selectors are judged; affinity is taken as met.
pub(super) fn refuses(spec: &PodSpec) -> bool {
    let label = |key: &str| match key {
        "kubernetes.io/hostname" => Some(NAME),
        "kubernetes.io/os" => Some("linux"),
        "kubernetes.io/arch" => Some("amd64"),
        _ => None,
    };
    spec.node_selector.iter().flatten().any(|(key, value)| label(key) != Some(value))
}
