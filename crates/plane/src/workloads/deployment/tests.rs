use k8s_openapi::api::apps::v1::{DeploymentStrategy, ReplicaSetStatus, RollingUpdateDeployment};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use serde_json::json;

use super::super::plan::Write;
use super::*;

fn deployment(replicas: i32) -> Deployment {
    serde_json::from_value(json!({
        "metadata": { "name": "web", "namespace": "a", "uid": "u", "generation": 1 },
        "spec": {
            "replicas": replicas,
            "selector": { "matchLabels": { "app": "web" } },
            "template": { "metadata": { "labels": { "app": "web" } }, "spec": { "containers": [{ "name": "c", "image": "i:1" }] } },
        },
    }))
    .unwrap()
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

/// A cluster of one Deployment whose Pods become available at once, unless `stuck` says which template does not.
struct World {
    deployment: Deployment,
    sets: Vec<ReplicaSet>,
    stuck: Option<&'static str>,
    now: i64,
    /// Most and least Pods, old and new, seen so far.
    most: i32,
    least: i32,
}

impl World {
    fn new(deployment: Deployment) -> Self {
        Self { deployment, sets: vec![], stuck: None, now: 0, most: 0, least: i32::MAX }
    }

    /// Lets controller and Pods act until nothing moves any more.
    fn settle(&mut self) -> &mut Self {
        for _ in 0..200 {
            self.now += 1;
            let plan = plan(&self.deployment, &self.sets, &[], at(self.now));
            let moved = plan.writes.iter().any(|write| !matches!(write, Write::Event(_)));
            for write in plan.writes {
                self.apply(write);
            }
            let started = self.start_pods();
            if !moved && !started {
                return self;
            }
        }
        panic!("it never settles: {:?}", self.deployment.status);
    }

    fn apply(&mut self, write: Write) {
        match write {
            Write::Create(set) => {
                let mut set: ReplicaSet = serde_json::from_value(set).unwrap();
                let name = set.metadata.name.clone();
                assert!(
                    self.sets.iter().all(|known| known.metadata.name != name),
                    "names differ by template"
                );
                set.metadata.uid = name;
                set.metadata.creation_timestamp = Some(super::super::pods::time(at(self.now)));
                self.sets.push(set);
            }
            Write::Update(set) => {
                let set: ReplicaSet = serde_json::from_value(set).unwrap();
                let known =
                    self.sets.iter_mut().find(|known| known.metadata.name == set.metadata.name).unwrap();
                *known = set;
            }
            Write::UpdateStatus(deployment) => self.deployment = serde_json::from_value(deployment).unwrap(),
            Write::Delete { object, .. } => self.sets.retain(|set| set.metadata.name != object.name),
            Write::Event(_) => {}
        }
    }

    fn start_pods(&mut self) -> bool {
        let mut moved = false;
        for set in &mut self.sets {
            let replicas = set.spec.as_ref().unwrap().replicas.unwrap();
            let image = image(set);
            let up = if self.stuck == Some(image.as_str()) { 0 } else { replicas };
            let status = ReplicaSetStatus {
                replicas,
                available_replicas: Some(up),
                ready_replicas: Some(up),
                terminating_replicas: Some(0),
                ..ReplicaSetStatus::default()
            };
            moved |= set.status.as_ref() != Some(&status);
            set.status = Some(status);
        }
        let pods: i32 = self.sets.iter().map(|set| set.status.as_ref().unwrap().replicas).sum();
        let up: i32 = self.sets.iter().filter_map(|set| set.status.as_ref()?.available_replicas).sum();
        self.most = self.most.max(pods);
        self.least = self.least.min(up);
        moved
    }

    fn roll(&mut self, image: &str) -> &mut Self {
        let spec = self.deployment.spec.as_mut().unwrap();
        spec.template.spec.as_mut().unwrap().containers[0].image = Some(image.into());
        self.changed();
        (self.most, self.least) = (0, i32::MAX);
        self
    }

    fn changed(&mut self) {
        *self.deployment.metadata.generation.as_mut().unwrap() += 1;
    }

    fn condition(&self, kind: &str) -> (String, String) {
        let conditions = self.deployment.status.as_ref().unwrap().conditions.as_ref().unwrap();
        let found = conditions.iter().find(|condition| condition.type_ == kind).unwrap();
        (found.status.clone(), found.reason.clone().unwrap())
    }

    /// Image, size and revision of each ReplicaSet.
    fn sizes(&self) -> Vec<(String, i32, String)> {
        let annotation = |set: &ReplicaSet| set.metadata.annotations.as_ref().unwrap()[REVISION].clone();
        self.sets
            .iter()
            .map(|set| (image(set), set.spec.as_ref().unwrap().replicas.unwrap(), annotation(set)))
            .collect()
    }
}

fn image(set: &ReplicaSet) -> String {
    let template = set.spec.as_ref().unwrap().template.clone().unwrap();
    template.spec.unwrap().containers[0].image.clone().unwrap()
}

fn set(image: &str, size: i32, revision: &str) -> (String, i32, String) {
    (image.into(), size, revision.into())
}

fn pair(status: &str, reason: &str) -> (String, String) {
    (status.into(), reason.into())
}

#[test]
fn percentages_round_surge_up_and_unavailable_down() {
    let spec = |replicas, surge: IntOrString, unavailable: IntOrString| DeploymentSpec {
        replicas: Some(replicas),
        selector: LabelSelector::default(),
        strategy: Some(DeploymentStrategy {
            type_: None,
            rolling_update: Some(RollingUpdateDeployment {
                max_surge: Some(surge),
                max_unavailable: Some(unavailable),
            }),
        }),
        ..DeploymentSpec::default()
    };
    let percent = |text: &str| IntOrString::String(text.into());
    assert_eq!(limits(&spec(2, percent("25%"), percent("25%"))), (1, 0));
    assert_eq!(limits(&spec(10, percent("25%"), percent("25%"))), (3, 2));
    assert_eq!(limits(&spec(3, percent("0%"), percent("10%"))), (0, 1), "something must be able to move");
    assert_eq!(limits(&spec(3, IntOrString::Int(2), IntOrString::Int(0))), (2, 0));
}

#[test]
fn the_first_write_names_the_replica_set_and_the_revision() {
    let plan = plan(&deployment(2), &[], &[], at(1));
    let [Write::Create(set), Write::Event(event), Write::UpdateStatus(updated)] = plan.writes.as_slice()
    else {
        panic!("{:?}", plan.writes)
    };
    let name = set["metadata"]["name"].as_str().unwrap();
    let hash = name.strip_prefix("web-").unwrap();
    assert!(hash.chars().all(|c| "456789bcdf".contains(c)), "{hash}");
    assert_eq!(set["spec"]["selector"]["matchLabels"], json!({ "app": "web", "pod-template-hash": hash }));
    assert_eq!(
        set["metadata"]["annotations"],
        json!({
            "deployment.kubernetes.io/desired-replicas": "2",
            "deployment.kubernetes.io/max-replicas": "3",
            "deployment.kubernetes.io/revision": "1",
        })
    );
    assert_eq!(set["metadata"]["ownerReferences"][0]["blockOwnerDeletion"], true);
    assert_eq!(event.message, format!("Scaled up replica set {name} from 0 to 2"));
    assert_eq!(updated["metadata"]["annotations"][REVISION], "1");
    let condition = &updated["status"]["conditions"][0];
    assert_eq!(
        (&condition["reason"], &condition["message"]),
        (&json!("NewReplicaSetCreated"), &json!(format!("Created new replica set {name:?}")))
    );
    assert_eq!(updated["status"].get("observedGeneration"), None);
}

#[test]
fn a_rollout_ends_available_and_at_rest() {
    let mut world = World::new(deployment(2));
    world.settle();
    assert_eq!(world.sizes(), [set("i:1", 2, "1")]);
    assert_eq!(world.condition("Available"), pair("True", "MinimumReplicasAvailable"));
    assert_eq!(world.condition("Progressing"), pair("True", "NewReplicaSetAvailable"));
    let status = world.deployment.status.clone().unwrap();
    assert_eq!(
        (status.replicas, status.updated_replicas, status.available_replicas),
        (Some(2), Some(2), Some(2))
    );
    assert_eq!((status.unavailable_replicas, status.terminating_replicas), (None, Some(0)));
    assert_eq!(
        plan(&world.deployment, &world.sets, &[], at(world.now + 1)),
        Plan::default(),
        "nothing is written at rest"
    );
}

#[test]
fn a_new_template_replaces_the_old_within_the_limits() {
    let mut world = World::new(deployment(4));
    world.settle().roll("i:2").settle();
    assert_eq!(world.sizes(), [set("i:1", 0, "1"), set("i:2", 4, "2")]);
    assert!(world.most <= 5, "{} at most", world.most);
    assert!(world.least >= 3, "{} at least", world.least);
    assert_eq!(world.condition("Progressing"), pair("True", "NewReplicaSetAvailable"));
    assert_eq!(world.deployment.metadata.annotations.as_ref().unwrap()[REVISION], "2");
}

#[test]
fn going_back_takes_the_old_replica_set_with_a_new_revision() {
    let mut world = World::new(deployment(1));
    world.settle().roll("i:2").settle().roll("i:1").settle();
    assert_eq!(world.sizes(), [set("i:1", 1, "3"), set("i:2", 0, "2")]);
    let annotations = world.sets[0].metadata.annotations.as_ref().unwrap();
    assert_eq!(annotations["deployment.kubernetes.io/revision-history"], "1");
}

#[test]
fn history_beyond_the_limit_is_deleted_when_the_rollout_is_complete() {
    let mut start = deployment(1);
    start.spec.as_mut().unwrap().revision_history_limit = Some(1);
    let mut world = World::new(start);
    world.settle().roll("i:2").settle().roll("i:3").settle();
    assert_eq!(world.sizes(), [set("i:2", 0, "2"), set("i:3", 1, "3")]);
}

#[test]
fn a_rollout_that_does_not_move_times_out_and_keeps_what_works() {
    let mut start = deployment(4);
    start.spec.as_mut().unwrap().progress_deadline_seconds = Some(60);
    let mut world = World::new(start);
    world.settle();
    world.stuck = Some("i:2");
    world.roll("i:2").settle();
    assert!(world.least >= 3, "the old ones keep running");
    let waiting = plan(&world.deployment, &world.sets, &[], at(world.now));
    assert!(waiting.again.is_some_and(|again| again.as_secs() <= 60), "{waiting:?}");
    world.now += 60;
    world.settle();
    assert_eq!(world.condition("Progressing"), pair("False", "ProgressDeadlineExceeded"));
    world.stuck = None;
    world.settle();
    assert_eq!(world.condition("Progressing"), pair("True", "NewReplicaSetAvailable"));
}

#[test]
fn a_paused_deployment_scales_but_does_not_roll() {
    let mut world = World::new(deployment(1));
    world.settle();
    world.deployment.spec.as_mut().unwrap().paused = Some(true);
    world.roll("i:2").settle();
    assert_eq!(world.sizes(), [set("i:1", 1, "1")]);
    assert_eq!(world.condition("Progressing"), pair("Unknown", "DeploymentPaused"));
    world.deployment.spec.as_mut().unwrap().replicas = Some(3);
    world.changed();
    world.settle();
    assert_eq!(world.sizes(), [set("i:1", 3, "1")]);
    world.deployment.spec.as_mut().unwrap().paused = None;
    world.changed();
    world.settle();
    assert_eq!(world.sizes(), [set("i:1", 0, "1"), set("i:2", 3, "2")]);
}

#[test]
fn scaling_follows_and_zero_is_available() {
    let mut world = World::new(deployment(3));
    world.settle();
    for replicas in [5, 0, 2] {
        world.deployment.spec.as_mut().unwrap().replicas = Some(replicas);
        world.changed();
        world.settle();
        assert_eq!(world.sizes(), [set("i:1", replicas, "1")]);
        assert_eq!(world.condition("Available"), pair("True", "MinimumReplicasAvailable"));
    }
}

#[test]
fn recreate_stops_the_old_before_it_starts_the_new() {
    let mut start = deployment(2);
    start.spec.as_mut().unwrap().strategy =
        Some(DeploymentStrategy { type_: Some("Recreate".into()), rolling_update: None });
    let mut world = World::new(start);
    world.settle().roll("i:2").settle();
    assert_eq!(world.sizes(), [set("i:1", 0, "1"), set("i:2", 2, "2")]);
    assert!(world.most <= 2 && world.least == 0, "{} at most, {} at least", world.most, world.least);
    let old_pod: Pod = serde_json::from_value(json!({
        "metadata": { "name": "p", "ownerReferences": [{ "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "x", "uid": world.sets[0].metadata.uid, "controller": true }] },
    }))
    .unwrap();
    let mut sets = world.sets.clone();
    sets.truncate(1);
    let waiting = plan(&world.deployment, &sets, &[old_pod], at(world.now));
    assert!(!waiting.writes.iter().any(|write| matches!(write, Write::Create(_))), "an old Pod still runs");
}

#[test]
fn an_owner_without_a_uid_owns_nothing() {
    let meta = ObjectMeta::default();
    assert!(!super::super::plan::is_controlled_by(&meta, None));
}
