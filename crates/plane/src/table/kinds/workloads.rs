//! Controllers of pods.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    Cells, Printer, age, age_of, containers, labels, list, name, number, or, or_none, selector, text,
};

/// The columns of those that only count their Pods.
const REPLICAS: &[&str] = &[
    "Name",
    "Desired:integer",
    "Current:integer",
    "Ready:integer",
    "Age",
    "Containers*",
    "Images*",
    "Selector*",
];

pub(super) fn printer(key: (&str, &str)) -> Option<Printer> {
    let (headings, cells): (&[&str], Cells) = match key {
        ("apps", "Deployment") => (
            &["Name", "Ready", "Up-to-date", "Available", "Age", "Containers*", "Images*", "Selector*"],
            |o, now| {
                let (spec, status) = (&o["spec"], &o["status"]);
                let ready = format!("{}/{}", number(&status["readyReplicas"]), number(&spec["replicas"]));
                let [names, images] = containers(&spec["template"]["spec"]);
                vec![
                    name(o),
                    json!(ready),
                    json!(number(&status["updatedReplicas"])),
                    json!(number(&status["availableReplicas"])),
                    age_of(o, now),
                    names,
                    images,
                    selector(&spec["selector"]),
                ]
            },
        ),
        ("apps", "ReplicaSet") => (REPLICAS, |o, now| replicas(o, now, selector(&o["spec"]["selector"]))),
        ("", "ReplicationController") => {
            (REPLICAS, |o, now| replicas(o, now, labels(&o["spec"]["selector"])))
        }
        ("apps", "StatefulSet") => (&["Name", "Ready", "Age", "Containers*", "Images*"], |o, now| {
            let ready =
                format!("{}/{}", number(&o["status"]["readyReplicas"]), number(&o["spec"]["replicas"]));
            let [names, images] = containers(&o["spec"]["template"]["spec"]);
            vec![name(o), json!(ready), age_of(o, now), names, images]
        }),
        ("apps", "DaemonSet") => (
            &[
                "Name",
                "Desired:integer",
                "Current:integer",
                "Ready:integer",
                "Up-to-date:integer",
                "Available:integer",
                "Node Selector",
                "Age",
                "Containers*",
                "Images*",
                "Selector*",
            ],
            |o, now| {
                let status = &o["status"];
                let [names, images] = containers(&o["spec"]["template"]["spec"]);
                let counts = [
                    "desiredNumberScheduled",
                    "currentNumberScheduled",
                    "numberReady",
                    "updatedNumberScheduled",
                    "numberAvailable",
                ];
                let mut cells = vec![name(o)];
                cells.extend(counts.map(|field| json!(number(&status[field]))));
                let nodes = labels(&o["spec"]["template"]["spec"]["nodeSelector"]);
                cells.extend([nodes, age_of(o, now), names, images, selector(&o["spec"]["selector"])]);
                cells
            },
        ),
        ("batch", "Job") => (
            &["Name", "Status", "Completions", "Duration", "Age", "Containers*", "Images*", "Selector*"],
            job,
        ),
        ("batch", "CronJob") => (
            &[
                "Name",
                "Schedule",
                "Timezone",
                "Suspend:boolean",
                "Active:integer",
                "Last Schedule",
                "Age",
                "Containers*",
                "Images*",
                "Selector*",
            ],
            |o, now| {
                let spec = &o["spec"];
                let job = &spec["jobTemplate"]["spec"];
                let last = match &o["status"]["lastScheduleTime"] {
                    Value::Null => json!("<none>"),
                    time => json!(age::since(time, now)),
                };
                let [names, images] = containers(&job["template"]["spec"]);
                vec![
                    name(o),
                    spec["schedule"].clone(),
                    or(&spec["timeZone"], "<none>"),
                    json!(if spec["suspend"] == true { "True" } else { "False" }),
                    json!(list(&o["status"]["active"]).len()),
                    last,
                    age_of(o, now),
                    names,
                    images,
                    selector(&job["selector"]),
                ]
            },
        ),
        ("apps", "ControllerRevision") => (&["Name", "Controller", "Revision:integer", "Age"], |o, now| {
            let owner = list(&o["metadata"]["ownerReferences"]).iter().find(|r| r["controller"] == true);
            let controller = owner.map_or_else(String::new, |r| {
                let group = text(&r["apiVersion"]).split_once('/').map_or("", |(group, _)| group);
                let kind = text(&r["kind"]).to_lowercase();
                let kind = if group.is_empty() { kind } else { format!("{kind}.{group}") };
                format!("{kind}/{}", text(&r["name"]))
            });
            vec![name(o), or_none(controller), o["revision"].clone(), age_of(o, now)]
        }),
        ("autoscaling", "HorizontalPodAutoscaler") => {
            (&["Name", "Reference", "Targets", "MinPods", "MaxPods", "Replicas", "Age"], |o, now| {
                let (spec, status) = (&o["spec"], &o["status"]);
                let target = &spec["scaleTargetRef"];
                vec![
                    name(o),
                    json!(format!("{}/{}", text(&target["kind"]), text(&target["name"]))),
                    json!(targets(o)),
                    or(&spec["minReplicas"], "<unset>"),
                    json!(number(&spec["maxReplicas"])),
                    json!(number(&status["currentReplicas"])),
                    age_of(o, now),
                ]
            })
        }
        ("policy", "PodDisruptionBudget") => {
            (&["Name", "Min Available", "Max Unavailable", "Allowed Disruptions:integer", "Age"], |o, now| {
                vec![
                    name(o),
                    or(&o["spec"]["minAvailable"], "N/A"),
                    or(&o["spec"]["maxUnavailable"], "N/A"),
                    json!(number(&o["status"]["disruptionsAllowed"])),
                    age_of(o, now),
                ]
            })
        }
        _ => return None,
    };
    Some(Printer { headings, cells })
}

