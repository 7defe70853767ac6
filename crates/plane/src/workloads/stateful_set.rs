//! StatefulSets: Pods with names, in order, each with its own claims.

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{ControllerRevision, StatefulSet, StatefulSetSpec, StatefulSetStatus};
use k8s_openapi::api::core::v1::{
    PersistentVolumeClaim, PersistentVolumeClaimVolumeSource, Pod, PodTemplateSpec, Volume,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

use super::plan::{Plan, owner};
use super::pods;
use super::revisions::{self, LABEL as REVISION};

const COMPONENT: &str = "statefulset-controller";

/// What to do next, given the Pods and revisions it controls and the claims of its namespace.
pub(super) fn plan(
    set: &StatefulSet,
    owned: &[Pod],
    revisions: &[ControllerRevision],
    claims: &[PersistentVolumeClaim],
    now: Timestamp,
) -> Plan {
    let mut plan = Plan::default();
    let Some(spec) = set.spec.as_ref() else { return plan };
    let update = revision_name(set, spec);
    if set.metadata.deletion_timestamp.is_none() {
        let old = current_revision(set, &update);
        let mut used: Vec<&str> = owned.iter().filter_map(revision_of).collect();
        used.push(&old);
        let now =
            revisions::Current { name: update.clone(), label: update.clone(), template: &spec.template };
        revisions::sync(&mut plan, set, &now, revisions, spec.revision_history_limit, &used);
        // Pods below the partition keep the template they had, also when they are made anew.
        let before = revisions::template(revisions, &old).map(|template| (old, template));
        let making = Making { set, spec, claims, update: &update, before };
        step(&mut plan, &making, owned);
        retain(&mut plan, set, spec, owned, claims);
    }
    let status = status(set, spec, owned, &update, now, &mut plan);
    if set.status.as_ref() != Some(&status) {
        plan.update_status(&StatefulSet { status: Some(status), ..set.clone() });
    }
    plan
}

fn replicas(spec: &StatefulSetSpec) -> i32 {
    spec.replicas.unwrap_or(1)
}

fn first(spec: &StatefulSetSpec) -> i32 {
    spec.ordinals.as_ref().and_then(|ordinals| ordinals.start).unwrap_or(0)
}

fn revision_name(set: &StatefulSet, spec: &StatefulSetSpec) -> String {
    format!("{}-{}", set.metadata.name.as_deref().unwrap_or_default(), pods::template_hash(&spec.template, 0))
}

fn ordinal(pod: &Pod) -> Option<i32> {
    pod.metadata.name.as_ref()?.rsplit_once('-')?.1.parse().ok()
}

fn revision_of(pod: &Pod) -> Option<&str> {
    pod.metadata.labels.as_ref()?.get(REVISION).map(String::as_str)
}

fn partition(spec: &StatefulSetSpec) -> i32 {
    let rolling = spec.update_strategy.as_ref().and_then(|strategy| strategy.rolling_update.as_ref());
    rolling.and_then(|rolling| rolling.partition).unwrap_or(0)
}

/// The revision that Pods had before the present update.
fn current_revision(set: &StatefulSet, update: &str) -> String {
    let known = set.status.as_ref().and_then(|status| status.current_revision.clone());
    known.filter(|current| !current.is_empty()).unwrap_or_else(|| update.to_owned())
}

/// What Pods are made from.
struct Making<'a> {
    set: &'a StatefulSet,
    spec: &'a StatefulSetSpec,
    claims: &'a [PersistentVolumeClaim],
    /// The revision of the template.
    update: &'a str,
    /// The revision before, and its template.
    before: Option<(String, PodTemplateSpec)>,
}

impl Making<'_> {
    /// The revision and template of the Pod with this number.
    fn template(&self, number: i32) -> (&str, &PodTemplateSpec) {
        match &self.before {
            Some((revision, template)) if number < partition(self.spec) => (revision, template),
            _ => (self.update, &self.spec.template),
        }
    }
}

