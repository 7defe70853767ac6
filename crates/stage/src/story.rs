//! The same play with things going wrong: whatever does, the end must be the same.

use std::{collections::BTreeMap, time::Duration};

use futures::future::BoxFuture;
use kube::{
    Api, Client,
    api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams},
};
use plane::Plane;
use quintet_harness::faults::{Chaos, Edge, World, explore, objects};
use rand::{SeedableRng, rngs::StdRng};
use serde_json::{Value, json};

use crate::{Play, objects::difference, server::plane, stage::operator};

/// What a user does to the subject, or somebody else meanwhile.
#[derive(Clone, Debug)]
pub enum Step {
    /// Makes it with this specification.
    Create(Value),
    /// Merges this into its specification.
    Change(Value),
    /// Deletes it.
    Delete,
    /// Anything else.
    Do(for<'a> fn(&'a Client) -> BoxFuture<'a, ()>),
}

/// A play on a plane, one step after the other.
#[derive(Clone, Debug)]
pub struct Story {
    /// The play.
    pub play: Play,
    /// The steps. After each the operator comes to rest.
    pub steps: Vec<Step>,
    /// What counts in the end: objects by `Kind namespace/name`. What differs by chance may be taken out of one.
    pub counts: fn(&str, &mut Value) -> bool,
}

impl World for Story {
    type Server = Plane;

    async fn server(&self) -> Plane {
        plane(&self.play).await
    }

    async fn operate(&self, plane: &Plane, edge: &Edge) {
        let client = edge.client(plane.service().with_user(self.play.identity()));
        let _running = operator(client, self.play.system.clone());
        std::future::pending().await
    }

    async fn story(&self, plane: &Plane, settle: &explore::Settle<'_>) {
        let (subject, admin) = (&self.play.subject, plane.client());
        let api: Api<DynamicObject> = match subject.namespace {
            Some(namespace) => Api::namespaced_with(admin.clone(), namespace, &subject.resource),
            None => Api::all_with(admin.clone(), &subject.resource),
        };
        for step in &self.steps {
            match step {
                Step::Create(spec) => {
                    let object = json!({ "apiVersion": subject.resource.api_version, "kind": subject.resource.kind,
                        "metadata": { "name": subject.name }, "spec": spec });
                    let object = serde_json::from_value(object).expect("an object");
                    api.create(&PostParams::default(), &object).await.expect("it is accepted");
                }
                Step::Change(spec) => {
                    let patch = Patch::Merge(json!({ "spec": spec }));
                    api.patch(subject.name, &PatchParams::default(), &patch).await.expect("it is accepted");
                }
                Step::Delete => {
                    api.delete(subject.name, &DeleteParams::default()).await.expect("it goes");
                }
                Step::Do(act) => act(&admin).await,
            }
            settle.now().await;
        }
        settle.now().await;
    }

    async fn state(&self, plane: &Plane) -> BTreeMap<String, Value> {
        let mut kinds = self.play.children.clone();
        kinds.push(self.play.subject.resource.clone());
        let mut found = objects(&plane.client(), &kinds).await.expect("objects");
        found.retain(|id, object| (self.counts)(id, object));
        found
    }
}

/// Watches lag, break off and lose their place.
pub async fn watches_go_wrong(story: &Story) {
    let chaos =
        Chaos { broken_watch: 0.2, expired_watch: 0.3, lag: Duration::from_secs(20), ..Chaos::default() };
    explore::chaos(story, &chaos, 1..=3).await;
}

/// Writes are refused, conflict, or are made and their answer is lost.
pub async fn writes_go_wrong(story: &Story) {
    let chaos = Chaos { refused: 0.2, unanswered: 0.2, conflict: 0.2, ..Chaos::default() };
    explore::chaos(story, &chaos, 1..=3).await;
}

/// One write goes wrong in every way, each in turn: every write where as much is asked for as for a release, else some.
pub async fn each_write_goes_wrong(world: &impl World) {
    let stride = if walks() < RELEASE { 13 } else { 1 };
    assert!(explore::faults(world, stride).await > 0, "nothing was written");
}

/// As many walks are taken for a release.
const RELEASE: u64 = 200;

/// How many walks are asked for: `QUINTET_WALKS`, by default a handful.
fn walks() -> u64 {
    std::env::var("QUINTET_WALKS").ok().and_then(|n| n.parse().ok()).unwrap_or(3)
}

/// A walk through the subject's fields.
#[derive(Debug)]
pub struct Walks {
    /// How it begins: the subject is made.
    pub straight: Story,
    /// One change of one field, as a merge patch of the specification.
    pub change: fn(&mut StdRng) -> Value,
    /// Takes everything back that a change may have set.
    pub back: Value,
    /// What happens at the end, with and without a walk.
    pub end: Vec<Step>,
    /// More writes than this for twenty changes are a loop.
    pub most_writes: usize,
}

impl Walks {
    /// Takes `QUINTET_WALKS` random walks of twenty steps, by default a handful, with things going wrong on the way. Each
    /// must end as if one had gone straight.
    ///
    /// # Panics
    /// If one does not; the seed is in the message.
    pub async fn take(&self) {
        let told = |steps: Vec<Step>| Story {
            steps: [self.straight.steps.clone(), steps, self.end.clone()].concat(),
            ..self.straight.clone()
        };
        let straight = explore::tell(&told(vec![]), &Edge::new(0)).await.state;
        for seed in 1..=walks() {
            let mut random = StdRng::seed_from_u64(seed);
            let mut steps: Vec<Step> = (0..20).map(|_| Step::Change((self.change)(&mut random))).collect();
            steps.push(Step::Change(self.back.clone()));
            let edge = Edge::new(seed);
            edge.set_chaos(Chaos { refused: 0.05, unanswered: 0.05, broken_watch: 0.05, ..Chaos::default() });
            let end = explore::tell(&told(steps), &edge).await;
            assert!(
                end.writes < self.most_writes,
                "walk {seed}: {} writes for 21 changes is a loop",
                end.writes
            );
            let differences = difference(&straight, &end.state);
            assert!(differences.is_empty(), "walk with seed {seed}:\n{differences}");
        }
    }
}
