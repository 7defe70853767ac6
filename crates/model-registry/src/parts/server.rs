//! What the pods of all servers have in common.

use k8s_openapi::{
    api::core::v1::{
        ContainerPort, HTTPGetAction, Probe, ResourceRequirements, SecretKeySelector, SecurityContext,
    },
    apimachinery::pkg::{
        apis::meta::v1::{LabelSelector, ObjectMeta},
        util::intstr::IntOrString,
    },
};
use quintet_api::model_registry::KeyRef;
use quintet_kit::parts::{resources, security};

use std::collections::BTreeMap;

/// OpenShift runs the pod under these constraints, whatever else its account may use.
const REQUIRED_SCC: (&str, &str) = ("openshift.io/required-scc", "restricted-v2");
/// OpenShift makes a certificate for a Service that carries this annotation.
pub(crate) const SERVING_CERTIFICATE: &str = "service.beta.openshift.io/serving-cert-secret-name";
/// Where the dashboard finds the server from outside the cluster.
pub(crate) const EXTERNAL_ADDRESS: &str = "routing.opendatahub.io/external-address-rest";
/// Shown by the console.
pub(crate) const DISPLAY_NAME: &str = "openshift.io/display-name";
/// Shown by the console.
pub(crate) const DESCRIPTION: &str = "openshift.io/description";

/// Compute resources of a server that asks for none.
pub(crate) fn default_resources() -> ResourceRequirements {
    resources::defaults(&[("cpu", "100m"), ("memory", "256Mi")], &[("memory", "256Mi")])
}

/// A container without privileges. Its root file system stays writable: the images need that.
pub(crate) fn container_security() -> SecurityContext {
    SecurityContext { read_only_root_filesystem: None, ..security::container() }
}

pub(crate) fn matching(labels: BTreeMap<String, String>) -> LabelSelector {
    LabelSelector { match_labels: Some(labels), match_expressions: None }
}

/// Metadata of a server's pods.
pub(crate) fn pod_metadata(labels: BTreeMap<String, String>) -> ObjectMeta {
    let (name, value) = REQUIRED_SCC;
    ObjectMeta {
        labels: Some(labels),
        annotations: Some([(name.into(), value.into())].into()),
        ..ObjectMeta::default()
    }
}

pub(crate) fn port(name: &str, number: i32) -> ContainerPort {
    ContainerPort { name: Some(name.into()), container_port: number, ..ContainerPort::default() }
}

/// A probe by HTTP on a named port.
pub(crate) fn http_probe(path: &str, port: &str, scheme: Option<&str>) -> Probe {
    Probe {
        http_get: Some(HTTPGetAction {
            path: Some(path.into()),
            port: IntOrString::String(port.into()),
            scheme: scheme.map(Into::into),
            ..HTTPGetAction::default()
        }),
        ..Probe::default()
    }
}

/// A probe with its times: delay, period, timeout, failures.
pub(crate) fn timed(probe: Probe, times: [i32; 4]) -> Probe {
    let [delay, period, timeout, failures] = times.map(Some);
    Probe {
        initial_delay_seconds: delay,
        period_seconds: period,
        timeout_seconds: timeout,
        failure_threshold: failures,
        ..probe
    }
}

pub(crate) fn secret_key(key: &KeyRef) -> SecretKeySelector {
    SecretKeySelector { name: key.name.clone(), key: key.key.clone(), optional: None }
}