/// One Pod made, replaced or removed at a time, unless they may be handled in parallel.
fn step(plan: &mut Plan, making: &Making<'_>, owned: &[Pod]) {
    let Making { set, spec, update, .. } = *making;
    let parallel = spec.pod_management_policy.as_deref() == Some("Parallel");
    let range = first(spec)..first(spec) + replicas(spec);
    let find = |number: i32| owned.iter().find(|pod| ordinal(pod) == Some(number));
    for number in range.clone() {
        match find(number) {
            None => {
                create(plan, making, number);
                if !parallel {
                    return;
                }
            }
            Some(pod) if pods::is_finished(pod) && !pods::is_terminating(pod) => {
                plan.delete(pod);
                return;
            }
            Some(pod) if !parallel && (!pods::is_ready(pod) || pods::is_terminating(pod)) => return,
            Some(_) => {}
        }
    }
    let mut surplus: Vec<&Pod> =
        owned.iter().filter(|pod| ordinal(pod).is_some_and(|number| !range.contains(&number))).collect();
    surplus.sort_by_key(|pod| std::cmp::Reverse(ordinal(pod)));
    for pod in &surplus {
        if !pods::is_terminating(pod) {
            remove(plan, set, pod);
        }
        if !parallel {
            return;
        }
    }
    if !surplus.is_empty()
        || spec.update_strategy.as_ref().and_then(|s| s.type_.as_deref()) == Some("OnDelete")
    {
        return;
    }
    for number in range.rev().filter(|number| *number >= partition(spec)) {
        match find(number) {
            Some(pod) if pods::is_terminating(pod) => return,
            Some(pod) if revision_of(pod) != Some(update) => return remove(plan, set, pod),
            Some(pod) if !pods::is_ready(pod) => return,
            _ => {}
        }
    }
}

fn remove(plan: &mut Plan, set: &StatefulSet, pod: &Pod) {
    plan.delete(pod);
    let (pod, set_name) =
        (pod.metadata.name.as_deref().unwrap_or_default(), set.metadata.name.as_deref().unwrap_or_default());
    plan.event(
        COMPONENT,
        set,
        "SuccessfulDelete",
        format!("Delete Pod {pod} in StatefulSet {set_name} successful"),
    );
}

fn create(plan: &mut Plan, making: &Making<'_>, number: i32) {
    let Making { set, spec, claims, .. } = *making;
    let (revision, template) = making.template(number);
    let set_name = set.metadata.name.clone().unwrap_or_default();
    let name = format!("{set_name}-{number}");
    let mut pod = pods::of_template(set, template);
    pod.metadata.name = Some(name.clone());
    let labels = pod.metadata.labels.get_or_insert_default();
    labels.insert(REVISION.into(), revision.into());
    labels.insert("statefulset.kubernetes.io/pod-name".into(), name.clone());
    labels.insert("apps.kubernetes.io/pod-index".into(), number.to_string());
    let pod_spec = pod.spec.get_or_insert_default();
    pod_spec.hostname = Some(name.clone());
    pod_spec.subdomain = spec.service_name.clone();
    for template in spec.volume_claim_templates.iter().flatten() {
        let volume = template.metadata.name.clone().unwrap_or_default();
        let claim_name = format!("{volume}-{name}");
        let volumes = pod_spec.volumes.get_or_insert_default();
        volumes.retain(|known| known.name != volume);
        let source = PersistentVolumeClaimVolumeSource { claim_name: claim_name.clone(), read_only: None };
        volumes.push(Volume { name: volume, persistent_volume_claim: Some(source), ..Volume::default() });
        if claims.iter().any(|claim| claim.metadata.name.as_ref() == Some(&claim_name)) {
            continue;
        }
        let mut labels = template.metadata.labels.clone().unwrap_or_default();
        labels.extend(spec.selector.match_labels.clone().unwrap_or_default());
        let metadata = ObjectMeta {
            name: Some(claim_name.clone()),
            namespace: set.metadata.namespace.clone(),
            labels: Some(labels),
            annotations: template.metadata.annotations.clone(),
            ..ObjectMeta::default()
        };
        plan.create(&PersistentVolumeClaim { metadata, spec: template.spec.clone(), status: None });
        let message = format!("Create Claim {claim_name} Pod {name} in StatefulSet {set_name} success");
        plan.event(COMPONENT, set, "SuccessfulCreate", message);
    }
    plan.create(&pod);
    plan.event(
        COMPONENT,
        set,
        "SuccessfulCreate",
        format!("Create Pod {name} in StatefulSet {set_name} successful"),
    );
}

