//! Cluster IPs and node ports of Services, given out by the server itself once admission is through.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use crate::hooks::{AdmissionRequest, Operation};
use crate::status::{Error, FieldError, Result};
use crate::store::{Store, TableId};

/// `10.96.0.0/16`, without the network's own and the broadcast address.
const PREFIX: [u8; 2] = [10, 96];
const NODE_PORTS: std::ops::RangeInclusive<i64> = 30000..=32767;
/// What a dry run shows in place of what it does not give out.
const NO_ADDRESS: &str = "10.0.0.0";

/// Completes a Service with what it was not given; what it had it keeps, and what its new type has no use for goes.
pub(crate) fn complete(store: &Store, request: &mut AdmissionRequest) -> Result<()> {
    let is_service = request.names.group.is_empty() && &*request.names.plural == "services";
    let writes = matches!(request.operation, Operation::Create | Operation::Update);
    if !is_service || !writes || !request.subresource.is_empty() {
        return Ok(());
    }
    let old = request.old_object["spec"].as_object().cloned().unwrap_or_default();
    let dry_run = request.dry_run;
    let Some(spec) = request.object["spec"].as_object_mut() else { return Ok(()) };
    release(spec, &old);
    keep(spec, &old);
    let (mut taken, taker) = (Taken::of(store), Taker { names: &request.names, name: &request.name });
    if has_address(spec) {
        if spec.get("clusterIP").is_none_or(|ip| ip.is_null() || ip == "") {
            let ip = if dry_run { NO_ADDRESS.into() } else { taken.free_ip() };
            spec.insert("clusterIP".into(), json!(ip));
        } else if !has_address(&old) && !dry_run {
            taken
                .check_ip(spec["clusterIP"].as_str().unwrap_or_default())
                .map_err(|why| taker.no_ip(spec, &why))?;
        }
        address_family(spec);
    }
    if has_node_ports(spec) {
        let own: Vec<i64> = ports(&old).filter_map(|port| port["nodePort"].as_i64()).collect();
        let allocates = spec.get("allocateLoadBalancerNodePorts") != Some(&json!(false));
        for (place, port) in
            spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten().enumerate()
        {
            match port["nodePort"].as_i64().unwrap_or(0) {
                0 if allocates => port["nodePort"] = json!(taken.free_port()),
                0 => {}
                asked if own.contains(&asked) || dry_run => {}
                asked => taken.check_port(asked).map_err(|why| {
                    taker.invalid(FieldError::invalid(format!("spec.ports[{place}].nodePort"), asked, why))
                })?,
            }
        }
    }
    if has_health_port(spec) {
        let own = old.get("healthCheckNodePort").and_then(Value::as_i64);
        match spec.get("healthCheckNodePort").and_then(Value::as_i64).unwrap_or(0) {
            0 => drop(spec.insert("healthCheckNodePort".into(), json!(taken.free_port()))),
            asked if own == Some(asked) || dry_run => {}
            asked => taken.check_port(asked).map_err(|why| {
                Error::internal(format!("failed to allocate requested HealthCheck NodePort {asked}: {why}"))
            })?,
        }
    }
    Ok(())
}

type Spec = Map<String, Value>;

fn text<'s>(spec: &'s Spec, field: &str) -> &'s str {
    spec.get(field).and_then(Value::as_str).unwrap_or_default()
}

fn ports(spec: &Spec) -> impl Iterator<Item = &Value> {
    spec.get("ports").and_then(Value::as_array).into_iter().flatten()
}

fn has_address(spec: &Spec) -> bool {
    matches!(text(spec, "type"), "ClusterIP" | "NodePort" | "LoadBalancer")
}

fn has_node_ports(spec: &Spec) -> bool {
    matches!(text(spec, "type"), "NodePort" | "LoadBalancer")
}

fn has_health_port(spec: &Spec) -> bool {
    text(spec, "type") == "LoadBalancer" && text(spec, "externalTrafficPolicy") == "Local"
}

/// What the old type needed and the new one does not goes, unless it was changed in the same breath.
fn release(spec: &mut Spec, old: &Spec) {
    let is_balancer = |spec: &Spec| text(spec, "type") == "LoadBalancer";
    let is_elsewhere = |spec: &Spec| text(spec, "type") == "ExternalName";
    let no_more = |needs: &dyn Fn(&Spec) -> bool| needs(old) && !needs(spec);
    let mut gone: Vec<&str> = vec![];
    if no_more(&has_address) {
        gone.extend(["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"]);
    }
    if no_more(&has_node_ports) {
        gone.push("externalTrafficPolicy");
    }
    if no_more(&has_health_port) {
        gone.push("healthCheckNodePort");
    }
    if no_more(&is_balancer) {
        gone.extend(["allocateLoadBalancerNodePorts", "loadBalancerClass"]);
    }
    if no_more(&is_elsewhere) {
        gone.push("externalName");
    }
    let ports_go = no_more(&has_node_ports);
    for field in gone {
        if spec.get(field) == old.get(field) {
            spec.remove(field);
        }
    }
    if ports_go {
        let had: Vec<Value> = ports(old).map(|port| port["nodePort"].clone()).collect();
        for port in spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
            if had.contains(&port["nodePort"])
                && let Some(port) = port.as_object_mut()
            {
                port.remove("nodePort");
            }
        }
    }
}

