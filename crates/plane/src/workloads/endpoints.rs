//! Endpoints and EndpointSlices: where the Pods behind a Service are.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    EndpointAddress, EndpointPort, EndpointSubset, Endpoints, Pod, Service, ServicePort,
};
use k8s_openapi::api::discovery::v1::{self as discovery, Endpoint, EndpointConditions, EndpointSlice};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::plan::{Plan, owner, reference};
use super::{node, pods};

/// The label of Endpoints made here.
pub(super) const MANAGED_BY: &str = "endpoints.kubernetes.io/managed-by";
const SLICE_OWNER: &str = "endpointslice.kubernetes.io/managed-by";
const MAX_ENDPOINTS: usize = 100;

/// One port of a Service as one Pod serves it.
type Port = (Option<String>, Option<String>, Option<i32>, Option<String>);

/// A Pod that can be reached, and whether it should be.
struct Backend<'a> {
    pod: &'a Pod,
    ip: String,
    ready: bool,
    ports: Vec<Port>,
}

/// What to do so that Endpoints and slices tell what the Pods are.
pub(super) fn plan(
    service: &Service,
    all: &[Pod],
    endpoints: Option<&Endpoints>,
    slices: &[EndpointSlice],
) -> Plan {
    let mut plan = Plan::default();
    let spec = service.spec.clone().unwrap_or_default();
    let Some(selector) = spec.selector.as_ref().filter(|selector| !selector.is_empty()) else { return plan };
    if service.metadata.deletion_timestamp.is_some() || spec.type_.as_deref() == Some("ExternalName") {
        return plan;
    }
    let publish = spec.publish_not_ready_addresses == Some(true);
    let mut backends: Vec<Backend<'_>> = all
        .iter()
        .filter(|pod| selects(selector, pod))
        .filter_map(|pod| backend(pod, &spec.ports, publish))
        .collect();
    backends.sort_by(|a, b| a.pod.metadata.name.cmp(&b.pod.metadata.name));
    let headless = spec.cluster_ip.as_deref() == Some("None");
    sync_endpoints(&mut plan, service, &backends, headless, endpoints);
    sync_slices(&mut plan, service, &backends, headless, slices);
    plan
}

/// Whether a Service's selector selects a Pod.
fn selects(selector: &BTreeMap<String, String>, pod: &Pod) -> bool {
    let labels = pod.metadata.labels.as_ref();
    selector.iter().all(|(key, value)| labels.and_then(|labels| labels.get(key)) == Some(value))
}

fn backend<'a>(pod: &'a Pod, ports: &Option<Vec<ServicePort>>, publish: bool) -> Option<Backend<'a>> {
    let ip = pod.status.as_ref()?.pod_ip.clone().filter(|ip| !ip.is_empty())?;
    if pods::is_finished(pod) {
        return None;
    }
    let ready = publish || pods::is_ready(pod) && !pods::is_terminating(pod);
    let resolved = ports.iter().flatten().filter_map(|port| {
        let number = match port.target_port.clone().unwrap_or(IntOrString::Int(port.port)) {
            IntOrString::Int(0) => port.port,
            IntOrString::Int(number) => number,
            IntOrString::String(name) => named_port(pod, &name)?,
        };
        Some((
            port.name.clone(),
            port.protocol.clone().or(Some("TCP".into())),
            Some(number),
            port.app_protocol.clone(),
        ))
    });
    Some(Backend { pod, ip, ready, ports: resolved.collect() })
}

fn named_port(pod: &Pod, name: &str) -> Option<i32> {
    let containers = pod.spec.as_ref()?.containers.iter();
    containers
        .flat_map(|c| c.ports.iter().flatten())
        .find(|port| port.name.as_deref() == Some(name))
        .map(|port| port.container_port)
}

fn by_ports<'a, 'b>(backends: &'b [Backend<'a>]) -> BTreeMap<&'b Vec<Port>, Vec<&'b Backend<'a>>> {
    let mut groups: BTreeMap<&Vec<Port>, Vec<&Backend<'_>>> = BTreeMap::new();
    for backend in backends {
        groups.entry(&backend.ports).or_default().push(backend);
    }
    groups
}

fn labels(service: &Service, headless: bool, own: &[(&str, &str)]) -> BTreeMap<String, String> {
    let mut labels = service.metadata.labels.clone().unwrap_or_default();
    if headless {
        labels.insert("service.kubernetes.io/headless".into(), String::new());
    }
    labels.extend(own.iter().map(|(key, value)| (key.to_string(), value.to_string())));
    labels
}

