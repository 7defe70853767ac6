//! Whether an object is as it should be, and if not, why, in words.

use serde::Serialize;
use serde_json::Value;

use crate::output::Tone;

/// The verdict on one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum State {
    /// As it should be.
    Ready,
    /// On its way.
    Waiting,
    /// Wrong; it will not come right by waiting alone.
    Failed,
    /// A kind that is neither ready nor not.
    Plain,
}

impl State {
    /// The colour it is shown in.
    pub fn tone(self) -> Tone {
        match self {
            State::Ready => Tone::Good,
            State::Waiting => Tone::Waiting,
            State::Failed => Tone::Bad,
            State::Plain => Tone::Quiet,
        }
    }
}

/// How an object is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Health {
    /// The verdict.
    pub state: State,
    /// A few words: `1/1 ready`, `Bound`, `Ready=False DeploymentNotReady`.
    pub summary: String,
    /// Why it is not ready, one sentence each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub why: Vec<String>,
}

impl Health {
    fn new(state: State, summary: impl Into<String>) -> Self {
        Health { state, summary: summary.into(), why: vec![] }
    }

    fn because(mut self, why: impl IntoIterator<Item = String>) -> Self {
        self.why.extend(why);
        self
    }
}

/// Judges an object by its kind, else by its conditions.
pub fn health(object: &Value) -> Health {
    let mut verdict = match object["kind"].as_str().unwrap_or_default() {
        "Deployment" | "StatefulSet" | "ReplicaSet" => replicas(object),
        "DaemonSet" => {
            counted(object, &object["status"]["desiredNumberScheduled"], &object["status"]["numberReady"])
        }
        "Pod" => pod(object),
        "Job" => job(object),
        "PersistentVolumeClaim" => claim(object),
        _ => conditions(object),
    };
    if object["metadata"]["deletionTimestamp"].is_string() {
        let held =
            object["metadata"]["finalizers"].as_array().map(|f| join(f.iter().filter_map(Value::as_str)));
        verdict.state = State::Waiting;
        verdict.summary = format!("being deleted, {}", verdict.summary);
        verdict
            .why
            .extend(held.filter(|h| !h.is_empty()).map(|h| format!("deletion waits for finalizers: {h}")));
    }
    verdict
}

fn join<'a>(parts: impl Iterator<Item = &'a str>) -> String {
    parts.collect::<Vec<_>>().join(", ")
}

fn replicas(object: &Value) -> Health {
    let wanted = &object["spec"]["replicas"];
    let wanted = if wanted.is_null() { &Value::from(1) } else { wanted };
    counted(object, wanted, &object["status"]["readyReplicas"])
}

fn counted(object: &Value, wanted: &Value, ready: &Value) -> Health {
    let (wanted, ready) = (wanted.as_i64().unwrap_or(0), ready.as_i64().unwrap_or(0));
    let summary = format!("{ready}/{wanted} ready");
    if object["status"]["observedGeneration"].as_i64() < object["metadata"]["generation"].as_i64() {
        return Health::new(State::Waiting, summary)
            .because(["its controller has not looked at it yet".to_string()]);
    }
    let bad = |c: &&Value| {
        matches!((type_of(c), status_of(c)), ("Progressing", "False") | ("ReplicaFailure", "True"))
    };
    let failing: Vec<String> = all_conditions(object).filter(bad).map(told).collect();
    match (ready >= wanted, failing.is_empty()) {
        (true, _) => Health::new(State::Ready, summary),
        (false, true) => Health::new(State::Waiting, summary),
        (false, false) => Health::new(State::Failed, summary).because(failing),
    }
}

fn pod(object: &Value) -> Health {
    let status = &object["status"];
    let phase = status["phase"].as_str().unwrap_or("Unknown");
    let containers = ["initContainerStatuses", "containerStatuses"];
    let why: Vec<String> =
        containers.iter().flat_map(|list| status[*list].as_array()).flatten().filter_map(container).collect();
    let unscheduled =
        all_conditions(object).filter(|c| (type_of(c), status_of(c)) == ("PodScheduled", "False"));
    let why: Vec<String> = unscheduled.map(told).chain(why).collect();
    let ready = all_conditions(object).any(|c| (type_of(c), status_of(c)) == ("Ready", "True"));
    match phase {
        "Succeeded" => Health::new(State::Ready, phase),
        "Running" if ready => Health::new(State::Ready, "Running, ready"),
        "Failed" => Health::new(State::Failed, phase).because(why),
        "Running" if why.is_empty() => Health::new(State::Waiting, "Running, not ready")
            .because(["its readiness probe has not succeeded yet".to_string()]),
        _ if why.is_empty() => Health::new(State::Waiting, phase),
        _ => Health::new(State::Failed, phase).because(why),
    }
}

/// What is wrong with a container, if anything.
fn container(status: &Value) -> Option<String> {
    let name = status["name"].as_str().unwrap_or_default();
    let state = &status["state"];
    if let Some(waiting) = state.get("waiting").filter(|w| !w.is_null()) {
        let reason = waiting["reason"].as_str().unwrap_or("waiting");
        if matches!(reason, "ContainerCreating" | "PodInitializing") {
            return None;
        }
        let last = &status["lastState"]["terminated"]["exitCode"];
        let exit = last.as_i64().map(|code| format!(" (last exit code {code})")).unwrap_or_default();
        let message = waiting["message"].as_str().map(|m| format!(": {m}")).unwrap_or_default();
        return Some(format!("container {name}: {reason}{message}{exit}"));
    }
    let ended = state.get("terminated").filter(|t| !t.is_null())?;
    let code = ended["exitCode"].as_i64().filter(|code| *code != 0)?;
    let reason = ended["reason"].as_str().unwrap_or("Error");
    Some(format!("container {name}: {reason}, exit code {code}"))
}

