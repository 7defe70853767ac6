//! The recent past: every change in order, as many as fit the budget.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;

use super::{Object, TableId};

/// One write.
#[derive(Debug)]
pub struct Change {
    /// Its revision; the history has one change for each.
    pub revision: u64,
    /// The resource written to.
    pub table: TableId,
    /// The key written to.
    pub key: Arc<str>,
    /// What was there before.
    pub old: Option<Arc<Object>>,
    /// What is there now; after a removal the last content, under the revision of the removal.
    pub object: Arc<Object>,
    /// Whether the object went.
    pub removed: bool,
    /// The line an unfiltered watch sends for it in the stored version, made by the first watcher and shared by all.
    pub line: OnceLock<Bytes>,
}

impl Change {
    pub(super) fn new(
        revision: u64,
        table: TableId,
        key: Arc<str>,
        old: Option<Arc<Object>>,
        new: Option<Arc<Object>>,
    ) -> Self {
        let removed = new.is_none();
        let object = match (new, &old) {
            (Some(new), _) => new,
            (None, Some(old)) => Arc::new(old.at_revision(revision)),
            (None, None) => unreachable!("a removal removes something"),
        };
        Self { revision, table, key, old, object, removed, line: OnceLock::new() }
    }

    fn size(&self) -> usize {
        // The object itself and, in the worst case, the framed line; the old one was counted when it was new.
        2 * self.object.size() + 128
    }
}

#[derive(Debug)]
pub(super) struct History {
    changes: VecDeque<Arc<Change>>,
    bytes: usize,
    budget: usize,
    /// Changes up to this revision are gone.
    pub(super) compacted: u64,
}

impl History {
    pub(super) fn new(budget: usize) -> Self {
        Self { changes: VecDeque::new(), bytes: 0, budget, compacted: 0 }
    }

    pub(super) fn push(&mut self, change: Arc<Change>) {
        self.bytes += change.size();
        self.changes.push_back(change);
    }

    /// The revision up to which to forget in order to be within budget again. The newest change always stays.
    pub(super) fn excess(&self) -> Option<u64> {
        let mut over = self.bytes.checked_sub(self.budget).filter(|over| *over > 0)?;
        let mut last = None;
        for change in self.changes.iter().take(self.changes.len() - 1) {
            last = Some(change.revision);
            over = match over.checked_sub(change.size()) {
                Some(rest) if rest > 0 => rest,
                _ => break,
            };
        }
        last
    }

    pub(super) fn forget(&mut self, revision: u64) -> Vec<Arc<Change>> {
        let mut gone = Vec::new();
        while self.changes.front().is_some_and(|c| c.revision <= revision) {
            if let Some(change) = self.changes.pop_front() {
                self.bytes -= change.size();
                gone.push(change);
            }
        }
        self.compacted = self.compacted.max(revision);
        gone
    }

    /// All changes after `revision`, oldest first.
    pub(super) fn since(&self, revision: u64) -> impl DoubleEndedIterator<Item = &Arc<Change>> {
        let start = self.changes.partition_point(|c| c.revision <= revision);
        self.changes.range(start..)
    }
}
