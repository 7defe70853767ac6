//! Secrets and ConfigMaps that a Pod names and that are not there. A kubelet tells of the first it stumbles over; somebody
//! who has to make them wants to know all.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::core::PartialObjectMeta;
use kube::{Api, Client};
use serde_json::Value;

use super::family::Node;
use super::health::State;

/// What a Pod names: the kind and the name.
pub(super) type Named = (&'static str, String);

const SECRET: &str = "Secret";
const CONFIG_MAP: &str = "ConfigMap";

/// Everything a Pod cannot start without.
pub(super) fn named(pod: &Value) -> BTreeSet<Named> {
    let mut all = BTreeSet::new();
    let mut add = |kind, reference: &Value, name: &str| {
        if let Some(name) = reference[name].as_str().filter(|_| reference["optional"] != true) {
            all.insert((kind, name.to_owned()));
        }
    };
    let spec = &pod["spec"];
    for volume in list(&spec["volumes"]) {
        add(SECRET, &volume["secret"], "secretName");
        add(CONFIG_MAP, &volume["configMap"], "name");
        for source in list(&volume["projected"]["sources"]) {
            add(SECRET, &source["secret"], "name");
            add(CONFIG_MAP, &source["configMap"], "name");
        }
    }
    for container in list(&spec["initContainers"]).chain(list(&spec["containers"])) {
        for from in list(&container["envFrom"]) {
            add(SECRET, &from["secretRef"], "name");
            add(CONFIG_MAP, &from["configMapRef"], "name");
        }
        for from in list(&container["env"]).map(|variable| &variable["valueFrom"]) {
            add(SECRET, &from["secretKeyRef"], "name");
            add(CONFIG_MAP, &from["configMapKeyRef"], "name");
        }
    }
    all
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// Says of each Pod in the tree that is not ready which of what it names is missing, before anything else about it.
pub(super) async fn explain(client: &Client, root: &mut Node) {
    let mut asked = BTreeMap::new();
    wanted(root, &mut asked);
    for ((namespace, (kind, name)), there) in &mut asked {
        *there = exists(client, namespace, kind, name).await;
    }
    tell(root, &asked);
}

/// Whether it is there, by where it is looked for.
type Asked = BTreeMap<(String, Named), bool>;

fn wanted(node: &Node, asked: &mut Asked) {
    if is_stuck(node) {
        let place = node.namespace.clone().unwrap_or_default();
        asked.extend(node.named.iter().map(|named| ((place.clone(), named.clone()), true)));
    }
    node.children.iter().for_each(|child| wanted(child, asked));
}

fn is_stuck(node: &Node) -> bool {
    matches!(node.health.state, State::Waiting | State::Failed)
}

/// An account that may not ask is told nothing.
async fn exists(client: &Client, namespace: &str, kind: &str, name: &str) -> bool {
    let found = if kind == SECRET {
        let api: Api<Secret> = Api::namespaced(client.clone(), namespace);
        api.get_metadata_opt(name).await.map(|found: Option<PartialObjectMeta<Secret>>| found.is_some())
    } else {
        let api: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
        api.get_metadata_opt(name).await.map(|found| found.is_some())
    };
    found.unwrap_or(true)
}

fn tell(node: &mut Node, asked: &Asked) {
    if is_stuck(node) {
        let place = node.namespace.clone().unwrap_or_default();
        let is_missing = |named: &&Named| asked.get(&(place.clone(), (*named).clone())) == Some(&false);
        let missing: Vec<String> =
            node.named.iter().filter(is_missing).map(|(kind, name)| format!("{kind} {name:?}")).collect();
        if let Some((last, others)) = missing.split_last() {
            let all =
                if others.is_empty() { last.clone() } else { format!("{} and {last}", others.join(", ")) };
            node.health.why.insert(0, format!("it needs {all}, which {place} does not have"));
        }
    }
    node.children.iter_mut().for_each(|child| tell(child, asked));
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_a_pod_cannot_start_without_is_found_wherever_it_is_named() {
        let pod = json!({"spec": {
            "volumes": [
                {"secret": {"secretName": "a"}},
                {"configMap": {"name": "b"}},
                {"configMap": {"name": "may-be", "optional": true}},
                {"projected": {"sources": [{"secret": {"name": "c"}}]}},
            ],
            "initContainers": [{"envFrom": [{"configMapRef": {"name": "d"}}]}],
            "containers": [{
                "envFrom": [{"secretRef": {"name": "a"}}],
                "env": [
                    {"name": "literal", "value": "x"},
                    {"name": "key", "valueFrom": {"secretKeyRef": {"name": "e", "key": "k"}}},
                ],
            }],
        }});
        let all: Vec<String> = named(&pod).into_iter().map(|(kind, name)| format!("{kind} {name}")).collect();
        assert_eq!(all, ["ConfigMap b", "ConfigMap d", "Secret a", "Secret c", "Secret e"]);
    }
}
