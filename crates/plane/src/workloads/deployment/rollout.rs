//! How many Pods each ReplicaSet should have next.

use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec, ReplicaSet};
use k8s_openapi::api::core::v1::Pod;

use super::super::plan::{Plan, is_controlled_by};
use super::super::pods as pod;
use super::replica_sets::{Sets, asked, available, scale_annotations};
use super::{COMPONENT, is_recreate, limits, replicas};

/// The size of the new ReplicaSet, which now has `current`, that the limits allow.
pub(super) fn new_size(spec: &DeploymentSpec, sets: &Sets<'_>, current: i32) -> i32 {
    let wanted = replicas(spec);
    if is_recreate(spec) {
        return wanted;
    }
    let room = wanted + limits(spec).0 - sets.asked();
    if room <= 0 { current } else { current + room.min(wanted - current) }
}

/// Scales the new ReplicaSet up, or down if the Deployment shrank. True if it did.
pub(super) fn scale_new(
    plan: &mut Plan,
    deployment: &Deployment,
    spec: &DeploymentSpec,
    sets: &Sets<'_>,
) -> bool {
    let Some(set) = sets.new else { return false };
    let (current, wanted) = (asked(set), replicas(spec));
    let next = if current > wanted { wanted } else { new_size(spec, sets, current) };
    resize(plan, deployment, spec, set, next)
}

/// Scales old ReplicaSets down as far as availability allows: first what is not healthy anyway. True if it did.
pub(super) fn scale_old(
    plan: &mut Plan,
    deployment: &Deployment,
    spec: &DeploymentSpec,
    sets: &Sets<'_>,
) -> bool {
    let old: i32 = sets.old.iter().map(|set| asked(set)).sum();
    if old == 0 {
        return false;
    }
    let least = replicas(spec) - limits(spec).1;
    let new_missing = sets.new.map_or(0, |set| asked(set) - available(set));
    let mut room = sets.asked() - least - new_missing;
    let mut changed = false;
    let mut sizes: Vec<(&ReplicaSet, i32)> = sets.old.iter().map(|set| (*set, asked(set))).collect();
    for (set, size) in &mut sizes {
        let unhealthy = (*size - available(set)).max(0).min(room);
        if unhealthy > 0 {
            *size -= unhealthy;
            room -= unhealthy;
            changed = true;
        }
    }
    let mut spare = (sets.available() - least).min(room);
    for (_, size) in &mut sizes {
        let down = spare.min(*size).max(0);
        *size -= down;
        spare -= down;
        changed |= down > 0;
    }
    if changed {
        for (set, size) in sizes {
            resize(plan, deployment, spec, set, size);
        }
    }
    changed
}

/// Recreate: stops all old Pods; true as long as some are left.
pub(super) fn stop_old(plan: &mut Plan, deployment: &Deployment, sets: &Sets<'_>, pods: &[Pod]) -> bool {
    let Some(spec) = &deployment.spec else { return false };
    let mut stopping = false;
    for set in &sets.old {
        stopping |= resize(plan, deployment, spec, set, 0);
        stopping |= pods
            .iter()
            .any(|p| is_controlled_by(&p.metadata, set.metadata.uid.as_ref()) && !pod::is_finished(p));
    }
    stopping
}

/// Follows a change of the Deployment's size: all of it to the one active ReplicaSet, or shared out in proportion. True if
/// something was written.
pub(super) fn scale(
    plan: &mut Plan,
    deployment: &Deployment,
    spec: &DeploymentSpec,
    sets: &Sets<'_>,
) -> bool {
    let active: Vec<&ReplicaSet> = sets.all().filter(|set| asked(set) > 0).collect();
    let only = match active.as_slice() {
        [one] => Some(*one),
        [] => sets.new,
        _ => None,
    };
    if let Some(set) = only {
        return resize(plan, deployment, spec, set, replicas(spec));
    }
    let saturated = sets.new.filter(|set| asked(set) == replicas(spec) && available(set) == replicas(spec));
    if saturated.is_some() {
        let resized = sets.old.iter().filter(|set| resize(plan, deployment, spec, set, 0));
        return resized.count() > 0;
    }
    if is_recreate(spec) {
        return false;
    }
    let allowed = if replicas(spec) > 0 { replicas(spec) + limits(spec).0 } else { 0 };
    let mut left = allowed - sets.asked();
    let mut by_size = active;
    by_size.sort_by_key(|set| {
        (std::cmp::Reverse(asked(set)), set.metadata.creation_timestamp.as_ref().map(|time| time.0))
    });
    let total = sets.asked();
    let mut sizes: Vec<(&ReplicaSet, i32)> = vec![];
    for set in by_size {
        let share = i64::from(asked(set)) * i64::from(allowed);
        let fair =
            i32::try_from((2 * share + i64::from(total)) / (2 * i64::from(total.max(1)))).unwrap_or(i32::MAX);
        let change = fair - asked(set);
        let change = if left >= 0 { change.clamp(0, left) } else { change.clamp(left, 0) };
        left -= change;
        sizes.push((set, asked(set) + change));
    }
    if let Some((_, size)) = sizes.first_mut() {
        *size = (*size + left).max(0);
    }
    sizes.into_iter().filter(|(set, size)| resize(plan, deployment, spec, set, *size)).count() > 0
}

/// Gives a ReplicaSet a size and tells it the Deployment's. True if that was news.
fn resize(
    plan: &mut Plan,
    deployment: &Deployment,
    spec: &DeploymentSpec,
    set: &ReplicaSet,
    size: i32,
) -> bool {
    let mut updated = set.clone();
    let annotations = updated.metadata.annotations.get_or_insert_default();
    annotations.extend(scale_annotations(spec));
    let current = asked(set);
    if current == size && updated.metadata.annotations == set.metadata.annotations {
        return false;
    }
    if let Some(own) = updated.spec.as_mut() {
        own.replicas = Some(size);
    }
    plan.update(&updated);
    if current != size {
        let (way, name) =
            (if size > current { "up" } else { "down" }, set.metadata.name.as_deref().unwrap_or_default());
        let message = format!("Scaled {way} replica set {name} from {current} to {size}");
        plan.event(COMPONENT, deployment, "ScalingReplicaSet", message);
    }
    true
}
