//! PersistentVolumeClaims: bound to a volume that fits, or to a simulated one made for them.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{
    HostPathVolumeSource, PersistentVolume, PersistentVolumeClaim, PersistentVolumeClaimStatus,
    PersistentVolumeSpec, PersistentVolumeStatus, Pod,
};
use k8s_openapi::api::storage::v1::StorageClass;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::SIMULATED;
use super::plan::{Plan, reference};
use super::pod::{Needed, needed};
use super::pods;

const COMPONENT: &str = "persistentvolume-controller";
const PROTECTION: &str = "kubernetes.io/pvc-protection";
const VOLUME_PROTECTION: &str = "kubernetes.io/pv-protection";

/// What to do with a claim.
#[derive(Debug, PartialEq)]
pub(super) enum Step {
    /// Nothing.
    Rest,
    /// Only this is to be written.
    Do(Plan),
    /// Bind it to this volume, which the plan makes or updates first.
    Bind(Plan, Box<PersistentVolume>),
}

/// What a claim depends on: all volumes and classes, and the Pods of its namespace.
#[derive(Default)]
pub(super) struct Around {
    pub(super) volumes: Vec<PersistentVolume>,
    pub(super) classes: Vec<StorageClass>,
    pub(super) users: Vec<Pod>,
}

/// The next step.
pub(super) fn step(claim: &PersistentVolumeClaim, around: &Around, now: Timestamp) -> Step {
    if claim.metadata.deletion_timestamp.is_some() {
        return release(claim, &around.users);
    }
    let phase = claim.status.as_ref().and_then(|status| status.phase.as_deref());
    if phase == Some("Bound") {
        return Step::Rest;
    }
    if let Some(volume) = around.volumes.iter().find(|volume| fits(volume, claim)) {
        let mut plan = Plan::default();
        let mut bound = volume.clone();
        bound.spec.get_or_insert_default().claim_ref = Some(reference(claim));
        plan.update(&bound);
        return Step::Bind(plan, Box::new(bound));
    }
    let spec = claim.spec.clone().unwrap_or_default();
    // An empty class asks for a volume that somebody made by hand.
    if spec.storage_class_name.as_deref() == Some("") || spec.volume_name.is_some() {
        let mut plan = Plan::default();
        if claim.status.as_ref().is_none_or(|status| status.conditions.is_none())
            && phase.is_none_or(|phase| phase == "Pending")
        {
            let message = "no persistent volumes available for this claim and no storage class is set";
            plan.event(COMPONENT, claim, "FailedBinding", message.into());
        }
        plan.again_in(std::time::Duration::from_secs(15));
        return Step::Do(plan);
    }
    let mut plan = Plan::default();
    // Without a class, the plane is the default one; with one, it must be there.
    if let Some(name) = &spec.storage_class_name {
        let Some(class) = around.classes.iter().find(|class| class.metadata.name.as_ref() == Some(name))
        else {
            let message = format!("storageclass.storage.k8s.io {name:?} not found");
            plan.warn(COMPONENT, claim, "ProvisioningFailed", message);
            return Step::Do(plan);
        };
        let waits = class.volume_binding_mode.as_deref() == Some("WaitForFirstConsumer");
        if waits && !around.users.iter().any(|pod| uses(pod, claim)) {
            let message = "waiting for first consumer to be created before binding";
            plan.event(COMPONENT, claim, "WaitForFirstConsumer", message.into());
            return Step::Do(plan);
        }
    }
    let volume = provisioned(claim, now);
    plan.create(&volume);
    let name = volume.metadata.name.as_deref().unwrap_or_default();
    plan.event(COMPONENT, claim, "ProvisioningSucceeded", format!("Successfully provisioned volume {name}"));
    Step::Bind(plan, Box::new(volume))
}

