//! The multi-version store: everything the plane knows, in memory.
//!
//! One revision counter orders all writes of all resources; every write is one [`Change`] in a history bounded in bytes.
//! Live objects are kept by key; a list at an older revision is the live state with the later changes undone. Watchers
//! hold no queue: each has a cursor into the history and reads on from it, so none can miss, double or reorder a change,
//! and a slow one costs nothing until its cursor falls off the end (410).

mod history;
mod list;
mod object;
mod watch;

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::Arc;

use parking_lot::RwLock;

pub use history::Change;
pub use list::{Listing, Page};
pub use object::{Draft, Facts, Object, Owner, key};
pub use watch::{Batch, Feed, Interrupted, Watcher};

/// Where the objects of one resource are kept: its group and plural.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TableId(pub Arc<str>);

impl TableId {
    /// The table of a resource.
    pub fn new(group: &str, plural: &str) -> Self {
        Self(format!("{group}/{plural}").into())
    }
}

/// An object, wherever it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Location {
    /// Its table.
    pub table: TableId,
    /// Its key in there.
    pub key: Arc<str>,
}

/// What a write expects to find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// Nothing under that key.
    Absent,
    /// The object, as this revision left it.
    Revision(u64),
}

/// Why a write was not done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// There is an object already.
    Exists,
    /// There is no such object, or no such table.
    Missing,
    /// Somebody wrote in between.
    Changed,
}

/// The state asked for is no longer, or not yet, known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unavailable {
    /// Compacted away; the oldest revision still known is given.
    TooOld(u64),
    /// Above the current revision, which is given.
    Future(u64),
}

/// See the module's description.
#[derive(Debug)]
pub struct Store {
    state: RwLock<State>,
    /// Tells the current revision to those who follow all changes.
    revisions: tokio::sync::watch::Sender<u64>,
}

#[derive(Debug)]
struct State {
    revision: u64,
    tables: HashMap<TableId, Table>,
    history: history::History,
    by_uid: HashMap<Box<str>, Location>,
    dependents: HashMap<Box<str>, HashSet<Location>>,
}

#[derive(Debug)]
struct Table {
    objects: BTreeMap<Arc<str>, Arc<Object>>,
    changes: VecDeque<Arc<Change>>,
    /// The last change that is no longer among them.
    forgotten: u64,
    /// Wakes watchers; dropped with the table, which ends them.
    wake: tokio::sync::watch::Sender<u64>,
}

impl Table {
    fn new() -> Self {
        Self {
            objects: BTreeMap::new(),
            changes: VecDeque::new(),
            forgotten: 0,
            wake: tokio::sync::watch::channel(0).0,
        }
    }
}

impl Store {
    /// An empty store whose history holds about `history_bytes`.
    pub fn new(history_bytes: usize) -> Self {
        let state = State {
            revision: 1,
            tables: HashMap::new(),
            history: history::History::new(history_bytes),
            by_uid: HashMap::new(),
            dependents: HashMap::new(),
        };
        Self { state: RwLock::new(state), revisions: tokio::sync::watch::channel(1).0 }
    }

    /// Makes room for a resource; does nothing if it has a table.
    pub fn add_table(&self, id: &TableId) {
        self.state.write().tables.entry(id.clone()).or_insert_with(Table::new);
    }

    /// Forgets a resource; its watchers end.
    pub fn drop_table(&self, id: &TableId) {
        let mut state = self.state.write();
        if let Some(table) = state.tables.remove(id) {
            for (key, object) in &table.objects {
                state.unindex(&Location { table: id.clone(), key: key.clone() }, object);
            }
        }
    }

    /// The revision of the last write.
    pub fn revision(&self) -> u64 {
        self.state.read().revision
    }

    /// The object, as last written.
    pub fn get(&self, table: &TableId, key: &str) -> Option<Arc<Object>> {
        self.state.read().tables.get(table)?.objects.get(key).cloned()
    }

    /// How many objects a table holds.
    pub fn count(&self, table: &TableId) -> usize {
        self.state.read().tables.get(table).map_or(0, |t| t.objects.len())
    }

    /// Writes an object.
    pub fn put(&self, table: &TableId, draft: &Draft, expect: Expect) -> Result<Arc<Object>, Refused> {
        let mut state = self.state.write();
        let key = draft.key();
        let old = state.expected(table, &key, expect)?;
        let object = Arc::new(draft.seal(state.revision + 1));
        state.commit(table, key.into(), old, Some(object.clone()));
        self.revisions.send_replace(state.revision);
        Ok(object)
    }

