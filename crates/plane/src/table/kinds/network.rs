//! Services and what leads to them.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{Cells, Printer, age_of, labels, list, name, number, or, or_none, selector, text};

pub(super) fn printer(key: (&str, &str)) -> Option<Printer> {
    let (headings, cells): (&[&str], Cells) = match key {
        ("", "Service") => {
            (&["Name", "Type", "Cluster-IP", "External-IP", "Port(s)", "Age", "Selector*"], |o, now| {
                let spec = &o["spec"];
                vec![
                    name(o),
                    spec["type"].clone(),
                    or(&spec["clusterIP"], "<none>"),
                    json!(external(o)),
                    json!(service_ports(spec)),
                    age_of(o, now),
                    labels(&spec["selector"]),
                ]
            })
        }
        ("", "Endpoints") => {
            (&["Name", "Endpoints", "Age"], |o, now| vec![name(o), json!(addresses(o)), age_of(o, now)])
        }
        ("discovery.k8s.io", "EndpointSlice") => {
            (&["Name", "AddressType", "Ports", "Endpoints", "Age"], |o, now| {
                let ports: Vec<String> = list(&o["ports"])
                    .iter()
                    .map(|p| p["port"].as_i64().map_or("*".into(), |n| n.to_string()))
                    .collect();
                let ends: Vec<&str> =
                    list(&o["endpoints"]).iter().flat_map(|e| list(&e["addresses"])).map(text).collect();
                let unset = |text: String| if text.is_empty() { json!("<unset>") } else { json!(text) };
                vec![name(o), o["addressType"].clone(), unset(few(&ports)), unset(few(&ends)), age_of(o, now)]
            })
        }
        ("networking.k8s.io", "NetworkPolicy") => (&["Name", "Pod-Selector", "Age"], |o, now| {
            vec![name(o), selector(&o["spec"]["podSelector"]), age_of(o, now)]
        }),
        ("networking.k8s.io", "Ingress") => {
            (&["Name", "Class", "Hosts", "Address", "Ports", "Age"], |o, now| {
                let spec = &o["spec"];
                let hosts: Vec<&str> =
                    list(&spec["rules"]).iter().map(|r| text(&r["host"])).filter(|h| !h.is_empty()).collect();
                let hosts = if hosts.is_empty() { "*".to_string() } else { few(&hosts) };
                let class = match text(&spec["ingressClassName"]) {
                    "" => text(&o["metadata"]["annotations"]["kubernetes.io/ingress.class"]).to_string(),
                    class => class.to_string(),
                };
                let ports = if list(&spec["tls"]).is_empty() { "80" } else { "80, 443" };
                vec![name(o), or_none(class), json!(hosts), json!(balancers(o)), json!(ports), age_of(o, now)]
            })
        }
        ("networking.k8s.io", "IngressClass") => (&["Name", "Controller", "Parameters", "Age"], |o, now| {
            let parameters = &o["spec"]["parameters"];
            let shown = match parameters.is_object() {
                false => "<none>".to_string(),
                true => {
                    let kind = match text(&parameters["apiGroup"]) {
                        "" => text(&parameters["kind"]).to_string(),
                        group => format!("{}.{group}", text(&parameters["kind"])),
                    };
                    format!("{kind}/{}", text(&parameters["name"]))
                }
            };
            vec![name(o), o["spec"]["controller"].clone(), json!(shown), age_of(o, now)]
        }),
        _ => return None,
    };
    Some(Printer { headings, cells })
}

/// The first three, and how many more.
fn few<T: AsRef<str>>(all: &[T]) -> String {
    let shown: Vec<&str> = all.iter().take(3).map(AsRef::as_ref).collect();
    match all.len() {
        0..=3 => shown.join(","),
        n => format!("{} + {} more...", shown.join(","), n - 3),
    }
}

fn balancers(o: &Value) -> String {
    let all: BTreeSet<String> = list(&o["status"]["loadBalancer"]["ingress"])
        .iter()
        .map(|i| if text(&i["ip"]).is_empty() { text(&i["hostname"]) } else { text(&i["ip"]) }.to_string())
        .collect();
    all.into_iter().collect::<Vec<_>>().join(",")
}

fn external(o: &Value) -> String {
    let spec = &o["spec"];
    let own: Vec<&str> = list(&spec["externalIPs"]).iter().map(text).collect();
    match text(&spec["type"]) {
        "ExternalName" => text(&spec["externalName"]).to_string(),
        "LoadBalancer" => {
            let given = balancers(o);
            let all: Vec<&str> = [given.as_str()].into_iter().chain(own).filter(|s| !s.is_empty()).collect();
            if all.is_empty() { "<pending>".into() } else { all.join(",") }
        }
        _ if own.is_empty() => "<none>".into(),
        _ => own.join(","),
    }
}

fn service_ports(spec: &Value) -> String {
    let ports: Vec<String> = list(&spec["ports"])
        .iter()
        .map(|p| match number(&p["nodePort"]) {
            0 => format!("{}/{}", number(&p["port"]), text(&p["protocol"])),
            node => format!("{}:{node}/{}", number(&p["port"]), text(&p["protocol"])),
        })
        .collect();
    if ports.is_empty() { "<none>".into() } else { ports.join(",") }
}

fn addresses(o: &Value) -> String {
    let mut all = Vec::new();
    for subset in list(&o["subsets"]) {
        let ports = list(&subset["ports"]);
        for address in list(&subset["addresses"]) {
            let ip = text(&address["ip"]);
            if ports.is_empty() {
                all.push(ip.to_string());
            }
            all.extend(ports.iter().map(|port| format!("{ip}:{}", number(&port["port"]))));
        }
    }
    if all.is_empty() { "<none>".into() } else { few(&all) }
}
