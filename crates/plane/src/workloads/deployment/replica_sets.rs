//! Which ReplicaSet is the new one, how a new one is made, and how revisions are counted.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec, ReplicaSet, ReplicaSetSpec};
use k8s_openapi::api::core::v1::PodTemplateSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::super::plan::{Plan, owner};
use super::super::pods;
use super::{COMPONENT, REVISION, conditions, limits, replicas};

const HASH_LABEL: &str = "pod-template-hash";
const HISTORY: &str = "deployment.kubernetes.io/revision-history";
const DESIRED: &str = "deployment.kubernetes.io/desired-replicas";
const MAX: &str = "deployment.kubernetes.io/max-replicas";
/// Annotations of the Deployment that its ReplicaSets do not take over.
const OWN: &[&str] = &[
    "kubectl.kubernetes.io/last-applied-configuration",
    REVISION,
    HISTORY,
    DESIRED,
    MAX,
    "deprecated.deployment.rollback.to",
];

/// The ReplicaSets of a Deployment: the one of its template, and the others, oldest first.
pub(super) struct Sets<'a> {
    pub(super) new: Option<&'a ReplicaSet>,
    pub(super) old: Vec<&'a ReplicaSet>,
}

impl<'a> Sets<'a> {
    pub(super) fn new(deployment: &Deployment, spec: &DeploymentSpec, owned: &'a [ReplicaSet]) -> Self {
        debug_assert!(deployment.metadata.name.is_some());
        let mut all: Vec<&ReplicaSet> = owned.iter().collect();
        all.sort_by_key(|set| {
            let created = set.metadata.creation_timestamp.as_ref().map_or(Timestamp::MIN, |time| time.0);
            (created, set.metadata.name.clone())
        });
        let new = all.iter().position(|set| {
            let template = set.spec.as_ref().and_then(|spec| spec.template.as_ref());
            template.is_some_and(|template| same_template(template, &spec.template))
        });
        let new = new.map(|place| all.remove(place));
        Self { new, old: all }
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &'a ReplicaSet> {
        self.old.iter().copied().chain(self.new)
    }

    /// Pods asked for in all ReplicaSets together.
    pub(super) fn asked(&self) -> i32 {
        self.all().map(asked).sum()
    }

    pub(super) fn available(&self) -> i32 {
        self.all().map(available).sum()
    }

    /// Whether the Deployment was scaled since its ReplicaSets were last told.
    pub(super) fn need_scaling(&self, spec: &DeploymentSpec) -> bool {
        self.all().filter(|set| asked(set) > 0).any(|set| {
            let told = annotation(set, DESIRED).and_then(|text| text.parse::<i32>().ok());
            told.is_some_and(|told| told != replicas(spec))
        })
    }

    /// Brings the new ReplicaSet's revision and annotations up to date. True if something was to be written.
    pub(super) fn sync_revision(
        &self,
        plan: &mut Plan,
        deployment: &Deployment,
        spec: &DeploymentSpec,
        now: Timestamp,
    ) -> bool {
        let Some(set) = self.new else { return false };
        let highest = self.old.iter().map(|set| revision(set)).max().unwrap_or(0);
        let mut updated = set.clone();
        let wanted = annotations(deployment, spec, Some(set), highest + 1);
        let min_ready = spec.min_ready_seconds;
        let mut changed = updated.metadata.annotations.as_ref() != Some(&wanted);
        updated.metadata.annotations = Some(wanted);
        if let Some(own) = updated.spec.as_mut()
            && own.min_ready_seconds.unwrap_or(0) != min_ready.unwrap_or(0)
        {
            own.min_ready_seconds = min_ready;
            changed = true;
        }
        if changed {
            plan.update(&updated);
            return true;
        }
        let shown = deployment.metadata.annotations.as_ref().and_then(|a| a.get(REVISION));
        let unknown = !conditions::has_progress(deployment);
        if shown.map(String::as_str) == annotation(set, REVISION) && !unknown {
            return false;
        }
        let name = set.metadata.name.as_deref().unwrap_or_default();
        let message = format!("Found new replica set {name:?}");
        let note = unknown.then_some(("FoundNewReplicaSet", message));
        conditions::note_revision(plan, deployment, annotation(set, REVISION).unwrap_or("1"), note, now);
        true
    }
}

pub(super) fn asked(set: &ReplicaSet) -> i32 {
    set.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1)
}

pub(super) fn available(set: &ReplicaSet) -> i32 {
    set.status.as_ref().and_then(|status| status.available_replicas).unwrap_or(0)
}

fn annotation<'a>(set: &'a ReplicaSet, key: &str) -> Option<&'a str> {
    set.metadata.annotations.as_ref()?.get(key).map(String::as_str)
}

