//! How the catalog is reached.

use k8s_openapi::api::{core::v1::ServicePort, networking::v1::NetworkPolicy};
use quintet_api::foreign::openshift::Route;
use quintet_kit::Child;

use super::{Plan, mended};
use crate::{
    catalog::names::{NAME, PROXY_CERTIFICATE, ROUTE, ROUTE_POLICY, family, pods},
    parts::{
        ingress,
        server::{EXTERNAL_ADDRESS, SERVING_CERTIFICATE},
    },
};

/// The proxy's port.
pub(super) const PORT: i32 = 8443;

/// The Service. Where the domain is not known there is no address outside the cluster to tell of.
pub(super) fn service(plan: &Plan<'_>) -> Option<Child> {
    let port = ServicePort {
        name: Some("https-api".into()),
        port: PORT,
        app_protocol: Some("https".into()),
        ..ServicePort::default()
    };
    let mut metadata = plan.of_server(family().labels(NAME), NAME)?;
    let certificate = (SERVING_CERTIFICATE.to_owned(), PROXY_CERTIFICATE.to_owned());
    let address = host(plan).map(|host| (EXTERNAL_ADDRESS.to_owned(), format!("{host}:443")));
    metadata.annotations = Some([certificate].into_iter().chain(address).collect());
    let service = ingress::service(metadata, None, port, pods());
    Some(mended(service, plan.inputs.mend, "spec.ports"))
}

fn host(plan: &Plan<'_>) -> Option<String> {
    plan.inputs.domain.as_ref().map(|domain| format!("{}.{domain}", NAME))
}

pub(super) fn route(plan: &Plan<'_>) -> Option<Route> {
    let host = host(plan).filter(|_| plan.inputs.apis.route)?;
    Some(ingress::https_route(plan.of_server(family().labels(ROUTE), ROUTE)?, NAME, host))
}

pub(super) fn policy(plan: &Plan<'_>) -> Option<NetworkPolicy> {
    let metadata = plan.of_server(family().labels(ROUTE_POLICY), ROUTE_POLICY)?;
    plan.inputs.apis.route.then(|| ingress::from_routers(metadata, pods(), PORT))
}