fn sync_endpoints(
    plan: &mut Plan,
    service: &Service,
    backends: &[Backend<'_>],
    headless: bool,
    known: Option<&Endpoints>,
) {
    let address = |backend: &&Backend<'_>| EndpointAddress {
        ip: backend.ip.clone(),
        hostname: None,
        node_name: Some(node::NAME.into()),
        target_ref: Some(target(backend.pod)),
    };
    let subsets: Vec<EndpointSubset> = by_ports(backends)
        .into_iter()
        .map(|(ports, group)| {
            let (ready, waiting): (Vec<_>, Vec<_>) = group.into_iter().partition(|backend| backend.ready);
            let some = |all: Vec<&Backend<'_>>| (!all.is_empty()).then(|| all.iter().map(address).collect());
            let port = |(name, protocol, port, app): &Port| EndpointPort {
                name: name.clone(),
                protocol: protocol.clone(),
                port: port.unwrap_or(0),
                app_protocol: app.clone(),
            };
            EndpointSubset {
                addresses: some(ready),
                not_ready_addresses: some(waiting),
                ports: (!ports.is_empty()).then(|| ports.iter().map(port).collect()),
            }
        })
        .collect();
    let subsets = (!subsets.is_empty()).then_some(subsets);
    let labels = labels(service, headless, &[(MANAGED_BY, "endpoint-controller")]);
    match known {
        Some(known) if known.subsets == subsets && known.metadata.labels.as_ref() == Some(&labels) => {}
        Some(known) => {
            let metadata = ObjectMeta { labels: Some(labels), ..known.metadata.clone() };
            plan.update(&Endpoints { metadata, subsets });
        }
        None => {
            let metadata = ObjectMeta {
                name: service.metadata.name.clone(),
                namespace: service.metadata.namespace.clone(),
                labels: Some(labels),
                ..ObjectMeta::default()
            };
            plan.create(&Endpoints { metadata, subsets });
        }
    }
}

fn target(pod: &Pod) -> k8s_openapi::api::core::v1::ObjectReference {
    k8s_openapi::api::core::v1::ObjectReference { api_version: None, ..reference(pod) }
}

fn sync_slices(
    plan: &mut Plan,
    service: &Service,
    backends: &[Backend<'_>],
    headless: bool,
    known: &[EndpointSlice],
) {
    let name = service.metadata.name.as_deref().unwrap_or_default();
    let own = [("kubernetes.io/service-name", name), (SLICE_OWNER, "endpointslice-controller.k8s.io")];
    let labels = labels(service, headless, &own);
    let mut wanted: Vec<(Vec<Endpoint>, Option<Vec<discovery::EndpointPort>>)> = vec![];
    for (ports, group) in by_ports(backends) {
        for part in group.chunks(MAX_ENDPOINTS) {
            wanted.push((part.iter().map(|backend| endpoint(backend)).collect(), slice_ports(ports)));
        }
    }
    if wanted.is_empty() {
        wanted.push((vec![], None));
    }
    let mut left: Vec<&EndpointSlice> =
        known.iter().filter(|slice| slice.metadata.deletion_timestamp.is_none()).collect();
    for (endpoints, ports) in wanted {
        let same = left.iter().position(|slice| {
            slice.endpoints.as_deref().unwrap_or_default() == endpoints
                && slice.ports == ports
                && slice.metadata.labels.as_ref() == Some(&labels)
        });
        if let Some(place) = same {
            left.remove(place);
        } else if let Some(place) = left
            .iter()
            .position(|slice| slice.ports == ports || slice.endpoints.as_ref().is_none_or(Vec::is_empty))
        {
            let slice = left.remove(place);
            let metadata = ObjectMeta { labels: Some(labels.clone()), ..slice.metadata.clone() };
            plan.update(&EndpointSlice {
                metadata,
                endpoints: Some(endpoints),
                ports,
                address_type: slice.address_type.clone(),
            });
        } else {
            let metadata = ObjectMeta {
                generate_name: Some(format!("{name}-")),
                namespace: service.metadata.namespace.clone(),
                labels: Some(labels.clone()),
                owner_references: Some(vec![owner(service)]),
                ..ObjectMeta::default()
            };
            plan.create(&EndpointSlice {
                metadata,
                endpoints: Some(endpoints),
                ports,
                address_type: "IPv4".into(),
            });
        }
    }
    left.into_iter().for_each(|slice| plan.delete(slice));
}

fn endpoint(backend: &Backend<'_>) -> Endpoint {
    let terminating = pods::is_terminating(backend.pod);
    Endpoint {
        addresses: vec![backend.ip.clone()],
        conditions: Some(EndpointConditions {
            ready: Some(backend.ready),
            serving: Some(backend.ready || pods::is_ready(backend.pod)),
            terminating: Some(terminating),
        }),
        node_name: Some(node::NAME.into()),
        target_ref: Some(target(backend.pod)),
        ..Endpoint::default()
    }
}

fn slice_ports(ports: &[Port]) -> Option<Vec<discovery::EndpointPort>> {
    let port = |(name, protocol, port, app): &Port| discovery::EndpointPort {
        name: Some(name.clone().unwrap_or_default()),
        protocol: protocol.clone(),
        port: *port,
        app_protocol: app.clone(),
    };
    let mut ports: Vec<_> = ports.iter().map(port).collect();
    ports.sort_by(|a, b| a.name.cmp(&b.name));
    (!ports.is_empty()).then_some(ports)
}
