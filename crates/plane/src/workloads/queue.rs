//! What is to be looked at, and when.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::time::Duration;

use tokio::time::Instant;

use crate::store::{Change, Object};

/// An object, by the controller that looks after it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) controller: Controller,
    pub(super) namespace: String,
    pub(super) name: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Controller {
    Deployment,
    ReplicaSet,
    Pod,
}

/// Tables whose objects have a controller.
const WATCHED: &[(&str, Controller)] = &[
    ("apps/deployments", Controller::Deployment),
    ("apps/replicasets", Controller::ReplicaSet),
    ("/pods", Controller::Pod),
];

/// Kinds that own others, and want to know how those fare.
const OWNERS: &[(&str, Controller)] =
    &[("Deployment", Controller::Deployment), ("ReplicaSet", Controller::ReplicaSet)];

/// The keys that a change concerns.
pub(super) fn concerned(change: &Change) -> Vec<Key> {
    let facts = &change.object.facts;
    let mut keys = vec![];
    if let Some((_, controller)) = WATCHED.iter().find(|(table, _)| *table == &*change.table.0) {
        keys.push(Key {
            controller: *controller,
            namespace: facts.namespace.to_string(),
            name: facts.name.to_string(),
        });
        for object in change.old.iter().chain([&change.object]) {
            keys.extend(owners(object));
        }
    }
    keys
}

fn owners(object: &Object) -> impl Iterator<Item = Key> + '_ {
    object.facts.owners.iter().filter_map(|owner| {
        let (_, controller) = OWNERS.iter().find(|(kind, _)| *kind == &*owner.kind)?;
        let namespace = object.facts.namespace.to_string();
        Some(Key { controller: *controller, namespace, name: owner.name.to_string() })
    })
}

/// Keys to look at now, each once, and keys to look at later.
#[derive(Default)]
pub(super) struct Queue {
    now: VecDeque<Key>,
    later: BTreeSet<(Instant, Key)>,
    /// Failures in a row.
    failures: HashMap<Key, u32>,
}

impl Queue {
    pub(super) fn add(&mut self, key: Key) {
        if !self.now.contains(&key) {
            self.now.push_back(key);
        }
    }

    pub(super) fn pop(&mut self) -> Option<Key> {
        self.now.pop_front()
    }

    pub(super) fn add_in(&mut self, key: Key, delay: Duration) {
        if delay.is_zero() {
            self.add(key);
        } else {
            self.later.insert((Instant::now() + delay, key));
        }
    }

    /// It went well: the next failure waits shortly again.
    pub(super) fn done(&mut self, key: &Key) {
        self.failures.remove(key);
    }

    /// It failed: tries again, later each time.
    pub(super) fn failed(&mut self, key: Key) {
        let failures = self.failures.entry(key.clone()).or_default();
        let delay = Duration::from_millis(100 << (*failures).min(10));
        *failures += 1;
        self.add_in(key, delay.min(Duration::from_secs(60)));
    }

    /// When the next key is due.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.later.first().map(|(at, _)| *at)
    }

    /// Moves what is due.
    pub(super) fn wake(&mut self) {
        let now = Instant::now();
        while self.later.first().is_some_and(|(at, _)| *at <= now) {
            if let Some((_, key)) = self.later.pop_first() {
                self.add(key);
            }
        }
    }
}