/// The claim as it is once bound to a volume: name, annotations and status.
pub(super) fn bound(claim: &PersistentVolumeClaim, volume: &PersistentVolume) -> PersistentVolumeClaim {
    let mut claim = claim.clone();
    let spec = volume.spec.clone().unwrap_or_default();
    claim.spec.get_or_insert_default().volume_name = volume.metadata.name.clone();
    let annotations = claim.metadata.annotations.get_or_insert_default();
    for key in ["pv.kubernetes.io/bind-completed", "pv.kubernetes.io/bound-by-controller"] {
        annotations.insert(key.into(), "yes".into());
    }
    claim.status = Some(PersistentVolumeClaimStatus {
        phase: Some("Bound".into()),
        access_modes: spec.access_modes,
        capacity: spec.capacity,
        ..PersistentVolumeClaimStatus::default()
    });
    claim
}

/// A deleted claim goes when no Pod uses it any more.
fn release(claim: &PersistentVolumeClaim, users: &[Pod]) -> Step {
    let held = claim.metadata.finalizers.iter().flatten().any(|finalizer| finalizer == PROTECTION);
    if !held || users.iter().any(|pod| !pods::is_finished(pod) && uses(pod, claim)) {
        return Step::Rest;
    }
    let mut plan = Plan::default();
    let mut released = claim.clone();
    released.metadata.finalizers.get_or_insert_default().retain(|finalizer| finalizer != PROTECTION);
    plan.update(&released);
    Step::Do(plan)
}

fn uses(pod: &Pod, claim: &PersistentVolumeClaim) -> bool {
    let name = claim.metadata.name.as_deref().unwrap_or_default();
    needed(pod).iter().any(|needed| matches!(needed, Needed::Claim(claim) if claim == name))
}

/// A deleted volume that no claim is bound to needs no more protection.
pub(super) fn release_volume(volume: &PersistentVolume) -> Plan {
    let mut plan = Plan::default();
    let protected = volume.metadata.finalizers.iter().flatten().any(|known| known == VOLUME_PROTECTION);
    let claimed = volume.spec.as_ref().is_some_and(|spec| spec.claim_ref.is_some());
    if volume.metadata.deletion_timestamp.is_some() && protected && !claimed {
        let mut released = volume.clone();
        released.metadata.finalizers.get_or_insert_default().retain(|known| known != VOLUME_PROTECTION);
        plan.update(&released);
    }
    plan
}

