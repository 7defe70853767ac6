//! The queue's state, without locks, tasks or metrics.

use super::{Action, Backoff, End};
use crate::error::Retry;
use crate::key::Key;
use std::collections::{BTreeSet, HashMap, VecDeque};
use tokio::time::Instant;

/// What is known of a key. A key about which nothing is known has no entry, so that memory does not grow with keys
/// that came and went.
#[derive(Debug, Default)]
struct Entry {
    /// Waiting in `ready`, since when.
    ready: Option<Instant>,
    /// Being worked on.
    working: bool,
    /// Added while being worked on, first when.
    again: Option<Instant>,
    /// In `later`, for when.
    due: Option<Instant>,
    /// Failures in a row.
    failures: u32,
}

impl Entry {
    fn is_empty(&self) -> bool {
        self.ready.is_none()
            && !self.working
            && self.again.is_none()
            && self.due.is_none()
            && self.failures == 0
    }
}

#[derive(Debug)]
pub(super) struct Inner<Q: Key> {
    entries: HashMap<Q, Entry>,
    ready: VecDeque<Q>,
    later: BTreeSet<(Instant, Q)>,
    backoff: Backoff,
}

impl<Q: Key> Inner<Q> {
    pub(super) fn new(backoff: Backoff) -> Self {
        Inner { entries: HashMap::new(), ready: VecDeque::new(), later: BTreeSet::new(), backoff }
    }

    pub(super) fn len(&self) -> usize {
        self.ready.len()
    }

    /// Adds a key; true if it was not waiting already.
    pub(super) fn add(&mut self, key: Q, now: Instant) -> bool {
        let entry = self.entries.entry(key.clone()).or_default();
        if entry.working {
            let first = entry.again.is_none();
            entry.again.get_or_insert(now);
            return first;
        }
        if entry.ready.is_some() {
            return false;
        }
        entry.ready = Some(now);
        self.ready.push_back(key);
        true
    }

    /// Adds a key for later, unless it is due sooner.
    pub(super) fn add_at(&mut self, key: Q, due: Instant) {
        let entry = self.entries.entry(key.clone()).or_default();
        if entry.due.is_some_and(|already| already <= due) {
            return;
        }
        if let Some(old) = entry.due.replace(due) {
            self.later.remove(&(old, key.clone()));
        }
        self.later.insert((due, key));
    }

    /// When the next delayed key is due.
    pub(super) fn due(&self) -> Option<Instant> {
        self.later.first().map(|(due, _)| *due)
    }

    /// Makes the keys ready that are due, and says how many were not ready already.
    pub(super) fn wake(&mut self, now: Instant) -> usize {
        let mut woken = 0;
        while self.due().is_some_and(|due| due <= now) {
            let Some((due, key)) = self.later.pop_first() else { break };
            if let Some(entry) = self.entries.get_mut(&key) {
                entry.due = None;
            }
            woken += usize::from(self.add(key, due));
        }
        woken
    }

    /// The next ready key and since when it has been. A requeue that it was waiting for is forgotten: the reconcile
    /// that now begins decides anew.
    pub(super) fn take(&mut self) -> Option<(Q, Instant)> {
        let key = self.ready.pop_front()?;
        let entry = self.entries.entry(key.clone()).or_default();
        entry.working = true;
        if let Some(due) = entry.due.take() {
            self.later.remove(&(due, key.clone()));
        }
        let since = entry.ready.take();
        Some((key, since.unwrap_or_else(Instant::now)))
    }

    pub(super) fn finish(&mut self, key: Q, end: End, now: Instant) {
        let Some(entry) = self.entries.get_mut(&key) else { return };
        entry.working = false;
        let again = entry.again.take();
        let delay = match end {
            End::Done(Action::Wait) => {
                entry.failures = 0;
                None
            }
            End::Done(Action::After(delay)) => {
                entry.failures = 0;
                Some(self.backoff.jittered(delay))
            }
            End::Done(Action::Due(delay)) => {
                entry.failures = 0;
                Some(delay)
            }
            End::Done(Action::Backoff) | End::Failed(Retry::Backoff) => {
                entry.failures = entry.failures.saturating_add(1);
                Some(self.backoff.jittered(self.backoff.delay(entry.failures)))
            }
            End::Failed(Retry::Soon) => {
                entry.failures = entry.failures.saturating_add(1);
                let beyond = entry.failures.saturating_sub(self.backoff.conflicts);
                let delay = if beyond == 0 { self.backoff.conflict } else { self.backoff.delay(beyond) };
                Some(self.backoff.jittered(delay))
            }
            End::Failed(Retry::Never) => {
                entry.failures = 0; // the next change is a new beginning
                None
            }
            End::Failed(Retry::After(delay)) => {
                entry.failures = entry.failures.saturating_add(1);
                Some(self.backoff.jittered(delay))
            }
            End::Abandoned => {
                self.add(key, now);
                return;
            }
        };
        let empty = entry.is_empty();
        if let Some(delay) = delay {
            self.add_at(key.clone(), now + delay);
        }
        if let Some(since) = again {
            self.add(key, since);
        } else if empty && delay.is_none() {
            self.entries.remove(&key);
        }
    }

    pub(super) fn is_idle(&self, until: Instant) -> bool {
        self.ready.is_empty()
            && !self.entries.values().any(|entry| entry.working)
            && self.due().is_none_or(|due| due > until)
    }

    #[cfg(test)]
    pub(super) fn known(&self) -> usize {
        self.entries.len()
    }
}