/// What was given out before and is not spoken of stays.
fn keep(spec: &mut Spec, old: &Spec) {
    let empty =
        |value: Option<&Value>| value.is_none_or(|v| v.is_null() || v == "" || v == 0 || v == &json!([]));
    if has_address(spec) && has_address(old) {
        for field in ["clusterIP", "clusterIPs"] {
            if let (true, Some(value)) = (empty(spec.get(field)), old.get(field)) {
                spec.insert(field.into(), value.clone());
            }
        }
    }
    if has_node_ports(spec) && has_node_ports(old) {
        let had: Vec<Value> = ports(old).cloned().collect();
        for port in spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
            let same = |old: &&Value| old["port"] == port["port"] && old["protocol"] == port["protocol"];
            if empty(port.get("nodePort"))
                && let Some(number) = had.iter().find(same).map(|old| old["nodePort"].clone())
                && !number.is_null()
            {
                port["nodePort"] = number;
            }
        }
    }
    if has_health_port(spec)
        && empty(spec.get("healthCheckNodePort"))
        && let Some(number) = old.get("healthCheckNodePort").filter(|_| has_health_port(old))
    {
        spec.insert("healthCheckNodePort".into(), number.clone());
    }
}

/// One family, as the plane has one range; a headless Service that selects nothing may hold any address.
fn address_family(spec: &mut Spec) {
    let selects = spec.get("selector").and_then(Value::as_object).is_some_and(|labels| !labels.is_empty());
    let open = text(spec, "clusterIP") == "None" && !selects;
    let (families, policy) =
        if open { (json!(["IPv4", "IPv6"]), "RequireDualStack") } else { (json!(["IPv4"]), "SingleStack") };
    let address = spec["clusterIP"].clone();
    for (field, value) in
        [("clusterIPs", json!([address])), ("ipFamilies", families), ("ipFamilyPolicy", json!(policy))]
    {
        if spec.get(field).is_none_or(|v| v.is_null() || v == &json!([])) {
            spec.insert(field.into(), value);
        }
    }
}

/// Who asks, for the refusal.
struct Taker<'a> {
    names: &'a crate::resource::Names,
    name: &'a str,
}

impl Taker<'_> {
    fn invalid(&self, error: FieldError) -> Error {
        Error::invalid(self.names, self.name, &[error])
    }

    fn no_ip(&self, spec: &Spec, why: &str) -> Error {
        let ip = text(spec, "clusterIP");
        let text = format!("failed to allocate IP {ip}: {why}");
        self.invalid(FieldError::invalid("spec.clusterIPs", json!([ip]), text))
    }
}

/// What other Services have.
struct Taken {
    ips: HashSet<String>,
    ports: HashSet<i64>,
}

impl Taken {
    fn of(store: &Store) -> Self {
        let table = TableId::new("", "services");
        let services = store.all(&table, "");
        let mut taken = Self { ips: HashSet::new(), ports: HashSet::new() };
        for service in services.iter().map(|service| service.to_value()) {
            let Some(spec) = service["spec"].as_object() else { continue };
            taken.ips.insert(text(spec, "clusterIP").to_owned());
            taken.ports.extend(ports(spec).filter_map(|port| port["nodePort"].as_i64()));
            taken.ports.extend(spec.get("healthCheckNodePort").and_then(Value::as_i64));
        }
        taken
    }

    fn free_ip(&self) -> String {
        loop {
            let number: u16 = rand::random_range(2..u16::MAX);
            let [high, low] = number.to_be_bytes();
            let ip = format!("{}.{}.{high}.{low}", PREFIX[0], PREFIX[1]);
            if !self.ips.contains(&ip) {
                return ip;
            }
        }
    }

    /// A port that nobody has; zero when all are taken.
    fn free_port(&mut self) -> i64 {
        let free: Vec<i64> = NODE_PORTS.filter(|port| !self.ports.contains(port)).collect();
        let Some(last) = free.len().checked_sub(1) else { return 0 };
        let port = free[rand::random_range(0..=last)];
        self.ports.insert(port);
        port
    }

    fn check_ip(&self, ip: &str) -> std::result::Result<(), String> {
        let Ok(address) = ip.parse::<std::net::Ipv4Addr>() else { return Ok(()) };
        if address.octets()[..2] != PREFIX {
            return Err("the provided network does not match the current range".into());
        }
        if self.ips.contains(ip) { Err("provided IP is already allocated".into()) } else { Ok(()) }
    }

    fn check_port(&mut self, port: i64) -> std::result::Result<(), String> {
        if !NODE_PORTS.contains(&port) {
            let (first, last) = (NODE_PORTS.start(), NODE_PORTS.end());
            return Err(format!(
                "provided port is not in the valid range. The range of valid ports is {first}-{last}"
            ));
        }
        if self.ports.insert(port) { Ok(()) } else { Err("provided port is already allocated".into()) }
    }
}
