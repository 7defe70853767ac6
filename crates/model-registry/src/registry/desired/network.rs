//! How the server is reached.

use std::collections::BTreeMap;

use k8s_openapi::api::{core::v1::ServicePort, networking::v1::NetworkPolicy};
use kube::ResourceExt;
use quintet_api::{foreign::openshift::Route, model_registry::Proxy};
use quintet_kit::Child;

use super::{Plan, mended};
use crate::parts::{
    ingress,
    server::{DESCRIPTION, DISPLAY_NAME, EXTERNAL_ADDRESS, SERVING_CERTIFICATE},
};

/// The Service, with the port of the proxy if there is one, else the server's own.
pub(super) fn service(plan: &Plan<'_>) -> Child {
    let port = |name: &str, protocol: &str, port: i32| ServicePort {
        name: Some(name.into()),
        port,
        app_protocol: Some(protocol.into()),
        ..ServicePort::default()
    };
    let port = match &plan.spec.kube_rbac_proxy {
        Some(proxy) => port("https-api", "https", proxy.port),
        None => port("http-api", "http", plan.spec.rest.port),
    };
    let mut metadata = plan.meta(plan.names.server());
    metadata.annotations = Some(annotations(plan)).filter(|annotations| !annotations.is_empty());
    let service = ingress::service(metadata, Some("ClusterIP"), port, plan.names.pods());
    mended(service, plan.inputs.mend, "spec.ports")
}

fn annotations(plan: &Plan<'_>) -> BTreeMap<String, String> {
    let copied = [DISPLAY_NAME, DESCRIPTION].into_iter().filter_map(|name| {
        plan.registry.annotations().get(name).map(|value| (name.to_owned(), value.clone()))
    });
    let mut annotations: BTreeMap<String, String> = copied.collect();
    let Some(proxy) = &plan.spec.kube_rbac_proxy else { return annotations };
    // Who brings a certificate needs none made.
    let asked = plan.registry.spec.kube_rbac_proxy.as_ref();
    if asked.is_none_or(|asked| asked.tls_certificate_secret.is_none()) {
        annotations.insert(SERVING_CERTIFICATE.into(), plan.names.proxy_certificate());
    }
    if let Some(host) = external_host(plan, proxy) {
        annotations.insert(EXTERNAL_ADDRESS.into(), format!("{host}:{}", proxy.route_port));
    }
    annotations
}

/// The name outside the cluster, if there is to be one and the domain is known.
fn external_host(plan: &Plan<'_>, proxy: &Proxy) -> Option<String> {
    let domain =
        proxy.domain.as_ref().filter(|domain| proxy.service_route.is_enabled() && !domain.is_empty());
    domain.map(|domain| plan.names.external_host(domain))
}

pub(super) fn http_route(plan: &Plan<'_>) -> Option<Route> {
    let wanted = plan.inputs.apis.route && plan.spec.rest.service_route.is_enabled();
    wanted.then(|| ingress::http_route(plan.meta(plan.names.http_route()), plan.names.server()))
}

pub(super) fn https_route(plan: &Plan<'_>) -> Option<Route> {
    let proxy = plan.spec.kube_rbac_proxy.as_ref().filter(|_| plan.inputs.apis.route)?;
    let host = external_host(plan, proxy)?;
    Some(ingress::https_route(plan.meta(plan.names.https_route()), plan.names.server(), host))
}

pub(super) fn https_policy(plan: &Plan<'_>) -> Option<NetworkPolicy> {
    let proxy = plan.spec.kube_rbac_proxy.as_ref()?;
    let wanted = plan.inputs.apis.route && proxy.service_route.is_enabled();
    let metadata = || plan.meta(plan.names.https_policy());
    wanted.then(|| ingress::from_routers(metadata(), plan.names.pods(), proxy.port))
}
