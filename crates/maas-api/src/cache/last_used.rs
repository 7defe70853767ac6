//! Times of last use, written in batches so that validating does not turn into writing.

use std::{collections::HashMap, sync::Arc, time::Duration};

use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use uuid::Uuid;

use crate::store::SharedStore;

/// How long uses are collected before they are written. Well below the second in which clients expect to see them.
const COLLECT: Duration = Duration::from_millis(250);
/// How many are written at once. With the pause it bounds what noting uses can cost the database when a hundred
/// thousand keys are used for the first time.
const BATCH: usize = 500;
/// How many may wait. While the database is down the newest are dropped: it is a note, not a fact.
const MOST: usize = 200_000;
/// After a failure.
const PAUSE: Duration = Duration::from_secs(1);
/// For the last write, at the end.
const LAST: Duration = Duration::from_secs(2);

/// Uses to be written.
#[derive(Clone, Debug)]
pub struct LastUsed {
    waiting: Arc<Mutex<HashMap<Uuid, Timestamp>>>,
    wake: Arc<Notify>,
}

impl LastUsed {
    /// Starts the writer. When stopped it writes once more and ends.
    pub fn start(store: SharedStore, tasks: &TaskTracker, stop: CancellationToken) -> Self {
        let uses = Self { waiting: Arc::default(), wake: Arc::default() };
        let writer = uses.clone();
        tasks.spawn(async move {
            stop.run_until_cancelled(writer.write(&store)).await;
            while let Ok(true) = tokio::time::timeout(LAST, writer.flush(&store)).await {}
        });
        uses
    }

    /// Notes that a key is used now.
    pub fn note(&self, id: Uuid, now: Timestamp) {
        let mut waiting = self.waiting.lock();
        if waiting.len() < MOST || waiting.contains_key(&id) {
            waiting.insert(id, now);
        }
        drop(waiting);
        self.wake.notify_one();
    }

    /// How many wait to be written.
    pub fn waiting(&self) -> usize {
        self.waiting.lock().len()
    }

    async fn write(&self, store: &SharedStore) {
        loop {
            self.wake.notified().await;
            while self.waiting() > 0 {
                tokio::time::sleep(COLLECT).await;
                if !self.flush(store).await {
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }

    /// Writes a batch. False if there was none or it could not be written; it then waits on.
    async fn flush(&self, store: &SharedStore) -> bool {
        let batch: Vec<(Uuid, Timestamp)> = {
            let mut waiting = self.waiting.lock();
            let ids: Vec<Uuid> = waiting.keys().take(BATCH).copied().collect();
            ids.into_iter().filter_map(|id| waiting.remove_entry(&id)).collect()
        };
        if batch.is_empty() {
            return false;
        }
        let rows: Vec<(String, Timestamp)> = batch.iter().map(|(id, time)| (id.to_string(), *time)).collect();
        match store.touch(&rows).await {
            Ok(()) => true,
            Err(error) => {
                tracing::warn!(%error, keys = rows.len(), "times of last use not written; trying again");
                let mut waiting = self.waiting.lock();
                for (id, time) in batch {
                    waiting.entry(id).or_insert(time);
                }
                false
            }
        }
    }
}