/// What the retention policy says: claims that go with the set are owned by it, claims that go when it shrinks by the
/// Pod that is leaving.
fn retain(
    plan: &mut Plan,
    set: &StatefulSet,
    spec: &StatefulSetSpec,
    owned: &[Pod],
    claims: &[PersistentVolumeClaim],
) {
    let Some(policy) = &spec.persistent_volume_claim_retention_policy else { return };
    let deletes = |rule: &Option<String>| rule.as_deref() == Some("Delete");
    let (on_delete, on_scale) = (deletes(&policy.when_deleted), deletes(&policy.when_scaled));
    let set_name = set.metadata.name.as_deref().unwrap_or_default();
    let range = first(spec)..first(spec) + replicas(spec);
    for template in spec.volume_claim_templates.iter().flatten() {
        let prefix = format!("{}-{set_name}-", template.metadata.name.as_deref().unwrap_or_default());
        for claim in claims {
            let name = claim.metadata.name.as_deref().unwrap_or_default();
            let Some(number) = name.strip_prefix(&prefix).and_then(|number| number.parse::<i32>().ok())
            else {
                continue;
            };
            let pod = owned.iter().find(|pod| ordinal(pod) == Some(number));
            let leaving = !range.contains(&number);
            let mut wanted: Vec<OwnerReference> = claim.metadata.owner_references.clone().unwrap_or_default();
            let ours = |owner: &OwnerReference| {
                Some(&owner.uid) == set.metadata.uid.as_ref()
                    || owner.kind == "Pod" && owner.name == format!("{set_name}-{number}")
            };
            wanted.retain(|owner| !ours(owner));
            match (leaving, pod) {
                (true, Some(pod)) if on_scale => wanted.push(plain_owner(pod)),
                (true, None) if on_scale => continue, // it goes with the Pod that has just left
                (false, _) if on_delete => wanted.push(plain_owner(set)),
                (true, _) if on_delete => wanted.push(plain_owner(set)),
                _ => {}
            }
            if claim.metadata.owner_references.clone().unwrap_or_default() != wanted {
                let mut updated = claim.clone();
                updated.metadata.owner_references = (!wanted.is_empty()).then_some(wanted);
                plan.update(&updated);
            }
        }
    }
}

/// An owner that does not control.
fn plain_owner<K: k8s_openapi::Metadata<Ty = ObjectMeta>>(object: &K) -> OwnerReference {
    OwnerReference { controller: None, block_owner_deletion: None, ..owner(object) }
}

fn status(
    set: &StatefulSet,
    spec: &StatefulSetSpec,
    owned: &[Pod],
    update: &str,
    now: Timestamp,
    plan: &mut Plan,
) -> StatefulSetStatus {
    let old = set.status.clone().unwrap_or_default();
    let live: Vec<&Pod> = owned.iter().filter(|pod| !pods::is_terminating(pod)).collect();
    let count = |wanted: &dyn Fn(&Pod) -> bool| {
        i32::try_from(live.iter().filter(|pod| wanted(pod)).count()).unwrap_or(i32::MAX)
    };
    let updated = count(&|pod| revision_of(pod) == Some(update));
    let ready = count(&pods::is_ready);
    let available = live.iter().filter_map(|pod| pods::available_in(pod, spec.min_ready_seconds, now));
    let available = available.filter(|left| {
        if !left.is_zero() {
            plan.again_in(*left);
        }
        left.is_zero()
    });
    let available = i32::try_from(available.count()).unwrap_or(i32::MAX);
    let current = current_revision(set, update);
    // The update revision becomes the current one when every Pod has it and is ready.
    let rolled = updated == replicas(spec) && ready == replicas(spec);
    let current = if rolled { update.to_owned() } else { current };
    let on_current = count(&|pod| revision_of(pod) == Some(current.as_str()));
    let some = |count: i32| (count > 0).then_some(count);
    StatefulSetStatus {
        observed_generation: set.metadata.generation,
        replicas: i32::try_from(owned.len()).unwrap_or(i32::MAX),
        ready_replicas: some(ready),
        available_replicas: Some(available),
        current_replicas: some(on_current),
        updated_replicas: some(updated),
        current_revision: Some(current),
        update_revision: Some(update.into()),
        collision_count: Some(old.collision_count.unwrap_or(0)),
        conditions: old.conditions,
    }
}
