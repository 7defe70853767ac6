//! From the name of a PriorityClass to the number that the scheduler goes by.

use serde_json::{Value, json};

use super::all;
use crate::Plane;
use crate::clock;
use crate::hooks::AdmissionRequest;
use crate::status::{Error, Result};
use crate::store::{Draft, Expect, Store, TableId, key};

const PREEMPT: &str = "PreemptLowerPriority";
/// The classes every cluster has, their values and what they are for.
const SYSTEM: [(&str, i64, &str); 2] = [
    (
        "system-cluster-critical",
        2_000_000_000,
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
    ),
    (
        "system-node-critical",
        2_000_001_000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
];

fn table() -> TableId {
    TableId::new("scheduling.k8s.io", "priorityclasses")
}

/// Makes the classes every cluster has.
pub(crate) fn bootstrap(plane: &Plane) {
    for (name, value, description) in SYSTEM {
        let class = json!({
            "metadata": {
                "name": name,
                "uid": uuid::Uuid::new_v4().to_string(),
                "creationTimestamp": clock::seconds(plane.clock().now()),
                "generation": 1,
            },
            "value": value,
            "description": description,
            "preemptionPolicy": PREEMPT,
        });
        // A fresh store has no classes, so nothing can be in the way.
        let _ = plane.store().put(&table(), &Draft::new(&class, "v1".into(), vec![]), Expect::Absent);
    }
}

/// Sets a new Pod's priority by its class, or by the default one.
pub(super) fn resolve(store: &Store, request: &mut AdmissionRequest) -> Result<()> {
    let name = request.object["spec"]["priorityClassName"].as_str().unwrap_or_default().to_owned();
    let class = if name.is_empty() {
        default_class(store)
    } else {
        let found = store.get(&table(), &key("", &name)).map(|class| class.to_value());
        let missing = || {
            let why = format!("no PriorityClass with name {name} was found");
            Error::forbidden(&request.names, &request.name, &why)
        };
        Some(found.ok_or_else(missing)?)
    };
    let class = class.unwrap_or_else(|| json!({"value": 0, "preemptionPolicy": PREEMPT}));
    let forbidden = |what: &str, given: &Value, computed: &Value| {
        let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let why = format!(
            "the {what} ({}) must not be provided in pod spec; priority admission controller computed {} from the given \
             PriorityClass name",
            plain(given),
            plain(computed)
        );
        Error::forbidden(&request.names, &request.name, &why)
    };
    let spec = &request.object["spec"];
    let differs = |given: &Value, computed: &Value| !given.is_null() && given != computed;
    if differs(&spec["priority"], &class["value"]) {
        return Err(forbidden("integer value of priority", &spec["priority"], &class["value"]));
    }
    let policy = &class["preemptionPolicy"];
    if !policy.is_null() && differs(&spec["preemptionPolicy"], policy) {
        return Err(forbidden("string value of PreemptionPolicy", &spec["preemptionPolicy"], policy));
    }
    let spec = &mut request.object["spec"];
    if let Some(name) = class["metadata"]["name"].as_str() {
        spec["priorityClassName"] = json!(name);
    }
    spec["priority"] = class["value"].clone();
    if !policy.is_null() {
        spec["preemptionPolicy"] = policy.clone();
    }
    Ok(())
}

/// An update that does not speak of the priority keeps it.
pub(super) fn keep(request: &mut AdmissionRequest) {
    for field in ["priority", "preemptionPolicy"] {
        let old = request.old_object["spec"][field].clone();
        if request.object["spec"][field].is_null() && !old.is_null() {
            request.object["spec"][field] = old;
        }
    }
}

/// The class for Pods that name none; of several the lowest.
fn default_class(store: &Store) -> Option<Value> {
    let classes = all(store, &table());
    let defaults = classes.into_iter().filter(|class| class["globalDefault"] == Value::Bool(true));
    defaults.min_by_key(|class| class["value"].as_i64())
}
