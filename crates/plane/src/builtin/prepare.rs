//! What the server itself puts into a new object of some kinds, once admission is through and its name and uid are known.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::quantity::Quantity;
use crate::resource::GroupVersionKind;

const CONTROLLER_UID: &str = "batch.kubernetes.io/controller-uid";
const JOB_NAME: &str = "batch.kubernetes.io/job-name";
/// Their names from before labels had prefixes.
const OLD_CONTROLLER_UID: &str = "controller-uid";
const OLD_JOB_NAME: &str = "job-name";

/// Completes a new object of a built-in kind.
pub fn prepare_create(gvk: &GroupVersionKind, object: &mut Value) {
    match (&*gvk.group, &*gvk.kind) {
        ("", "Pod") => object["status"]["qosClass"] = json!(quality_of_service(&object["spec"])),
        ("", "PersistentVolume") => {
            object["status"]["lastPhaseTransitionTime"] = object["metadata"]["creationTimestamp"].clone();
        }
        ("batch", "Job") if object["spec"]["manualSelector"] != Value::Bool(true) => select_own_pods(object),
        _ => {}
    }
}

/// The labels that tell a Job's Pods from all others, unless the template has them already (validation judges those).
pub(super) fn job_labels(job: &Value) -> [(&'static str, Value); 4] {
    let (uid, name) = (&job["metadata"]["uid"], &job["metadata"]["name"]);
    [
        (OLD_JOB_NAME, name.clone()),
        (JOB_NAME, name.clone()),
        (OLD_CONTROLLER_UID, uid.clone()),
        (CONTROLLER_UID, uid.clone()),
    ]
}

fn select_own_pods(job: &mut Value) {
    let own = job_labels(job);
    let uid = job["metadata"]["uid"].clone();
    let add = |labels: &mut Value, wanted: &[(&str, Value)]| {
        if !labels.is_object() {
            *labels = Value::Object(Map::new());
        }
        for (key, value) in wanted {
            if labels.get(*key).is_none() {
                labels[*key] = value.clone();
            }
        }
    };
    add(&mut job["spec"]["template"]["metadata"]["labels"], &own);
    add(&mut job["spec"]["selector"]["matchLabels"], &[(CONTROLLER_UID, uid)]);
    // As defaulting would do, had the template had labels from the start.
    if job["metadata"]["labels"].as_object().is_none_or(Map::is_empty) {
        let labels = job["spec"]["template"]["metadata"]["labels"].clone();
        job["metadata"]["labels"] = labels;
    }
}

/// Guaranteed where every container has limits for both cpu and memory and asks for just that, BestEffort where none
/// asks for anything, else Burstable.
fn quality_of_service(spec: &Value) -> &'static str {
    const COUNTED: [&str; 2] = ["cpu", "memory"];
    let mut totals = [BTreeMap::<&str, i128>::new(), BTreeMap::new()];
    let mut all_limited = true;
    for list in ["containers", "initContainers"] {
        for container in spec[list].as_array().into_iter().flatten() {
            for (total, kind) in totals.iter_mut().zip(["requests", "limits"]) {
                let mut found = 0;
                for name in COUNTED {
                    let amount = container["resources"][kind][name].as_str().and_then(Quantity::parse);
                    if let Some(amount) = amount.map(Quantity::nano).filter(|amount| *amount > 0) {
                        *total.entry(name).or_default() += amount;
                        found += 1;
                    }
                }
                all_limited &= kind == "requests" || found == COUNTED.len();
            }
        }
    }
    let [requests, limits] = totals;
    match (requests.is_empty() && limits.is_empty(), all_limited && requests == limits) {
        (true, _) => "BestEffort",
        (_, true) => "Guaranteed",
        _ => "Burstable",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quality_follows_from_requests_and_limits() {
        let class = |resources: &[Value]| {
            let containers: Vec<Value> = resources.iter().map(|r| json!({"resources": r})).collect();
            quality_of_service(&json!({ "containers": containers }))
        };
        let full = json!({"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1000m", "memory": "1024Mi"}});
        assert_eq!(class(&[json!({})]), "BestEffort");
        assert_eq!(class(&[json!({"requests": {"cpu": "0"}})]), "BestEffort");
        assert_eq!(class(std::slice::from_ref(&full)), "Guaranteed");
        assert_eq!(class(&[full.clone(), json!({})]), "Burstable");
        assert_eq!(class(&[json!({"requests": {"cpu": "1"}})]), "Burstable");
        let more =
            json!({"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "2", "memory": "1Gi"}});
        assert_eq!(class(&[more]), "Burstable");
    }

    #[test]
    fn a_jobs_pods_are_its_own() {
        let gvk = GroupVersionKind::new("batch", "v1", "Job");
        let mut job = json!({"metadata": {"name": "j", "uid": "u"}, "spec": {"template": {"metadata": {"labels": {"a": "b"}}}}});
        prepare_create(&gvk, &mut job);
        let labels = json!({"a": "b", "batch.kubernetes.io/controller-uid": "u", "batch.kubernetes.io/job-name": "j",
            "controller-uid": "u", "job-name": "j"});
        assert_eq!(job["metadata"]["name"], "j");
        assert_eq!(job["spec"]["template"]["metadata"]["labels"], labels);
        assert_eq!(job["metadata"]["labels"], labels);
        assert_eq!(
            job["spec"]["selector"],
            json!({"matchLabels": {"batch.kubernetes.io/controller-uid": "u"}})
        );
        let mut manual = json!({"metadata": {"name": "j", "uid": "u"}, "spec": {"manualSelector": true}});
        let before = manual.clone();
        prepare_create(&gvk, &mut manual);
        assert_eq!(manual, before);
    }
}
