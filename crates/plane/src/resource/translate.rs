//! Built-in kinds that two versions serve from one store: Events of both groups, and autoscalers v1 and v2.

use serde_json::{Map, Value, json};

use super::Resource;

/// From the stored form to the form this resource shows.
pub fn shown(resource: &Resource, object: &mut Value) {
    match key(resource) {
        ("events.k8s.io", "v1", "Event") => {
            event(object, CORE_TO_NEW);
            new_event_zeroes(object);
        }
        ("autoscaling", "v1", "HorizontalPodAutoscaler") => autoscaler_to_v1(object),
        _ => {}
    }
}

/// From the form this resource shows to the stored form.
pub fn stored(resource: &Resource, object: &mut Value) {
    match key(resource) {
        ("events.k8s.io", "v1", "Event") => {
            event(object, &CORE_TO_NEW.map(|(core, new)| (new, core)));
            core_event_zeroes(object);
        }
        ("autoscaling", "v1", "HorizontalPodAutoscaler") => autoscaler_to_v2(object),
        _ => {}
    }
}

/// Whether the resource shows anything but the stored form.
pub fn differs(resource: &Resource) -> bool {
    matches!(key(resource).0, "events.k8s.io")
        || key(resource) == ("autoscaling", "v1", "HorizontalPodAutoscaler")
}

fn key(resource: &Resource) -> (&str, &str, &str) {
    (&resource.gvk.group, &resource.gvk.version, &resource.gvk.kind)
}

const CORE_TO_NEW: &[(&str, &str); 7] = &[
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("reportingComponent", "reportingController"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
];

fn event(object: &mut Value, renames: &[(&str, &str); 7]) {
    let Some(map) = object.as_object_mut() else { return };
    for (from, to) in renames {
        if let Some(value) = map.remove(*from) {
            map.insert((*to).to_string(), value);
        }
    }
}

/// An event written in the new form shows these in the core form even when unset.
fn core_event_zeroes(object: &mut Value) {
    let Some(map) = object.as_object_mut() else { return };
    map.entry("source").or_insert_with(|| json!({}));
    map.entry("firstTimestamp").or_insert(Value::Null);
    map.entry("lastTimestamp").or_insert(Value::Null);
    map.entry("reportingComponent").or_insert_with(|| json!(""));
    map.entry("reportingInstance").or_insert_with(|| json!(""));
}

/// The new form leaves out who reported, where nobody said so.
fn new_event_zeroes(object: &mut Value) {
    let Some(map) = object.as_object_mut() else { return };
    map.retain(|name, value| {
        !(value == "" && matches!(name.as_str(), "reportingController" | "reportingInstance"))
    });
}

const V1_METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";

/// v1 has one CPU target; other metrics travel in an annotation.
fn autoscaler_to_v1(object: &mut Value) {
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else { return };
    let metrics = match spec.remove("metrics") {
        Some(Value::Array(metrics)) => metrics,
        _ => Vec::new(),
    };
    let (cpu, others): (Vec<Value>, Vec<Value>) = metrics.into_iter().partition(is_cpu_utilization);
    if let Some(cpu) = cpu.first() {
        let target = cpu["resource"]["target"]["averageUtilization"].clone();
        spec.insert("targetCPUUtilizationPercentage".into(), target);
    }
    if !others.is_empty()
        && let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut)
        && let Some(annotations) =
            metadata.entry("annotations").or_insert_with(|| Value::Object(Map::new())).as_object_mut()
    {
        annotations.insert(V1_METRICS.into(), Value::String(Value::Array(others).to_string()));
    }
    if let Some(status) = object.get_mut("status").and_then(Value::as_object_mut) {
        let current = status.remove("currentMetrics");
        status.remove("conditions");
        let cpu =
            current.iter().filter_map(Value::as_array).flatten().find(|m| m["resource"]["name"] == "cpu");
        if let Some(now) =
            cpu.map(|m| m["resource"]["current"]["averageUtilization"].clone()).filter(|n| !n.is_null())
        {
            status.insert("currentCPUUtilizationPercentage".into(), now);
        }
    }
}

fn autoscaler_to_v2(object: &mut Value) {
    let mut metrics = Vec::new();
    if let Some(annotations) = object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut)
        && let Some(Value::String(text)) = annotations.remove(V1_METRICS)
        && let Ok(Value::Array(others)) = serde_json::from_str(&text)
    {
        metrics = others;
    }
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else { return };
    if let Some(target) = spec.remove("targetCPUUtilizationPercentage").filter(|t| !t.is_null()) {
        let cpu = json!({"type": "Resource", "resource":
            {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": target}}});
        metrics.insert(0, cpu);
    }
    if !metrics.is_empty() {
        spec.insert("metrics".into(), Value::Array(metrics));
    }
}

fn is_cpu_utilization(metric: &Value) -> bool {
    metric["type"] == "Resource"
        && metric["resource"]["name"] == "cpu"
        && metric["resource"]["target"]["type"] == "Utilization"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::Registry;

    #[test]
    fn an_event_of_the_new_group_reads_back_as_written() {
        let catalog = Registry::new().catalog();
        let resource = catalog.find("events.k8s.io", "v1", "events").unwrap();
        let new = json!({"metadata": {"name": "e"}, "note": "n", "regarding": {"kind": "Pod"},
            "reportingController": "c", "eventTime": "t"});
        let mut kept = new.clone();
        stored(resource, &mut kept);
        assert_eq!(kept["message"], "n");
        assert_eq!(kept["involvedObject"]["kind"], "Pod");
        assert_eq!(kept["firstTimestamp"], Value::Null);
        shown(resource, &mut kept);
        assert_eq!(kept["note"], "n");
        assert_eq!(kept["regarding"], new["regarding"]);
    }

    #[test]
    fn an_autoscaler_keeps_its_cpu_target_across_versions() {
        let catalog = Registry::new().catalog();
        let v1 = catalog.find("autoscaling", "v1", "horizontalpodautoscalers").unwrap();
        let written =
            json!({"metadata": {}, "spec": {"maxReplicas": 3, "targetCPUUtilizationPercentage": 70}});
        let mut object = written.clone();
        stored(v1, &mut object);
        assert_eq!(object["spec"]["metrics"][0]["resource"]["target"]["averageUtilization"], 70);
        shown(v1, &mut object);
        assert_eq!(object, written);
    }
}