fn job(object: &Value) -> Health {
    let status = &object["status"];
    let of = |type_: &str| all_conditions(object).find(|c| type_of(c) == type_ && status_of(c) == "True");
    let done = status["succeeded"].as_i64().unwrap_or(0);
    if let Some(failed) = of("Failed") {
        return Health::new(State::Failed, "Failed").because([told(failed)]);
    }
    if of("Complete").is_some() {
        return Health::new(State::Ready, "Complete");
    }
    if of("Suspended").is_some() {
        return Health::new(State::Waiting, "Suspended");
    }
    Health::new(
        State::Waiting,
        format!("{done} of {} done", object["spec"]["completions"].as_i64().unwrap_or(1)),
    )
}

fn claim(object: &Value) -> Health {
    match object["status"]["phase"].as_str().unwrap_or("Pending") {
        "Bound" => Health::new(State::Ready, "Bound"),
        phase => Health::new(if phase == "Lost" { State::Failed } else { State::Waiting }, phase),
    }
}

/// By the summary condition that most kinds have; a kind without conditions is plain.
fn conditions(object: &Value) -> Health {
    const SUMMARIES: [&str; 4] = ["Ready", "Available", "Established", "Accepted"];
    let summary = SUMMARIES.iter().find_map(|s| all_conditions(object).find(|c| type_of(c) == *s));
    let Some(summary) = summary else { return Health::new(State::Plain, "") };
    if status_of(summary) == "True" {
        return Health::new(State::Ready, type_of(summary));
    }
    let reason = summary["reason"].as_str().unwrap_or_default();
    let text = format!("{}={} {reason}", type_of(summary), status_of(summary));
    let others = all_conditions(object).filter(|c| status_of(c) == "False" && type_of(c) != type_of(summary));
    // Its type, status and reason are in the text.
    let own = summary["message"].as_str().filter(|message| !message.is_empty()).map(str::to_owned);
    Health::new(State::Waiting, text.trim_end()).because(own.into_iter().chain(others.map(told)))
}

fn all_conditions(object: &Value) -> impl Iterator<Item = &Value> {
    object["status"]["conditions"].as_array().into_iter().flatten()
}

fn type_of(condition: &Value) -> &str {
    condition["type"].as_str().unwrap_or_default()
}

fn status_of(condition: &Value) -> &str {
    condition["status"].as_str().unwrap_or_default()
}

fn told(condition: &Value) -> String {
    let reason = condition["reason"].as_str().unwrap_or_default();
    let message = condition["message"].as_str().unwrap_or_default();
    format!("{} is {} ({reason}): {message}", type_of(condition), status_of(condition))
        .trim_end_matches([':', ' '])
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_crashing_pod_says_which_container_and_how() {
        let verdict = health(&json!({"kind": "Pod", "status": {"phase": "Running", "containerStatuses": [
            {"name": "mlflow", "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 10s"}},
             "lastState": {"terminated": {"exitCode": 3}}}]}}));
        assert_eq!(verdict.state, State::Failed);
        assert_eq!(verdict.why, ["container mlflow: CrashLoopBackOff: back-off 10s (last exit code 3)"]);
    }

    #[test]
    fn a_running_pod_without_readiness_blames_the_probe() {
        let verdict = health(&json!({"kind": "Pod", "status": {"phase": "Running", "containerStatuses": [
            {"name": "mlflow", "state": {"running": {}}}], "conditions": [{"type": "Ready", "status": "False"}]}}));
        assert_eq!(verdict.state, State::Waiting);
        assert_eq!(verdict.why, ["its readiness probe has not succeeded yet"]);
    }

    #[test]
    fn a_deployment_past_its_deadline_has_failed() {
        let verdict = health(
            &json!({"kind": "Deployment", "spec": {"replicas": 2}, "status": {"readyReplicas": 1,
            "conditions": [{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded", "message": "too late"}]}}),
        );
        assert_eq!(verdict.state, State::Failed);
        assert_eq!(verdict.summary, "1/2 ready");
        assert_eq!(verdict.why, ["Progressing is False (ProgressDeadlineExceeded): too late"]);
    }

    #[test]
    fn a_deployment_not_yet_observed_is_waiting_even_if_it_was_ready() {
        let verdict =
            health(&json!({"kind": "Deployment", "metadata": {"generation": 2}, "spec": {"replicas": 1},
            "status": {"observedGeneration": 1, "readyReplicas": 1}}));
        assert_eq!(verdict.state, State::Waiting);
    }

    #[test]
    fn a_custom_resource_is_judged_by_its_summary_condition_and_tells_the_rest() {
        let verdict = health(&json!({"kind": "MLflow", "status": {"conditions": [
            {"type": "Available", "status": "False", "reason": "DeploymentNotReady", "message": "0 of 1"},
            {"type": "Progressing", "status": "True", "reason": "Rolling", "message": ""}]}}));
        assert_eq!(verdict.summary, "Available=False DeploymentNotReady");
        assert_eq!(verdict.why, ["0 of 1"]);
    }

    #[test]
    fn deletion_tells_what_it_waits_for() {
        let verdict =
            health(&json!({"kind": "ConfigMap", "metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z",
            "finalizers": ["example.dev/hold"]}}));
        assert_eq!(verdict.state, State::Waiting);
        assert_eq!(verdict.why, ["deletion waits for finalizers: example.dev/hold"]);
    }

    #[test]
    fn what_has_no_conditions_is_plain() {
        assert_eq!(health(&json!({"kind": "Secret"})).state, State::Plain);
    }
}