fn fits(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> bool {
    let (volume_spec, spec) =
        (volume.spec.clone().unwrap_or_default(), claim.spec.clone().unwrap_or_default());
    if let Some(taken) = &volume_spec.claim_ref {
        let same = (&taken.namespace, &taken.name) == (&claim.metadata.namespace, &claim.metadata.name);
        return same && taken.uid.as_ref().is_none_or(|uid| Some(uid) == claim.metadata.uid.as_ref());
    }
    if let Some(name) = &spec.volume_name {
        return Some(name) == volume.metadata.name.as_ref();
    }
    let modes = volume_spec.access_modes.unwrap_or_default();
    volume_spec.storage_class_name.unwrap_or_default() == spec.storage_class_name.unwrap_or_default()
        && spec.access_modes.iter().flatten().all(|mode| modes.contains(mode))
        && spec.resources.and_then(|r| r.requests).is_none_or(|wanted| {
            let size = volume_spec.capacity.unwrap_or_default();
            wanted.get("storage").is_none_or(|wanted| size.get("storage") == Some(wanted))
        })
}

fn provisioned(claim: &PersistentVolumeClaim, now: Timestamp) -> PersistentVolume {
    let spec = claim.spec.clone().unwrap_or_default();
    let name = format!("pvc-{}", claim.metadata.uid.as_deref().unwrap_or_default());
    PersistentVolume {
        metadata: ObjectMeta {
            name: Some(name.clone()),
            annotations: Some([(SIMULATED.to_owned(), "true".to_owned())].into()),
            ..ObjectMeta::default()
        },
        spec: Some(PersistentVolumeSpec {
            access_modes: spec.access_modes,
            capacity: spec.resources.and_then(|resources| resources.requests),
            claim_ref: Some(reference(claim)),
            host_path: Some(HostPathVolumeSource { path: format!("/simulated/{name}"), type_: None }),
            persistent_volume_reclaim_policy: Some("Delete".into()),
            storage_class_name: spec.storage_class_name,
            volume_mode: spec.volume_mode,
            ..PersistentVolumeSpec::default()
        }),
        status: Some(PersistentVolumeStatus {
            phase: Some("Bound".into()),
            last_phase_transition_time: Some(pods::time(now)),
            ..PersistentVolumeStatus::default()
        }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn claim(class: Option<&str>) -> PersistentVolumeClaim {
        serde_json::from_value(json!({
            "metadata": { "name": "data", "namespace": "a", "uid": "u1" },
            "spec": { "accessModes": ["ReadWriteOnce"], "storageClassName": class, "resources": { "requests": { "storage": "1Gi" } } },
            "status": { "phase": "Pending" },
        }))
        .unwrap()
    }

    #[test]
    fn a_claim_gets_a_volume_of_its_own_size() {
        let claim = claim(None);
        let Step::Bind(plan, volume) = step(&claim, &Around::default(), Timestamp::UNIX_EPOCH) else {
            panic!("not bound")
        };
        assert_eq!(plan.writes.len(), 2, "the volume and an event");
        let bound = bound(&claim, &volume);
        assert_eq!(bound.spec.as_ref().unwrap().volume_name.as_deref(), Some("pvc-u1"));
        let status = bound.status.clone().unwrap();
        assert_eq!(
            (status.phase.as_deref(), status.capacity.unwrap()["storage"].0.as_str()),
            (Some("Bound"), "1Gi")
        );
        let around = Around { volumes: vec![*volume], ..Around::default() };
        assert_eq!(step(&bound, &around, Timestamp::UNIX_EPOCH), Step::Rest);
    }

    #[test]
    fn an_empty_class_waits_for_a_volume_made_by_hand() {
        let claim = claim(Some(""));
        assert!(matches!(step(&claim, &Around::default(), Timestamp::UNIX_EPOCH), Step::Do(_)));
        let volume: PersistentVolume = serde_json::from_value(json!({
            "metadata": { "name": "mine" },
            "spec": { "accessModes": ["ReadWriteOnce"], "capacity": { "storage": "1Gi" } },
        }))
        .unwrap();
        let around = Around { volumes: vec![volume], ..Around::default() };
        let Step::Bind(_, taken) = step(&claim, &around, Timestamp::UNIX_EPOCH) else { panic!("not bound") };
        assert_eq!(taken.spec.unwrap().claim_ref.unwrap().uid.as_deref(), Some("u1"));
    }

    #[test]
    fn a_deleted_claim_stays_as_long_as_a_pod_uses_it() {
        let mut claim = claim(None);
        claim.metadata.deletion_timestamp = Some(pods::time(Timestamp::UNIX_EPOCH));
        claim.metadata.finalizers = Some(vec![PROTECTION.into()]);
        let pod: Pod = serde_json::from_value(json!({ "spec": { "containers": [],
            "volumes": [{ "name": "v", "persistentVolumeClaim": { "claimName": "data" } }] } }))
        .unwrap();
        let used = Around { users: vec![pod], ..Around::default() };
        assert_eq!(step(&claim, &used, Timestamp::UNIX_EPOCH), Step::Rest);
        assert!(matches!(step(&claim, &Around::default(), Timestamp::UNIX_EPOCH), Step::Do(_)));
    }

    #[test]
    fn a_class_must_exist_and_may_want_a_user_first() {
        let claim = claim(Some("slow"));
        let at = |around: &Around| step(&claim, around, Timestamp::UNIX_EPOCH);
        assert!(matches!(at(&Around::default()), Step::Do(_)), "no such class");
        let class: StorageClass = serde_json::from_value(json!({ "metadata": { "name": "slow" },
            "provisioner": "x.y/z", "volumeBindingMode": "WaitForFirstConsumer" }))
        .unwrap();
        let mut around = Around { classes: vec![class], ..Around::default() };
        assert!(matches!(at(&around), Step::Do(_)), "nobody uses it yet");
        let pod: Pod = serde_json::from_value(json!({ "spec": { "containers": [],
            "volumes": [{ "name": "v", "persistentVolumeClaim": { "claimName": "data" } }] } }))
        .unwrap();
        around.users.push(pod);
        assert!(matches!(at(&around), Step::Bind(..)));
    }
}
