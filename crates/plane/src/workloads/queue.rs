//! What is to be looked at, and when.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::time::Duration;

use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Secret, Service};
use tokio::time::Instant;

use super::namespace::{DEFAULT_ACCOUNT, ROOT_CA};
use super::token_secret;
use super::view::View;
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
    StatefulSet,
    DaemonSet,
    Job,
    CronJob,
    Pod,
    Service,
    Claim,
    Volume,
    TokenSecret,
    Namespace,
}

/// Tables whose objects have a controller.
const WATCHED: &[(&str, Controller)] = &[
    ("apps/deployments", Controller::Deployment),
    ("apps/replicasets", Controller::ReplicaSet),
    ("apps/statefulsets", Controller::StatefulSet),
    ("apps/daemonsets", Controller::DaemonSet),
    ("batch/jobs", Controller::Job),
    ("batch/cronjobs", Controller::CronJob),
    ("/pods", Controller::Pod),
    ("/services", Controller::Service),
    ("/persistentvolumeclaims", Controller::Claim),
    ("/persistentvolumes", Controller::Volume),
    ("/namespaces", Controller::Namespace),
];

/// Kinds that own others, and want to know how those fare.
const OWNERS: &[(&str, Controller)] = &[
    ("Deployment", Controller::Deployment),
    ("ReplicaSet", Controller::ReplicaSet),
    ("StatefulSet", Controller::StatefulSet),
    ("DaemonSet", Controller::DaemonSet),
    ("Job", Controller::Job),
    ("CronJob", Controller::CronJob),
    ("Service", Controller::Service),
];

/// The keys that a change concerns.
pub(super) fn concerned(view: &View, change: &Change) -> Vec<Key> {
    let facts = &change.object.facts;
    let key = |controller, namespace: &str, name: &str| Key {
        controller,
        namespace: namespace.into(),
        name: name.into(),
    };
    let mut keys: Vec<Key> =
        change.old.iter().chain([&change.object]).flat_map(|object| owners(object)).collect();
    let table = &*change.table.0;
    if let Some((_, controller)) = WATCHED.iter().find(|(watched, _)| *watched == table) {
        keys.push(key(*controller, &facts.namespace, &facts.name));
    }
    match table {
        "/pods" => {
            for service in view.list::<Service>(&facts.namespace) {
                let selector = service.spec.and_then(|spec| spec.selector).unwrap_or_default();
                let selects = |object: &Object| {
                    selector.iter().all(|(name, value)| object.facts.label(name) == Some(value))
                };
                if !selector.is_empty()
                    && change.old.iter().chain([&change.object]).any(|object| selects(object))
                {
                    keys.push(key(
                        Controller::Service,
                        &facts.namespace,
                        &service.metadata.name.unwrap_or_default(),
                    ));
                }
            }
            // A claim may wait for its last user to go, or for its first one to come.
            let finished = |(name, value): &(Box<str>, Box<str>)| {
                &**name == "status.phase" && matches!(&**value, "Succeeded" | "Failed")
            };
            let came = change.old.is_none();
            let left = change.removed || facts.fields.iter().any(finished);
            if came || left {
                let claims = view.list::<PersistentVolumeClaim>(&facts.namespace);
                let waiting = claims.into_iter().filter(|claim| {
                    let unbound = claim.spec.as_ref().is_none_or(|spec| spec.volume_name.is_none());
                    left && claim.metadata.deletion_timestamp.is_some() || came && unbound
                });
                keys.extend(waiting.map(|claim| {
                    key(Controller::Claim, &facts.namespace, &claim.metadata.name.unwrap_or_default())
                }));
            }
        }
        "/endpoints" => keys.push(key(Controller::Service, &facts.namespace, &facts.name)),
        "/persistentvolumes" | "storage.k8s.io/storageclasses" if !change.removed => {
            let waiting = view.list::<PersistentVolumeClaim>("");
            let waiting = waiting
                .into_iter()
                .filter(|claim| claim.spec.as_ref().is_some_and(|spec| spec.volume_name.is_none()));
            keys.extend(waiting.map(|claim| {
                let meta = claim.metadata;
                key(Controller::Claim, &meta.namespace.unwrap_or_default(), &meta.name.unwrap_or_default())
            }));
        }
        "/serviceaccounts" => {
            if &*facts.name == DEFAULT_ACCOUNT {
                keys.push(key(Controller::Namespace, "", &facts.namespace));
            }
            let secrets = view.list::<Secret>(&facts.namespace);
            let tokens =
                secrets.into_iter().filter(|secret| token_secret::account(secret) == Some(&*facts.name));
            keys.extend(tokens.map(|secret| {
                key(Controller::TokenSecret, &facts.namespace, &secret.metadata.name.unwrap_or_default())
            }));
        }
        "/secrets"
            if facts
                .fields
                .iter()
                .any(|(name, value)| &**name == "type" && &**value == token_secret::TYPE) =>
        {
            keys.push(key(Controller::TokenSecret, &facts.namespace, &facts.name));
        }
        "/configmaps" if &*facts.name == ROOT_CA => {
            keys.push(key(Controller::Namespace, "", &facts.namespace))
        }
        _ => {}
    }
    keys
}

/// The key of an object that the history no longer tells of.
pub(super) fn key_of(table: &str, object: &Object) -> Option<Key> {
    let (_, controller) = WATCHED.iter().find(|(watched, _)| *watched == table)?;
    let (namespace, name) = (object.facts.namespace.to_string(), object.facts.name.to_string());
    Some(Key { controller: *controller, namespace, name })
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
