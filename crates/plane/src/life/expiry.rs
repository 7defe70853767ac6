//! Events are forgotten an hour after they were last written.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use crate::store::{Change, Store, TableId};

/// How long an Event lives.
const LIFE: Duration = Duration::from_secs(60 * 60);
const EVENTS: &str = "/events";

/// Events in the order in which they will go. One that is written again has a later entry, and the earlier one is void.
#[derive(Default)]
pub(super) struct Expiry(VecDeque<(Instant, String, u64)>);

impl Expiry {
    /// Takes note of an Event.
    pub(super) fn observe(&mut self, change: &Change) {
        if &*change.table.0 == EVENTS && !change.removed {
            self.0.push_back((Instant::now() + LIFE, change.object.key(), change.object.revision));
        }
    }

    /// Waits until the next one is due; forever if there is none.
    pub(super) async fn next(&self) {
        match self.0.front() {
            Some((due, _, _)) => tokio::time::sleep_until(*due).await,
            None => std::future::pending().await,
        }
    }

    /// Removes what is due and was not written since.
    pub(super) fn work(&mut self, store: &Store) {
        let (now, table) = (Instant::now(), TableId(EVENTS.into()));
        while let Some((_, key, revision)) = self.0.pop_front_if(|(due, _, _)| *due <= now) {
            // Refused means changed or gone: then it is not this entry's business any more.
            let _ = store.remove(&table, &key, revision);
        }
    }
}
