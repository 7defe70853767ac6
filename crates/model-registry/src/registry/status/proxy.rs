//! Whether the proxy lets callers through.

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use quintet_api::{foreign::openshift::Route, model_registry::Proxy};

use super::Verdict;
use crate::{
    parts::proxy::NAME,
    registry::{names::Names, read::Observed},
};

const UNAVAILABLE: &str = "ResourcesUnavailable";

pub(super) fn verdict(names: &Names, asked: &Proxy, observed: &Observed) -> Verdict {
    let server = names.pods();
    let is_server = |pod: &&Pod| server.iter().all(|(label, value)| pod.labels().get(label) == Some(value));
    let pods: Vec<&Pod> = observed.pods.iter().map(AsRef::as_ref).filter(is_server).collect();
    if pods.is_empty() {
        return Verdict::no(UNAVAILABLE, format!("No Pods found for Deployment {}", names.server()));
    }
    if let Some(pod) = pods.iter().find(|pod| !has_proxy(pod)) {
        let message = format!("kube-rbac-proxy proxy unavailable in Pod {}", pod.name_any());
        return Verdict::no(UNAVAILABLE, message);
    }
    if observed.apis.route
        && asked.service_route.is_enabled()
        && let Err(why) = admitted(asked, observed.route.as_deref())
    {
        let message = format!("KubeRBACProxy Route {} is unavailable: {why}", names.https_route());
        return Verdict::no(UNAVAILABLE, message);
    }
    Verdict::yes("ResourcesAvailable", "kube-rbac-proxy was successfully created")
}

/// By name: a mesh may have added containers of its own.
fn has_proxy(pod: &Pod) -> bool {
    pod.spec.as_ref().is_some_and(|spec| spec.containers.iter().any(|container| container.name == NAME))
}

/// What the routers say of the Route; the last one counts. An error without a text means that none has said anything.
fn admitted(asked: &Proxy, route: Option<&Route>) -> Result<(), String> {
    if asked.domain.as_ref().is_none_or(String::is_empty) {
        return Err(
            "the domain is not known: set spec.kubeRBACProxy.domain, or DEFAULT_DOMAIN of the operator"
                .into(),
        );
    }
    let Some(route) = route else { return Err(String::new()) };
    let entries = route.status.iter().flat_map(|status| &status.ingress);
    let mut said = entries.filter_map(|entry| {
        entry
            .conditions
            .iter()
            .find(|condition| condition.type_ == "Admitted")
            .map(|condition| (entry, condition))
    });
    let Some((entry, condition)) = said.next_back() else { return Err(String::new()) };
    if condition.status == "True" {
        return Ok(());
    }
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    Err(format!(
        "Host {} in Route {} is unavailable: {{reason: {}, message: {}}}",
        text(&entry.host),
        route.name_any(),
        text(&condition.reason),
        text(&condition.message)
    ))
}
