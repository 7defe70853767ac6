//! Whether the server is available.

use k8s_openapi::{
    api::apps::v1::{Deployment, DeploymentCondition},
    jiff::{SignedDuration, Timestamp},
};

use super::{Verdict, pods};
use crate::registry::{names::Names, read::Observed};

/// A Deployment that became available later than this ago may not stay so.
const COOLDOWN: SignedDuration = SignedDuration::from_secs(5);
pub(crate) const COOLING_DOWN: &str = "DeploymentCooldown";
const UNAVAILABLE: &str = "DeploymentUnavailable";

fn condition<'a>(deployment: &'a Deployment, type_: &str) -> Option<&'a DeploymentCondition> {
    deployment.status.as_ref()?.conditions.as_ref()?.iter().find(|condition| condition.type_ == type_)
}

/// What speaks against its being available, the strongest first; none if nothing does.
fn objection(deployment: &Deployment) -> Option<Option<&DeploymentCondition>> {
    let is = |found: Option<&DeploymentCondition>, status: &str| found.is_some_and(|c| c.status == status);
    let find = |type_| condition(deployment, type_);
    if is(find("ReplicaFailure"), "True") {
        return Some(find("ReplicaFailure"));
    }
    if is(find("Progressing"), "False") {
        return Some(find("Progressing"));
    }
    (!is(find("Available"), "True")).then(|| find("Available"))
}

/// True if nothing of what the Deployment says speaks against it.
pub(crate) fn is_available(deployment: &Deployment) -> bool {
    objection(deployment).is_none()
}

pub(super) fn verdict(
    names: &Names,
    deployment: &Deployment,
    observed: &Observed,
    now: Timestamp,
) -> Verdict {
    if let Some(objection) = objection(deployment) {
        let message = objection.and_then(|condition| condition.message.clone()).unwrap_or_default();
        let unavailable =
            deployment.status.as_ref().and_then(|status| status.unavailable_replicas).unwrap_or(0);
        let verdict = match unavailable {
            0 => Verdict::no(UNAVAILABLE, format!("Deployment is unavailable: {message}")),
            count => pods::verdict(observed, count),
        };
        return naming_what_is_missing(verdict, names, observed);
    }
    let Some(endpoints) = &observed.endpoints else {
        let message = format!("Service endpoints not found: endpoints {:?} not found", names.server());
        return Verdict::no(UNAVAILABLE, message);
    };
    let mut subsets = endpoints.subsets.iter().flatten();
    if !subsets.any(|subset| subset.addresses.as_ref().is_some_and(|all| !all.is_empty())) {
        return Verdict::no(UNAVAILABLE, "Service endpoints not ready - no ready addresses available");
    }
    let since =
        condition(deployment, "Available").and_then(|condition| condition.last_transition_time.as_ref());
    if since.is_some_and(|since| now.duration_since(since.0) < COOLDOWN) {
        return Verdict::no(COOLING_DOWN, "Deployment only recently available");
    }
    Verdict::yes("DeploymentAvailable", "Deployment is available")
}

/// Pods say that something is missing in many ways, and often not what.
fn naming_what_is_missing(mut verdict: Verdict, names: &Names, observed: &Observed) -> Verdict {
    if !observed.missing.is_empty() {
        let missing: Vec<String> = observed.missing.iter().map(ToString::to_string).collect();
        let (missing, namespace) = (missing.join(", "), names.namespace());
        let text = format!("{missing} not found in namespace {namespace:?}");
        // A Deployment that is new says nothing yet.
        let is_silent = verdict.message.ends_with(": ");
        verdict.message.push_str(&if is_silent { text } else { format!(" ({text})") });
    }
    verdict
}