fn revision(set: &ReplicaSet) -> i64 {
    annotation(set, REVISION).and_then(|text| text.parse().ok()).unwrap_or(0)
}

fn same_template(one: &PodTemplateSpec, other: &PodTemplateSpec) -> bool {
    let plain = |template: &PodTemplateSpec| {
        let mut template = template.clone();
        if let Some(labels) = template.metadata.as_mut().and_then(|meta| meta.labels.as_mut()) {
            labels.remove(HASH_LABEL);
        }
        template
    };
    plain(one) == plain(other)
}

/// The annotations of the new ReplicaSet. Its revision grows only when it is not the highest already.
fn annotations(
    deployment: &Deployment,
    spec: &DeploymentSpec,
    set: Option<&ReplicaSet>,
    next: i64,
) -> BTreeMap<String, String> {
    let mut all = set.and_then(|set| set.metadata.annotations.clone()).unwrap_or_default();
    for (key, value) in deployment.metadata.annotations.iter().flatten() {
        if !OWN.contains(&key.as_str()) {
            all.insert(key.clone(), value.clone());
        }
    }
    let known: i64 = all.get(REVISION).and_then(|text| text.parse().ok()).unwrap_or(0);
    if known < next {
        let former = all.insert(REVISION.into(), next.to_string());
        if let Some(former) = former {
            let history = all.get(HISTORY).map_or(former.clone(), |history| format!("{history},{former}"));
            all.insert(HISTORY.into(), history);
        }
    }
    all.extend(scale_annotations(spec));
    all
}

/// What a ReplicaSet is told of the Deployment's size.
pub(super) fn scale_annotations(spec: &DeploymentSpec) -> [(String, String); 2] {
    let most = replicas(spec) + limits(spec).0;
    [(DESIRED.into(), replicas(spec).to_string()), (MAX.into(), most.to_string())]
}

/// Makes the ReplicaSet of the template, with as many Pods as the rollout allows at once.
pub(super) fn create_new(
    plan: &mut Plan,
    deployment: &Deployment,
    spec: &DeploymentSpec,
    sets: &Sets<'_>,
    now: Timestamp,
) {
    let collisions = deployment.status.as_ref().and_then(|status| status.collision_count).unwrap_or(0);
    let hash = pods::template_hash(&spec.template, collisions);
    let name = format!("{}-{hash}", deployment.metadata.name.as_deref().unwrap_or_default());
    let mut template = spec.template.clone();
    let labels = template.metadata.get_or_insert_default().labels.get_or_insert_default();
    labels.insert(HASH_LABEL.into(), hash.clone());
    let labels = labels.clone();
    let mut selector = spec.selector.clone();
    selector.match_labels.get_or_insert_default().insert(HASH_LABEL.into(), hash);
    let highest = sets.old.iter().map(|set| revision(set)).max().unwrap_or(0);
    let first = super::rollout::new_size(spec, sets, 0);
    let set = ReplicaSet {
        metadata: ObjectMeta {
            name: Some(name.clone()),
            namespace: deployment.metadata.namespace.clone(),
            labels: Some(labels),
            annotations: Some(annotations(deployment, spec, None, highest + 1)),
            owner_references: Some(vec![owner(deployment)]),
            ..ObjectMeta::default()
        },
        spec: Some(ReplicaSetSpec {
            replicas: Some(first),
            min_ready_seconds: spec.min_ready_seconds,
            selector,
            template: Some(template),
        }),
        status: None,
    };
    plan.create(&set);
    if first > 0 {
        let message = format!("Scaled up replica set {name} from 0 to {first}");
        plan.event(COMPONENT, deployment, "ScalingReplicaSet", message);
    }
    let note = ("NewReplicaSetCreated", format!("Created new replica set {name:?}"));
    conditions::note_revision(plan, deployment, &(highest + 1).to_string(), Some(note), now);
}

/// Deletes the oldest ReplicaSets beyond the history limit, once they are empty.
pub(super) fn clean_up(plan: &mut Plan, spec: &DeploymentSpec, sets: &Sets<'_>) {
    let keep = usize::try_from(spec.revision_history_limit.unwrap_or(10)).unwrap_or(0);
    let mut old: Vec<&ReplicaSet> =
        sets.old.iter().copied().filter(|set| set.metadata.deletion_timestamp.is_none()).collect();
    old.sort_by_key(|set| revision(set));
    for set in old.iter().take(old.len().saturating_sub(keep)) {
        let pods = set.status.as_ref().map_or(0, |status| status.replicas);
        let seen =
            set.status.as_ref().and_then(|status| status.observed_generation) >= set.metadata.generation;
        if pods == 0 && asked(set) == 0 && seen {
            plan.delete(*set);
        }
    }
}
