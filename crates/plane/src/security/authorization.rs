//! The RBAC index, brought up to date with the store before each decision.
//!
//! A role that was just created counts for the very next request: no background task, no waiting in tests.

use std::sync::Arc;

use futures::future::BoxFuture;
use parking_lot::Mutex;

use super::Guard;
use crate::hooks::{Attributes, Authorize, Decision, User};
use crate::rbac::{self, Policy, Target};
use crate::store::{Listing, Store, TableId, Watcher};

const GROUP: &str = "rbac.authorization.k8s.io";
const RESOURCES: [&str; 4] = ["clusterroles", "roles", "clusterrolebindings", "rolebindings"];

/// A [`Policy`] that follows a store.
pub(super) struct LivePolicy {
    store: Arc<Store>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    policy: Policy,
    revision: u64,
    /// One per kind, in the order of [`RESOURCES`]; empty before the first use.
    watchers: Vec<Watcher>,
}

impl LivePolicy {
    pub(super) fn new(store: Arc<Store>) -> Self {
        Self { store, state: Mutex::default() }
    }

    /// Asks the policy as of now.
    pub(super) fn ask<T>(&self, question: impl FnOnce(&Policy) -> T) -> T {
        let mut state = self.state.lock();
        state.catch_up(&self.store);
        question(&state.policy)
    }
}

impl State {
    fn catch_up(&mut self, store: &Arc<Store>) {
        let revision = store.revision();
        if revision == self.revision {
            return;
        }
        self.revision = revision;
        if !self.follow() {
            self.rebuild(store);
        }
    }

    /// Takes in what changed; false if that cannot be told any more.
    fn follow(&mut self) -> bool {
        if self.watchers.is_empty() {
            return false;
        }
        for (resource, watcher) in RESOURCES.iter().zip(&mut self.watchers) {
            loop {
                let Ok(batch) = watcher.read() else { return false };
                for change in &batch.changes {
                    if change.removed {
                        let facts = &change.object.facts;
                        self.policy.remove(resource, &facts.namespace, &facts.name);
                    } else {
                        self.policy.upsert(resource, &change.object.to_value());
                    }
                }
                if batch.changes.is_empty() {
                    break;
                }
            }
        }
        true
    }

    fn rebuild(&mut self, store: &Arc<Store>) {
        self.policy = Policy::default();
        self.watchers.clear();
        for resource in RESOURCES {
            let table = TableId::new(GROUP, resource);
            let Ok(page) = store.list(Listing::now(&table, "", &|_| true)) else { continue };
            for object in &page.objects {
                self.policy.upsert(resource, &object.to_value());
            }
            self.watchers.extend(store.watch(&table, page.revision));
        }
        if self.watchers.len() != RESOURCES.len() {
            self.watchers.clear();
        }
    }
}

/// The attributes as the policy wants them.
pub(super) fn of<'a>(user: &'a User, attributes: &'a Attributes) -> rbac::Attributes<'a> {
    let target = if attributes.resource.is_empty() {
        Target::Path(&attributes.path)
    } else {
        Target::Resource {
            group: &attributes.group,
            resource: &attributes.resource,
            subresource: &attributes.subresource,
            namespace: &attributes.namespace,
            name: &attributes.name,
        }
    };
    rbac::Attributes { user, verb: &attributes.verb, target }
}

/// The decision, with its reason.
pub(super) fn decided(policy: &Policy, user: &User, attributes: &Attributes) -> Decision {
    match policy.decide(&of(user, attributes)) {
        rbac::Decision::Allowed(reason) => Decision::Allow(reason),
        rbac::Decision::Denied(reason) => Decision::Deny(reason),
    }
}

impl Authorize for Guard {
    fn authorize<'a>(&'a self, user: &'a User, attributes: &'a Attributes) -> BoxFuture<'a, Decision> {
        let decision = self.policy.ask(|policy| {
            // Nobody reads why a request was let through.
            if policy.allows(&of(user, attributes)) {
                Decision::Allow(String::new())
            } else {
                decided(policy, user, attributes)
            }
        });
        Box::pin(std::future::ready(decision))
    }
}
