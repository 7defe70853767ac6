//! How the server is reached inside the cluster, and what it may reach.

use k8s_openapi::{
    api::{
        core::v1::{Service, ServicePort, ServiceSpec},
        networking::v1::{
            NetworkPolicy, NetworkPolicyEgressRule, NetworkPolicyIngressRule, NetworkPolicyPeer,
            NetworkPolicyPort, NetworkPolicySpec,
        },
    },
    apimachinery::pkg::{apis::meta::v1::LabelSelector, util::intstr::IntOrString},
};
use quintet_kit::{Child, WritePolicy};

use super::{ours, plan::Plan};
use crate::mlflow::names::{PORT, TLS_SECRET};

/// OpenShift makes a certificate for a Service that carries this annotation.
const SERVING_CERTIFICATE: &str = "service.beta.openshift.io/serving-cert-secret-name";

/// The Service. Ports are told apart by number: where somebody changed ours, applying it again would leave two ports of
/// one name, which the API server refuses. The list is then written whole.
pub(super) fn service(plan: &Plan<'_>) -> Child {
    let child = ours(service_object(plan));
    if plan.inputs.stray_service_port {
        child.policy(WritePolicy::Exclusive(vec!["spec.ports".into()]))
    } else {
        child
    }
}

fn service_object(plan: &Plan<'_>) -> Service {
    let mut metadata = plan.meta(plan.names.server());
    metadata.annotations = Some([(SERVING_CERTIFICATE.into(), TLS_SECRET.into())].into());
    Service {
        metadata,
        spec: Some(ServiceSpec {
            type_: Some("ClusterIP".into()),
            selector: Some(plan.names.selector()),
            ports: Some(vec![ServicePort {
                name: Some("https".into()),
                protocol: Some("TCP".into()),
                port: PORT,
                target_port: Some(IntOrString::String("https".into())),
                ..ServicePort::default()
            }]),
            ..ServiceSpec::default()
        }),
        status: None,
    }
}

/// Any pod of the cluster may call the server. The server may call DNS, HTTPS and the Kubernetes API, PostgreSQL, MySQL,
/// S3 stores, and what the resource adds.
pub(super) fn policy(plan: &Plan<'_>) -> NetworkPolicy {
    let everyone = vec![
        NetworkPolicyPeer { pod_selector: Some(LabelSelector::default()), ..NetworkPolicyPeer::default() },
        NetworkPolicyPeer {
            namespace_selector: Some(LabelSelector::default()),
            ..NetworkPolicyPeer::default()
        },
    ];
    let added = plan.mlflow.spec.network_policy_additional_egress_rules.iter().flatten().cloned();
    let fixed: [&[(&str, i32)]; 5] = [
        &[("UDP", 53), ("TCP", 53), ("UDP", 5353), ("TCP", 5353)],
        &[("TCP", 443), ("TCP", 6443)],
        &[("TCP", 5432)],
        &[("TCP", 3306)],
        &[("TCP", 9000), ("TCP", 8333), ("TCP", 8334)],
    ];
    let fixed = fixed.map(|ports| NetworkPolicyEgressRule { ports: Some(policy_ports(ports)), to: None });
    NetworkPolicy {
        metadata: plan.meta(plan.names.server()),
        spec: Some(NetworkPolicySpec {
            pod_selector: Some(LabelSelector {
                match_labels: Some(plan.names.selector()),
                match_expressions: None,
            }),
            policy_types: Some(vec!["Ingress".into(), "Egress".into()]),
            ingress: Some(vec![NetworkPolicyIngressRule {
                ports: Some(policy_ports(&[("TCP", PORT)])),
                from: Some(everyone),
            }]),
            egress: Some(fixed.into_iter().chain(added).collect()),
        }),
    }
}

fn policy_ports(ports: &[(&str, i32)]) -> Vec<NetworkPolicyPort> {
    let port = |(protocol, port): &(&str, i32)| NetworkPolicyPort {
        protocol: Some((*protocol).into()),
        port: Some(IntOrString::Int(*port)),
        end_port: None,
    };
    ports.iter().map(port).collect()
}
