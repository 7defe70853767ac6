//! Following changes: a cursor into the history and something to wait on.

use std::sync::Arc;

use tokio::sync::watch;

use super::{Change, Store, TableId};

/// How many changes a watcher takes under one lock.
const BATCH: usize = 256;

/// Why a watcher ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interrupted {
    /// It fell behind the history; the oldest revision still known is given.
    TooOld(u64),
    /// The resource is no longer served.
    Gone,
}

/// Some changes, oldest first.
#[derive(Debug)]
pub struct Batch {
    /// The changes.
    pub changes: Vec<Arc<Change>>,
    /// Every change of the resource up to here has been handed out: what a bookmark may say.
    pub revision: u64,
}

/// Follows the changes of one resource.
#[derive(Debug)]
pub struct Watcher {
    store: Arc<Store>,
    table: TableId,
    cursor: u64,
    wake: watch::Receiver<u64>,
}

/// Follows the changes of all resources.
#[derive(Debug)]
pub struct Feed {
    cursor: u64,
    wake: watch::Receiver<u64>,
}

impl Store {
    /// Follows a resource from just after `revision`.
    pub fn watch(self: &Arc<Self>, table: &TableId, revision: u64) -> Result<Watcher, Interrupted> {
        let state = self.state.read();
        if revision < state.history.compacted {
            return Err(Interrupted::TooOld(state.history.compacted));
        }
        let wake = state.tables.get(table).ok_or(Interrupted::Gone)?.wake.subscribe();
        Ok(Watcher { store: self.clone(), table: table.clone(), cursor: revision, wake })
    }

    /// Follows everything from just after `revision`.
    pub fn feed(&self, revision: u64) -> Feed {
        Feed { cursor: revision, wake: self.revisions.subscribe() }
    }

    /// Waits until the revision is reached; false if `patience` ends first.
    pub async fn reached(&self, revision: u64, patience: std::time::Duration) -> bool {
        let mut revisions = self.revisions.subscribe();
        let reached = revisions.wait_for(|now| *now >= revision);
        matches!(tokio::time::timeout(patience, reached).await, Ok(Ok(_)))
    }
}

impl Watcher {
    /// What happened since the last call, without waiting; may be empty.
    pub fn read(&mut self) -> Result<Batch, Interrupted> {
        self.wake.borrow_and_update();
        let state = self.store.state.read();
        let table = state.tables.get(&self.table).ok_or(Interrupted::Gone)?;
        // Compaction elsewhere is no loss to a watcher of a quiet resource.
        if self.cursor < table.forgotten {
            return Err(Interrupted::TooOld(state.history.compacted));
        }
        let start = table.changes.partition_point(|c| c.revision <= self.cursor);
        let changes: Vec<_> = table.changes.range(start..).take(BATCH).cloned().collect();
        let caught_up = start + changes.len() == table.changes.len();
        self.cursor = match changes.last() {
            Some(last) if !caught_up => last.revision,
            _ => self.cursor.max(state.revision),
        };
        Ok(Batch { changes, revision: self.cursor })
    }

    /// Waits until there is something to [`read`](Self::read); false once the resource is no longer served.
    pub async fn changed(&mut self) -> bool {
        self.wake.changed().await.is_ok()
    }
}

impl Feed {
    /// The changes since the last call, waiting for the first; `None` if some were missed and all must be looked at anew.
    pub async fn next(&mut self, store: &Store) -> Option<Vec<Arc<Change>>> {
        loop {
            self.wake.borrow_and_update();
            {
                let state = store.state.read();
                if self.cursor < state.history.compacted {
                    self.cursor = state.revision;
                    return None;
                }
                let changes: Vec<_> = state.history.since(self.cursor).cloned().collect();
                if let Some(last) = changes.last() {
                    self.cursor = last.revision;
                    return Some(changes);
                }
            }
            if self.wake.changed().await.is_err() {
                return Some(Vec::new());
            }
        }
    }
}
