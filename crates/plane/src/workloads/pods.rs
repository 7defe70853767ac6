//! What all controllers of Pods ask about Pods, and how they make them.

use std::cmp::Reverse;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::Metadata;
use k8s_openapi::api::core::v1::{Pod, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use serde::Serialize;

use super::plan::owner;

/// The alphabet of generated names: no vowels, no digits that look like letters.
const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

/// A Pod of a template, owned by its controller; the server completes the name.
pub(super) fn of_template<K: Metadata<Ty = ObjectMeta>>(controller: &K, template: &PodTemplateSpec) -> Pod {
    let meta = controller.metadata();
    let from = template.metadata.clone().unwrap_or_default();
    Pod {
        metadata: ObjectMeta {
            generate_name: Some(format!("{}-", meta.name.as_deref().unwrap_or_default())),
            namespace: meta.namespace.clone(),
            labels: from.labels,
            annotations: from.annotations,
            finalizers: from.finalizers,
            owner_references: Some(vec![owner(controller)]),
            ..ObjectMeta::default()
        },
        spec: template.spec.clone(),
        status: None,
    }
}

pub(super) fn phase(pod: &Pod) -> &str {
    pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or("Pending")
}

pub(super) fn is_terminating(pod: &Pod) -> bool {
    pod.metadata.deletion_timestamp.is_some()
}

pub(super) fn is_finished(pod: &Pod) -> bool {
    matches!(phase(pod), "Succeeded" | "Failed")
}

/// Neither finished nor on its way out.
pub(super) fn is_active(pod: &Pod) -> bool {
    !is_terminating(pod) && !is_finished(pod)
}

/// Since when the Pod has been ready; none if it is not.
pub(super) fn ready_since(pod: &Pod) -> Option<Timestamp> {
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    let ready = conditions.iter().find(|c| c.type_ == "Ready" && c.status == "True")?;
    Some(ready.last_transition_time.as_ref().map_or(Timestamp::MIN, |time| time.0))
}

pub(super) fn is_ready(pod: &Pod) -> bool {
    ready_since(pod).is_some()
}

/// How long until a ready Pod counts as available; zero if it does, none if it is not ready.
pub(super) fn available_in(pod: &Pod, min_ready_seconds: Option<i32>, now: Timestamp) -> Option<Duration> {
    let since = ready_since(pod)?;
    let wait = i64::from(min_ready_seconds.unwrap_or(0).max(0));
    if wait == 0 {
        return Some(Duration::ZERO);
    }
    let left = since.as_second().saturating_add(wait).saturating_sub(now.as_second());
    Some(Duration::from_secs(u64::try_from(left).unwrap_or(0)))
}

/// Sorts Pods so that those come first that would be missed least.
pub(super) fn deletion_rank(pod: &Pod) -> impl Ord + use<> {
    let spec = pod.spec.as_ref();
    let cost =
        pod.metadata.annotations.as_ref().and_then(|a| a.get("controller.kubernetes.io/pod-deletion-cost"));
    let cost: i32 = cost.and_then(|cost| cost.parse().ok()).unwrap_or(0);
    let statuses = pod.status.as_ref().and_then(|status| status.container_statuses.as_ref());
    let restarts = statuses.into_iter().flatten().map(|status| status.restart_count).max().unwrap_or(0);
    let created = pod.metadata.creation_timestamp.as_ref().map_or(Timestamp::MIN, |time| time.0);
    (
        spec.is_some_and(|spec| spec.node_name.is_some()),
        phase(pod) == "Running",
        is_ready(pod),
        cost,
        Reverse(ready_since(pod)),
        Reverse(restarts),
        Reverse(created),
        pod.metadata.name.clone(),
    )
}

/// A short name for what a template says; the same for the same template.
pub(super) fn template_hash(template: &impl Serialize, collisions: i32) -> String {
    let json = serde_json::to_string(template).unwrap_or_default();
    let salt = (collisions > 0).then(|| collisions.to_le_bytes());
    let mut hash: u32 = 0x811c_9dc5;
    for byte in json.bytes().chain(salt.into_iter().flatten()) {
        hash = (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    }
    let letter = |digit: u8| char::from(ALPHABET[usize::from(digit) % ALPHABET.len()]);
    hash.to_string().bytes().map(letter).collect()
}

/// A time as objects write it: whole seconds.
pub(super) fn time(now: Timestamp) -> Time {
    Time(Timestamp::from_second(now.as_second()).unwrap_or(now))
}
