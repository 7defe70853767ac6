//! What was sent, and what the server made of it.

use crate::hub::version;
use crate::key::ObjectKey;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use parking_lot::Mutex;
use std::any::TypeId;
use std::collections::HashMap;
use std::time::Duration;
use tokio::time::Instant;

/// How long an object that no watch shows is believed to be as it was left.
pub(super) const UNSEEN: Duration = Duration::from_secs(60 * 60);

/// What is not asked about for this long is forgotten: a child whose owner is gone.
const FORGET: Duration = Duration::from_secs(3 * 60 * 60);

#[derive(Clone, Debug)]
pub(super) struct Sent {
    /// The intent.
    pub(super) hash: u64,
    /// The server's values at the places of the intent.
    pub(super) fingerprint: u64,
    pub(super) uid: Option<String>,
    pub(super) resource_version: Option<String>,
    /// When it was last known to be so.
    pub(super) at: Instant,
    /// The watch of the kind does not show it, as its selector does not match.
    pub(super) hidden: bool,
    used: Instant,
}

impl Sent {
    pub(super) fn new(hash: u64, fingerprint: u64, answer: &ObjectMeta) -> Self {
        let now = Instant::now();
        Sent {
            hash,
            fingerprint,
            uid: answer.uid.clone(),
            resource_version: answer.resource_version.clone(),
            at: now,
            hidden: false,
            used: now,
        }
    }

    /// True if the cache shows just what the server answered, or has not come that far yet.
    pub(super) fn is_current(&self, live: &ObjectMeta) -> bool {
        let older = || {
            let (live, sent) = (version(live.resource_version.as_deref()), self.version());
            live > 0 && live < sent
        };
        live.uid == self.uid && (live.resource_version == self.resource_version || older())
    }

    pub(super) fn version(&self) -> u64 {
        version(self.resource_version.as_deref())
    }
}

type Key = (TypeId, ObjectKey);

#[derive(Debug, Default)]
pub(super) struct Memory(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    sent: HashMap<Key, Sent>,
    sweep_at: usize,
}

impl Memory {
    pub(super) fn get(&self, key: &Key) -> Option<Sent> {
        let mut state = self.0.lock();
        let sent = state.sent.get_mut(key)?;
        sent.used = Instant::now();
        Some(sent.clone())
    }

    pub(super) fn put(&self, key: Key, sent: Sent) {
        let mut state = self.0.lock();
        let hidden = state.sent.get(&key).is_some_and(|old| old.hidden && old.uid == sent.uid);
        state.sent.insert(key, Sent { hidden, ..sent });
        if state.sent.len() > state.sweep_at {
            state.sent.retain(|_, sent| sent.used.elapsed() < FORGET);
            state.sweep_at = (state.sent.len() * 2).max(1024);
        }
    }

    /// The cache shows a newer version that is as good as the one we left.
    pub(super) fn moved(&self, key: &Key, live: &ObjectMeta) {
        if let Some(sent) = self.0.lock().sent.get_mut(key) {
            sent.resource_version.clone_from(&live.resource_version);
            sent.at = Instant::now();
        }
    }

    /// The object is there, and the watch does not show it.
    pub(super) fn hide(&self, key: &Key) {
        if let Some(sent) = self.0.lock().sent.get_mut(key) {
            sent.hidden = true;
        }
    }

    pub(super) fn forget(&self, key: &Key) {
        self.0.lock().sent.remove(key);
    }
}
