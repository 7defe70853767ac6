//! Cluster IPs and node ports of Services, given out by the server itself.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::hooks::{AdmissionRequest, Operation};
use crate::status::{Error, FieldError, Result};
use crate::store::{Listing, Store, TableId};

/// `10.96.0.0/16`, without the network's own and the broadcast address.
const RANGE: &str = "10.96.0.0/16";
const PREFIX: [u8; 2] = [10, 96];
const NODE_PORTS: std::ops::RangeInclusive<i64> = 30000..=32767;

/// Completes a Service with what it was not given; what it had it keeps.
pub(crate) fn complete(store: &Store, request: &mut AdmissionRequest) -> Result<()> {
    let is_service = request.names.group.is_empty() && &*request.names.plural == "services";
    let writes = matches!(request.operation, Operation::Create | Operation::Update);
    if !is_service || !writes || !request.subresource.is_empty() {
        return Ok(());
    }
    let kind = request.object.pointer("/spec/type").and_then(Value::as_str).unwrap_or("ClusterIP").to_owned();
    let old = request.old_object["spec"].clone();
    let spec = &mut request.object["spec"];
    if kind == "ExternalName" || !spec.is_object() {
        return Ok(());
    }
    let taken = Taken::of(store);
    let asked = spec["clusterIP"].as_str().unwrap_or_default().to_owned();
    if asked.is_empty() {
        let kept = old["clusterIP"].as_str().filter(|ip| !ip.is_empty()).map(str::to_owned);
        let ip = kept.unwrap_or_else(|| taken.free_ip(request.dry_run));
        spec["clusterIP"] = json!(ip);
        spec["clusterIPs"] = json!([ip]);
    } else if asked != "None" && old["clusterIP"] != json!(asked) {
        taken.check(&asked).map_err(|why| {
            let value = json!([asked]);
            let error = FieldError::invalid(
                "spec.clusterIPs",
                value,
                format!("failed to allocate IP {asked}: {why}"),
            );
            Error::invalid(&request.names, &request.name, &[error])
        })?;
    }
    if spec["clusterIPs"].as_array().is_none_or(Vec::is_empty) {
        spec["clusterIPs"] = json!([spec["clusterIP"]]);
    }
    if spec["ipFamilies"].is_null() {
        spec["ipFamilies"] = json!(["IPv4"]);
    }
    if spec["ipFamilyPolicy"].is_null() {
        spec["ipFamilyPolicy"] = json!("SingleStack");
    }
    if matches!(kind.as_str(), "NodePort" | "LoadBalancer")
        && spec["allocateLoadBalancerNodePorts"] != json!(false)
    {
        let mut used = taken.ports;
        for (place, port) in spec["ports"].as_array_mut().into_iter().flatten().enumerate() {
            if port["nodePort"].as_i64().unwrap_or(0) == 0 {
                let kept = old["ports"][place]["nodePort"].as_i64();
                let free = NODE_PORTS.filter(|number| !used.contains(number)).nth(rand::random_range(0..100));
                let Some(number) = kept.or(free) else { continue };
                used.insert(number);
                port["nodePort"] = json!(number);
            }
        }
    }
    Ok(())
}

/// What other Services have.
struct Taken {
    ips: HashSet<String>,
    ports: HashSet<i64>,
}

impl Taken {
    fn of(store: &Store) -> Self {
        let table = TableId::new("", "services");
        let all =
            Listing { table: &table, namespace: "", revision: None, start: "", limit: 0, matches: &|_| true };
        let services = store.list(all).map(|page| page.objects).unwrap_or_default();
        let mut taken = Self { ips: HashSet::new(), ports: HashSet::new() };
        for spec in services.iter().map(|service| service.to_value()["spec"].clone()) {
            taken.ips.extend(spec["clusterIP"].as_str().map(str::to_owned));
            taken.ports.extend(
                spec["ports"].as_array().into_iter().flatten().filter_map(|port| port["nodePort"].as_i64()),
            );
        }
        taken
    }

    fn free_ip(&self, dry_run: bool) -> String {
        if dry_run {
            return "10.0.0.0".into();
        }
        loop {
            let number: u16 = rand::random_range(2..u16::MAX);
            let [high, low] = number.to_be_bytes();
            let ip = format!("{}.{}.{high}.{low}", PREFIX[0], PREFIX[1]);
            if !self.ips.contains(&ip) {
                return ip;
            }
        }
    }

    fn check(&self, ip: &str) -> std::result::Result<(), String> {
        let Ok(address) = ip.parse::<std::net::Ipv4Addr>() else { return Ok(()) };
        if address.octets()[..2] != PREFIX {
            return Err(format!(
                "the provided IP ({ip}) is not in the valid range. The range of valid IPs is {RANGE}"
            ));
        }
        if self.ips.contains(ip) { Err("provided IP is already allocated".into()) } else { Ok(()) }
    }
}
