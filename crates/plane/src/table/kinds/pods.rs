//! Pods: what their status amounts to in one word.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Printer, age, age_of, list, name, number, or, text};

pub(super) fn printer(key: (&str, &str)) -> Option<Printer> {
    (key == ("", "Pod")).then_some(Printer {
        headings: &[
            "Name",
            "Ready",
            "Status",
            "Restarts",
            "Age",
            "IP*",
            "Node*",
            "Nominated Node*",
            "Readiness Gates*",
        ],
        cells,
    })
}

fn cells(pod: &Value, now: Timestamp) -> Vec<Value> {
    let statuses = list(&pod["status"]["containerStatuses"]);
    let ready = statuses.iter().filter(|c| c["ready"] == true && c["state"]["running"].is_object()).count();
    let total = list(&pod["spec"]["containers"]).len();
    let gates = list(&pod["spec"]["readinessGates"]);
    let conditions = list(&pod["status"]["conditions"]);
    let passed = gates
        .iter()
        .filter(|gate| conditions.iter().any(|c| c["type"] == gate["conditionType"] && c["status"] == "True"))
        .count();
    let readiness =
        if gates.is_empty() { json!("<none>") } else { json!(format!("{passed}/{}", gates.len())) };
    vec![
        name(pod),
        json!(format!("{ready}/{total}")),
        json!(status(pod)),
        json!(restarts(pod, now)),
        age_of(pod, now),
        or(&pod["status"]["podIP"], "<none>"),
        or(&pod["spec"]["nodeName"], "<none>"),
        or(&pod["status"]["nominatedNodeName"], "<none>"),
        readiness,
    ]
}

fn status(pod: &Value) -> String {
    let mut reason = match text(&pod["status"]["reason"]) {
        "" => text(&pod["status"]["phase"]).to_string(),
        reason => reason.to_string(),
    };
    if list(&pod["status"]["conditions"])
        .iter()
        .any(|c| c["type"] == "PodScheduled" && c["reason"] == "SchedulingGated")
    {
        reason = "SchedulingGated".into();
    }
    let initializing = init_reason(pod);
    match initializing {
        Some(init) => reason = init,
        None => {
            let mut running = false;
            for container in list(&pod["status"]["containerStatuses"]).iter().rev() {
                match container_reason(container, "") {
                    Some(words) => reason = words,
                    None => {
                        running |= container["ready"] == true && container["state"]["running"].is_object()
                    }
                }
            }
            if reason == "Completed" && running {
                let ready = list(&pod["status"]["conditions"])
                    .iter()
                    .any(|c| c["type"] == "Ready" && c["status"] == "True");
                reason = if ready { "Running".into() } else { "NotReady".into() };
            }
        }
    }
    if pod["metadata"]["deletionTimestamp"].is_string() {
        if pod["status"]["reason"] == "NodeLost" {
            return "Unknown".into();
        }
        if !matches!(text(&pod["status"]["phase"]), "Failed" | "Succeeded") {
            return "Terminating".into();
        }
    }
    reason
}

/// Why an init container is not done yet, or `None` when all are.
fn init_reason(pod: &Value) -> Option<String> {
    let total = list(&pod["spec"]["initContainers"]).len();
    for (i, container) in list(&pod["status"]["initContainerStatuses"]).iter().enumerate() {
        let state = &container["state"];
        let sidecar = list(&pod["spec"]["initContainers"])
            .iter()
            .any(|c| c["name"] == container["name"] && c["restartPolicy"] == "Always");
        if state["terminated"].is_object() && number(&state["terminated"]["exitCode"]) == 0 {
            continue;
        }
        if sidecar && container["started"] == true {
            continue;
        }
        if let Some(words) = container_reason(container, "Init:").filter(|w| w != "Init:PodInitializing") {
            return Some(words);
        }
        return Some(format!("Init:{i}/{total}"));
    }
    None
}

/// Why a container waits or ended.
fn container_reason(container: &Value, prefix: &str) -> Option<String> {
    let (waiting, terminated) = (&container["state"]["waiting"], &container["state"]["terminated"]);
    if let reason @ 1.. = text(&waiting["reason"]).len() {
        return Some(format!("{prefix}{}", &text(&waiting["reason"])[..reason]));
    }
    if !terminated.is_object() {
        return None;
    }
    Some(match (text(&terminated["reason"]), number(&terminated["signal"])) {
        ("", 0) => format!("{prefix}ExitCode:{}", number(&terminated["exitCode"])),
        ("", signal) => format!("{prefix}Signal:{signal}"),
        (reason, _) => format!("{prefix}{reason}"),
    })
}

fn restarts(pod: &Value, now: Timestamp) -> String {
    let statuses = list(&pod["status"]["containerStatuses"]);
    let count: i64 = statuses.iter().map(|c| number(&c["restartCount"])).sum();
    let last = statuses
        .iter()
        .filter(|c| number(&c["restartCount"]) > 0)
        .filter_map(|c| c["lastState"]["terminated"]["finishedAt"].as_str())
        .max();
    match last {
        Some(last) if count > 0 => format!("{count} ({} ago)", age::since(&json!(last), now)),
        _ => count.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(status: Value) -> Value {
        json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c"}], "initContainers": [{}, {}]},
            "status": status})
    }

    #[test]
    fn the_status_is_the_word_people_know() {
        let waiting = json!({"containerStatuses": [{"state": {"waiting": {"reason": "CrashLoopBackOff"}}}]});
        assert_eq!(status(&pod(waiting)), "CrashLoopBackOff");
        let failed = json!({"containerStatuses": [{"state": {"terminated": {"exitCode": 3}}}]});
        assert_eq!(status(&pod(failed)), "ExitCode:3");
        let init = json!({"initContainerStatuses": [{"state": {"terminated": {"exitCode": 0}}},
            {"state": {"running": {}}}]});
        assert_eq!(status(&pod(init)), "Init:1/2");
        let broken =
            json!({"initContainerStatuses": [{"state": {"terminated": {"exitCode": 1, "reason": "Error"}}}]});
        assert_eq!(status(&pod(broken)), "Init:Error");
        let mut going = pod(json!({"phase": "Running"}));
        going["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        assert_eq!(status(&going), "Terminating");
    }

    #[test]
    fn restarts_tell_when_the_last_one_was() {
        let status = json!({"containerStatuses": [{"restartCount": 3,
            "lastState": {"terminated": {"finishedAt": "2026-01-01T00:00:00Z"}}}]});
        assert_eq!(restarts(&pod(status), "2026-01-01T00:05:00Z".parse().unwrap()), "3 (5m ago)");
    }
}
