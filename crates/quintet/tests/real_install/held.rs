//! Rights beside those that follow from the wiring, which no scenario of a system can use: to take leases, to ask about who
//! reads metrics, to keep certificates. What was used of them is in the audit log.

use std::collections::BTreeSet;

use k8s_openapi::api::rbac::v1::PolicyRule;
use quintet_kit::rights::Right;
use quintet_stage::rights::{Use, unused};
use serde_json::Value;

use super::site::Site;

/// The rights of the installed roles of these names that nobody has used yet.
///
/// # Panics
/// If there is no role of such a name.
pub(crate) fn idle(site: &Site, names: &[&str]) -> BTreeSet<String> {
    let installed: Vec<Value> = serde_json::from_str(&site.quintet(&["install", "-o", "json"])).unwrap();
    let mut held = BTreeSet::new();
    for name in names {
        let roles = installed.iter().filter(|object| {
            ["Role", "ClusterRole"].map(Value::from).contains(&object["kind"])
                && object["metadata"]["name"] == *name
        });
        let rights = roles.flat_map(|role| {
            let rules: Vec<PolicyRule> = serde_json::from_value(role["rules"].clone()).unwrap();
            let namespace = role["metadata"]["namespace"].as_str();
            rules.iter().flat_map(|rule| Right::of(namespace, rule)).collect::<Vec<_>>()
        });
        let before = held.len();
        held.extend(rights);
        assert!(held.len() > before, "{name} gives nothing");
    }
    let used: BTreeSet<Use> = Use::of_events(&site.cluster.audit().unwrap()).collect();
    unused(&held, &used).iter().map(Right::to_string).collect()
}
