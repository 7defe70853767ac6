//! How a server is reached: Services inside the cluster, Routes from outside, and who may connect.

use std::collections::BTreeMap;

use k8s_openapi::{
    api::{
        core::v1::{Service, ServicePort, ServiceSpec},
        networking::v1::{
            NetworkPolicy, NetworkPolicyIngressRule, NetworkPolicyPeer, NetworkPolicyPort, NetworkPolicySpec,
        },
    },
    apimachinery::pkg::{apis::meta::v1::ObjectMeta, util::intstr::IntOrString},
};
use quintet_api::foreign::openshift::{Route, RoutePort, RouteSpec, RouteTarget, RouteTls};
use quintet_kit::parts::meta;

use super::server::matching;

/// A Service with one port.
pub(crate) fn service(
    metadata: ObjectMeta,
    type_: Option<&str>,
    port: ServicePort,
    selector: BTreeMap<String, String>,
) -> Service {
    Service {
        metadata,
        spec: Some(ServiceSpec {
            type_: type_.map(Into::into),
            ports: Some(vec![ServicePort { protocol: Some("TCP".into()), ..port }]),
            selector: Some(selector),
            ..ServiceSpec::default()
        }),
        status: None,
    }
}

/// A plain Route; the cluster makes up its host.
pub(crate) fn http_route(metadata: ObjectMeta, service: &str) -> Route {
    Route {
        metadata,
        spec: RouteSpec {
            to: RouteTarget { kind: "Service".into(), name: service.into() },
            port: Some(RoutePort { target_port: IntOrString::String("http-api".into()) }),
            ..RouteSpec::default()
        },
        status: None,
    }
}

/// A Route to a proxy, encrypted on both sides of the router.
pub(crate) fn https_route(metadata: ObjectMeta, service: &str, host: String) -> Route {
    Route {
        metadata,
        spec: RouteSpec {
            host: Some(host),
            to: RouteTarget { kind: "Service".into(), name: service.into() },
            port: Some(RoutePort { target_port: IntOrString::String("https-api".into()) }),
            tls: Some(RouteTls { termination: "reencrypt".into() }),
            wildcard_policy: Some("None".into()),
        },
        status: None,
    }
}

/// Lets the cluster's routers connect to a port of the selected pods.
pub(crate) fn from_routers(metadata: ObjectMeta, pods: BTreeMap<String, String>, port: i32) -> NetworkPolicy {
    let routers = meta::labels([("network.openshift.io/policy-group", "ingress")]);
    let peer =
        NetworkPolicyPeer { namespace_selector: Some(matching(routers)), ..NetworkPolicyPeer::default() };
    policy(metadata, pods, peer, port)
}

/// Lets some pods connect to a port of others.
pub(crate) fn from_pods(
    metadata: ObjectMeta,
    pods: BTreeMap<String, String>,
    clients: BTreeMap<String, String>,
    port: i32,
) -> NetworkPolicy {
    let peer = NetworkPolicyPeer { pod_selector: Some(matching(clients)), ..NetworkPolicyPeer::default() };
    policy(metadata, pods, peer, port)
}

fn policy(
    metadata: ObjectMeta,
    pods: BTreeMap<String, String>,
    peer: NetworkPolicyPeer,
    port: i32,
) -> NetworkPolicy {
    let port = NetworkPolicyPort {
        protocol: Some("TCP".into()),
        port: Some(IntOrString::Int(port)),
        ..NetworkPolicyPort::default()
    };
    NetworkPolicy {
        metadata,
        spec: Some(NetworkPolicySpec {
            pod_selector: Some(matching(pods)),
            policy_types: Some(vec!["Ingress".into()]),
            ingress: Some(vec![NetworkPolicyIngressRule { from: Some(vec![peer]), ports: Some(vec![port]) }]),
            egress: None,
        }),
    }
}