fn replicas(o: &Value, now: Timestamp, selector: Value) -> Vec<Value> {
    let [names, images] = containers(&o["spec"]["template"]["spec"]);
    vec![
        name(o),
        json!(number(&o["spec"]["replicas"])),
        json!(number(&o["status"]["replicas"])),
        json!(number(&o["status"]["readyReplicas"])),
        age_of(o, now),
        names,
        images,
        selector,
    ]
}

fn job(o: &Value, now: Timestamp) -> Vec<Value> {
    let (spec, status) = (&o["spec"], &o["status"]);
    let has =
        |kind: &str| list(&status["conditions"]).iter().any(|c| c["type"] == kind && c["status"] == "True");
    let word = if has("Complete") {
        "Complete"
    } else if has("Failed") {
        "Failed"
    } else if o["metadata"]["deletionTimestamp"].is_string() {
        "Terminating"
    } else if has("Suspended") {
        "Suspended"
    } else if has("FailureTarget") {
        "FailureTarget"
    } else if has("SuccessCriteriaMet") {
        "SuccessCriteriaMet"
    } else {
        "Running"
    };
    let succeeded = number(&status["succeeded"]);
    let completions = match (&spec["completions"], number(&spec["parallelism"])) {
        (Value::Null, parallelism @ 2..) => format!("{succeeded}/1 of {parallelism}"),
        (Value::Null, _) => format!("{succeeded}/1"),
        (completions, _) => format!("{succeeded}/{}", number(completions)),
    };
    let seconds =
        |time: &Value| time.as_str().and_then(|t| t.parse::<Timestamp>().ok()).map(|t| t.as_second());
    let duration = match (seconds(&status["startTime"]), seconds(&status["completionTime"])) {
        (None, _) => String::new(),
        (Some(start), Some(end)) => age::between(end - start),
        (Some(start), None) => age::between(now.as_second() - start),
    };
    let [names, images] = containers(&spec["template"]["spec"]);
    vec![
        name(o),
        json!(word),
        json!(completions),
        json!(duration),
        age_of(o, now),
        names,
        images,
        selector(&spec["selector"]),
    ]
}

fn targets(hpa: &Value) -> String {
    let metrics = list(&hpa["spec"]["metrics"]);
    if metrics.is_empty() {
        let target = &hpa["spec"]["targetCPUUtilizationPercentage"];
        let current = &hpa["status"]["currentCPUUtilizationPercentage"];
        let current = current.as_i64().map_or("<unknown>".into(), |n| format!("{n}%"));
        return target.as_i64().map_or("<none>".into(), |t| format!("cpu: {current}/{t}%"));
    }
    let current = list(&hpa["status"]["currentMetrics"]);
    let shown: Vec<String> =
        metrics.iter().enumerate().take(2).map(|(i, m)| target(m, current.get(i))).collect();
    let more = metrics.len().saturating_sub(2);
    if more > 0 { format!("{} + {more} more...", shown.join(", ")) } else { shown.join(", ") }
}

fn target(metric: &Value, current: Option<&Value>) -> String {
    let (source, label) = match text(&metric["type"]) {
        "Resource" => ("resource", format!("{}: ", text(&metric["resource"]["name"]))),
        "ContainerResource" => {
            ("containerResource", format!("{}: ", text(&metric["containerResource"]["name"])))
        }
        "Pods" => ("pods", String::new()),
        "Object" => ("object", String::new()),
        _ => ("external", String::new()),
    };
    let (target, now) = (&metric[source]["target"], current.map_or(&Value::Null, |c| &c[source]["current"]));
    if let Some(percent) = target["averageUtilization"].as_i64() {
        let now = now["averageUtilization"].as_i64().map_or("<unknown>".into(), |n| format!("{n}%"));
        return format!("{label}{now}/{percent}%");
    }
    let field = if target["averageValue"].is_null() { "value" } else { "averageValue" };
    let now = now[field].as_str().unwrap_or("<unknown>");
    let suffix = if field == "averageValue" && source != "resource" { " (avg)" } else { "" };
    format!("{label}{now}/{}{suffix}", text(&target[field]))
}
