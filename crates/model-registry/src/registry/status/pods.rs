//! What the pods of a server that is not available say.

use k8s_openapi::api::core::v1::{ContainerStatus, Pod};
use kube::ResourceExt;

use super::Verdict;
use crate::registry::{logs::Finding, names::REST_CONTAINER, read::Observed};

const UNAVAILABLE: &str = "DeploymentUnavailable";

/// True if the server's log may say why the pod does not come up.
pub(crate) fn has_something_to_tell(pod: &Pod) -> bool {
    unready(pod).any(|status| {
        let waiting = status.state.as_ref().and_then(|state| state.waiting.as_ref());
        status.name == REST_CONTAINER
            && waiting.is_some_and(|waiting| waiting.reason.as_deref() != Some("ContainerCreating"))
    })
}

/// The containers that are not ready, in the pod's own order; those that run first come first.
fn unready(pod: &Pod) -> impl Iterator<Item = &ContainerStatus> {
    let status = pod.status.as_ref();
    let first = status.and_then(|status| status.init_container_statuses.as_ref()).into_iter().flatten();
    let then = status.and_then(|status| status.container_statuses.as_ref()).into_iter().flatten();
    first.chain(then).filter(|status| !status.ready)
}

/// The first pod that says something decides.
pub(super) fn verdict(observed: &Observed, unavailable: i32) -> Verdict {
    let said = observed.pods.iter().find_map(|pod| said(pod, observed.findings.get(&pod.name_any())));
    said.unwrap_or_else(|| {
        let message = format!("Deployment is unavailable: {unavailable} containers unavailable");
        Verdict::no(UNAVAILABLE, message)
    })
}

fn said(pod: &Pod, finding: Option<&Finding>) -> Option<Verdict> {
    match finding {
        Some(Finding::Alert(line)) => {
            return Some(Verdict::no("ResourcesAlert", format!("rest container alert: {line}")));
        }
        Some(Finding::Database(why)) => {
            return Some(Verdict::no("ConfigurationError", format!("database configuration error: {why}")));
        }
        None => {}
    }
    let name = pod.name_any();
    let records: Vec<String> = unready(pod).filter_map(record).collect();
    if !records.is_empty() {
        let records = records.join(", ");
        let message = format!("Deployment is unavailable: pod {name} has unready containers [{records}]");
        return Some(Verdict::no(UNAVAILABLE, message));
    }
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    let ready =
        conditions.iter().find(|condition| condition.type_ == "Ready" && condition.status == "False")?;
    let (reason, message) = (text(&ready.reason), text(&ready.message));
    let message = format!(
        "Deployment is unavailable: pod {name} containers not ready: {{reason: {reason}, message: {message}}}"
    );
    Some(Verdict::no(UNAVAILABLE, message))
}

/// What a container that is not ready does, unless it just runs.
fn record(status: &ContainerStatus) -> Option<String> {
    let state = status.state.as_ref()?;
    let (word, reason, message) = match (&state.waiting, &state.terminated) {
        (Some(waiting), _) => ("waiting", &waiting.reason, &waiting.message),
        (None, Some(ended)) => ("terminated", &ended.reason, &ended.message),
        _ => return None,
    };
    let (name, reason, message) = (&status.name, text(reason), text(message));
    Some(format!("{name}: {{{word}: {{reason: {reason}, message: {message}}}}}"))
}

fn text(value: &Option<String>) -> &str {
    value.as_deref().unwrap_or_default()
}