    /// Removes an object as `revision` left it; returns it with the revision of its removal.
    pub fn remove(&self, table: &TableId, key: &str, revision: u64) -> Result<Arc<Object>, Refused> {
        let mut state = self.state.write();
        let old = state.expected(table, key, Expect::Revision(revision))?;
        let change = state.commit(table, key.into(), old, None);
        self.revisions.send_replace(state.revision);
        Ok(change.object.clone())
    }

    /// Where the object with this uid is.
    pub fn find_uid(&self, uid: &str) -> Option<Location> {
        self.state.read().by_uid.get(uid).cloned()
    }

    /// The object at a location.
    pub fn at(&self, location: &Location) -> Option<Arc<Object>> {
        self.get(&location.table, &location.key)
    }

    /// Every object with an owner reference to this uid.
    pub fn dependents(&self, uid: &str) -> Vec<Location> {
        let state = self.state.read();
        let mut all: Vec<_> = state.dependents.get(uid).into_iter().flatten().cloned().collect();
        all.sort();
        all
    }

    /// Every object there is.
    pub fn locations(&self) -> Vec<Location> {
        let state = self.state.read();
        let of = |(table, content): (&TableId, &Table)| -> Vec<Location> {
            content.objects.keys().map(|key| Location { table: table.clone(), key: key.clone() }).collect()
        };
        state.tables.iter().flat_map(of).collect()
    }

    /// Forgets all history up to the current revision: older watches and pages expire.
    pub fn compact(&self) {
        let mut state = self.state.write();
        let revision = state.revision;
        state.compact_to(revision);
    }
}

impl State {
    fn expected(&self, table: &TableId, key: &str, expect: Expect) -> Result<Option<Arc<Object>>, Refused> {
        let table = self.tables.get(table).ok_or(Refused::Missing)?;
        match (table.objects.get(key), expect) {
            (None, Expect::Absent) => Ok(None),
            (Some(_), Expect::Absent) => Err(Refused::Exists),
            (None, Expect::Revision(_)) => Err(Refused::Missing),
            (Some(live), Expect::Revision(revision)) if live.revision == revision => Ok(Some(live.clone())),
            (Some(_), Expect::Revision(_)) => Err(Refused::Changed),
        }
    }

    fn commit(
        &mut self,
        id: &TableId,
        key: Arc<str>,
        old: Option<Arc<Object>>,
        new: Option<Arc<Object>>,
    ) -> Arc<Change> {
        self.revision += 1;
        let revision = self.revision;
        let location = Location { table: id.clone(), key: key.clone() };
        if let Some(old) = &old {
            self.unindex(&location, old);
        }
        if let Some(new) = &new {
            self.index(location, new);
        }
        let change = Arc::new(Change::new(revision, id.clone(), key.clone(), old, new.clone()));
        if let Some(table) = self.tables.get_mut(id) {
            match new {
                Some(new) => table.objects.insert(key, new),
                None => table.objects.remove(&key),
            };
            table.changes.push_back(change.clone());
            table.wake.send_replace(revision);
        }
        self.history.push(change.clone());
        if let Some(revision) = self.history.excess() {
            self.compact_to(revision);
        }
        change
    }

    fn compact_to(&mut self, revision: u64) {
        for change in self.history.forget(revision) {
            if let Some(table) = self.tables.get_mut(&change.table) {
                while table.changes.front().is_some_and(|c| c.revision <= change.revision) {
                    table.changes.pop_front();
                    table.forgotten = change.revision;
                }
            }
        }
    }

    fn index(&mut self, location: Location, object: &Object) {
        for owner in &object.facts.owners {
            self.dependents.entry(owner.uid.clone()).or_default().insert(location.clone());
        }
        self.by_uid.insert(object.facts.uid.clone(), location);
    }

    fn unindex(&mut self, location: &Location, object: &Object) {
        for owner in &object.facts.owners {
            if let Some(all) = self.dependents.get_mut(&owner.uid) {
                all.remove(location);
                if all.is_empty() {
                    self.dependents.remove(&owner.uid);
                }
            }
        }
        if self.by_uid.get(&object.facts.uid) == Some(location) {
            self.by_uid.remove(&object.facts.uid);
        }
    }
}

#[cfg(test)]
mod tests;
