//! Configuration, storage and events.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::{Cells, Printer, age, age_of, list, name, number, or, text};

pub(super) fn printer(key: (&str, &str)) -> Option<Printer> {
    let (headings, cells): (&[&str], Cells) = match key {
        ("", "ConfigMap") => (&["Name", "Data", "Age"], |o, now| {
            vec![name(o), json!(size(&o["data"]) + size(&o["binaryData"])), age_of(o, now)]
        }),
        ("", "Secret") => (&["Name", "Type", "Data", "Age"], |o, now| {
            vec![name(o), o["type"].clone(), json!(size(&o["data"])), age_of(o, now)]
        }),
        ("", "ServiceAccount") => (&["Name", "Age"], |o, now| vec![name(o), age_of(o, now)]),
        ("", "PersistentVolumeClaim") => (
            &[
                "Name",
                "Status",
                "Volume",
                "Capacity",
                "Access Modes",
                "StorageClass",
                "VolumeAttributesClass",
                "Age",
                "VolumeMode*",
            ],
            claim,
        ),
        ("", "PersistentVolume") => (
            &[
                "Name",
                "Capacity",
                "Access Modes",
                "Reclaim Policy",
                "Status",
                "Claim",
                "StorageClass",
                "VolumeAttributesClass",
                "Reason",
                "Age",
                "VolumeMode*",
            ],
            volume,
        ),
        ("" | "events.k8s.io", "Event") => (
            &[
                "Last Seen",
                "Type",
                "Reason",
                "Object",
                "Subobject*",
                "Source*",
                "Message",
                "First Seen*",
                "Count*",
                "Name*",
            ],
            event,
        ),
        ("", "ResourceQuota") => (&["Name", "Request", "Limit", "Age"], quota),
        ("", "PodTemplate") => (&["Name", "Containers", "Images", "Pod Labels"], |o, _| {
            let [names, images] = super::containers(&o["template"]["spec"]);
            vec![name(o), names, images, super::labels(&o["template"]["metadata"]["labels"])]
        }),
        ("coordination.k8s.io", "Lease") => (&["Name", "Holder", "Age"], |o, now| {
            vec![name(o), or(&o["spec"]["holderIdentity"], ""), age_of(o, now)]
        }),
        _ => return None,
    };
    Some(Printer { headings, cells })
}

fn size(map: &Value) -> usize {
    map.as_object().map_or(0, Map::len)
}

/// `RWO,ROX`
fn access_modes(modes: &Value) -> String {
    let short = |mode: &Value| match text(mode) {
        "ReadWriteOnce" => "RWO",
        "ReadOnlyMany" => "ROX",
        "ReadWriteMany" => "RWX",
        "ReadWriteOncePod" => "RWOP",
        _ => "",
    };
    list(modes).iter().map(short).collect::<Vec<_>>().join(",")
}

fn phase(object: &Value) -> Value {
    if object["metadata"]["deletionTimestamp"].is_string() {
        json!("Terminating")
    } else {
        or(&object["status"]["phase"], "")
    }
}

fn claim(o: &Value, now: Timestamp) -> Vec<Value> {
    let spec = &o["spec"];
    let bound = !text(&spec["volumeName"]).is_empty();
    let capacity = if bound { or(&o["status"]["capacity"]["storage"], "") } else { json!("") };
    let modes = if bound { access_modes(&o["status"]["accessModes"]) } else { String::new() };
    vec![
        name(o),
        phase(o),
        or(&spec["volumeName"], ""),
        capacity,
        json!(modes),
        or(&spec["storageClassName"], ""),
        or(&spec["volumeAttributesClassName"], "<unset>"),
        age_of(o, now),
        or(&spec["volumeMode"], "<unset>"),
    ]
}

fn volume(o: &Value, now: Timestamp) -> Vec<Value> {
    let spec = &o["spec"];
    let claim = &spec["claimRef"];
    let claim = if claim.is_object() {
        format!("{}/{}", text(&claim["namespace"]), text(&claim["name"]))
    } else {
        String::new()
    };
    vec![
        name(o),
        or(&spec["capacity"]["storage"], ""),
        json!(access_modes(&spec["accessModes"])),
        or(&spec["persistentVolumeReclaimPolicy"], ""),
        phase(o),
        json!(claim),
        or(&spec["storageClassName"], ""),
        or(&spec["volumeAttributesClassName"], "<unset>"),
        or(&o["status"]["reason"], ""),
        age_of(o, now),
        or(&spec["volumeMode"], "<unset>"),
    ]
}

/// Both forms of an event: the core one is stored, the newer one shown under its own names.
fn event(o: &Value, now: Timestamp) -> Vec<Value> {
    let pick = |core: &str, new: &str| if o[core].is_null() { o[new].clone() } else { o[core].clone() };
    let about = pick("involvedObject", "regarding");
    let source = pick("source", "deprecatedSource");
    let first = [pick("firstTimestamp", "deprecatedFirstTimestamp"), o["eventTime"].clone()];
    let first = first.iter().find(|t| !t.is_null()).cloned().unwrap_or_default();
    let last = [o["series"]["lastObservedTime"].clone(), pick("lastTimestamp", "deprecatedLastTimestamp")];
    let last = last.iter().find(|t| !t.is_null()).cloned().unwrap_or_else(|| first.clone());
    let component = match text(&source["component"]) {
        "" => text(&pick("reportingComponent", "reportingController")).to_string(),
        component => component.to_string(),
    };
    let host = match text(&source["host"]) {
        "" => text(&o["reportingInstance"]).to_string(),
        host => host.to_string(),
    };
    let count = match (&o["series"]["count"], pick("count", "deprecatedCount")) {
        (Value::Number(n), _) => n.as_i64().unwrap_or(1),
        (_, count) => number(&count).max(1),
    };
    vec![
        json!(age::since(&last, now)),
        o["type"].clone(),
        o["reason"].clone(),
        json!(format!("{}/{}", text(&about["kind"]).to_lowercase(), text(&about["name"]))),
        or(&about["fieldPath"], ""),
        json!(if host.is_empty() { component } else { format!("{component}, {host}") }),
        json!(text(&pick("message", "note")).trim()),
        json!(age::since(&first, now)),
        json!(count),
        name(o),
    ]
}

fn quota(o: &Value, now: Timestamp) -> Vec<Value> {
    let (mut requests, mut limits) = (Vec::new(), Vec::new());
    for (resource, hard) in o["status"]["hard"].as_object().into_iter().flatten() {
        let used = o["status"]["used"][resource].as_str().unwrap_or("0");
        let line = format!("{resource}: {used}/{}", text(hard));
        if resource.starts_with("limits.") { limits.push(line) } else { requests.push(line) }
    }
    vec![name(o), json!(requests.join(", ")), json!(limits.join(", ")), age_of(o, now)]
}
