//! Lists, also of a past revision, in pages.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use super::{Object, Store, Table, TableId, Unavailable};

/// What to list.
#[derive(Clone, Copy)]
pub struct Listing<'a> {
    /// The resource.
    pub table: &'a TableId,
    /// Only this namespace, unless empty.
    pub namespace: &'a str,
    /// The state as of this revision; the latest if none.
    pub revision: Option<u64>,
    /// Begin at this key, or after it if it ends in NUL.
    pub start: &'a str,
    /// At most so many matching objects; all if zero.
    pub limit: usize,
    /// Only these objects.
    pub matches: &'a (dyn Fn(&Object) -> bool + Sync),
}

impl<'a> Listing<'a> {
    /// All that matches, as it is now.
    pub fn now(
        table: &'a TableId,
        namespace: &'a str,
        matches: &'a (dyn Fn(&Object) -> bool + Sync),
    ) -> Listing<'a> {
        Listing { table, namespace, revision: None, start: "", limit: 0, matches }
    }
}

/// A list, or one page of it.
#[derive(Debug)]
pub struct Page {
    /// The objects, by key.
    pub objects: Vec<Arc<Object>>,
    /// The revision they are of.
    pub revision: u64,
    /// The key after the last one, if there may be more.
    pub next: Option<String>,
    /// How many objects (matching or not) follow.
    pub remaining: usize,
}

impl Store {
    /// All objects of a namespace, or of all when it is empty, as they are now.
    pub fn all(&self, table: &TableId, namespace: &str) -> Vec<Arc<Object>> {
        // What is now is neither compacted nor to come.
        self.list(Listing::now(table, namespace, &|_| true)).map(|page| page.objects).unwrap_or_default()
    }

    /// Lists objects. A resource without a table has none.
    pub fn list(&self, listing: Listing<'_>) -> Result<Page, Unavailable> {
        let state = self.state.read();
        let revision = listing.revision.unwrap_or(state.revision);
        if revision > state.revision {
            return Err(Unavailable::Future(state.revision));
        }
        if revision < state.history.compacted {
            return Err(Unavailable::TooOld(state.history.compacted));
        }
        let mut page = Page { objects: Vec::new(), revision, next: None, remaining: 0 };
        let Some(table) = state.tables.get(listing.table) else { return Ok(page) };
        let undone = if revision == state.revision { BTreeMap::new() } else { table.undo(revision) };
        let (first, end) = range(listing.namespace, listing.start);
        let live = table.objects.range::<str, _>((first.as_bound(), end.as_bound()));
        let live = live.filter(|(key, _)| !undone.contains_key(*key));
        let past = undone.range::<str, _>((first.as_bound(), end.as_bound()));
        let past = past.filter_map(|(key, object)| Some((key, object.as_ref()?)));
        let mut all = merge(live, past);
        if listing.limit == 0 {
            page.objects.extend(all.filter(|(_, o)| (listing.matches)(o)).map(|(_, o)| o.clone()));
            return Ok(page);
        }
        let mut last = None;
        for (key, object) in all.by_ref() {
            if page.objects.len() == listing.limit {
                page.next = last.map(|last: &Arc<str>| format!("{last}\0"));
                page.remaining = 1 + all.count();
                break;
            }
            if (listing.matches)(object) {
                page.objects.push(object.clone());
            }
            last = Some(key);
        }
        Ok(page)
    }
}

impl Table {
    /// For every key changed after `revision`, what it held then.
    fn undo(&self, revision: u64) -> BTreeMap<Arc<str>, Option<Arc<Object>>> {
        let start = self.changes.partition_point(|c| c.revision <= revision);
        let mut then = BTreeMap::new();
        for change in self.changes.range(start..) {
            then.entry(change.key.clone()).or_insert_with(|| change.old.clone());
        }
        then
    }
}

enum Edge {
    Included(String),
    Excluded(String),
    Open,
}

impl Edge {
    fn as_bound(&self) -> Bound<&str> {
        match self {
            Self::Included(key) => Bound::Included(key),
            Self::Excluded(key) => Bound::Excluded(key),
            Self::Open => Bound::Unbounded,
        }
    }
}

/// The keys of a namespace, from `start` on.
fn range(namespace: &str, start: &str) -> (Edge, Edge) {
    let first = match start.strip_suffix('\0') {
        Some(after) => Edge::Excluded(after.to_string()),
        None => Edge::Included(start.to_string()),
    };
    if namespace.is_empty() {
        return (first, Edge::Open);
    }
    let prefix = format!("{namespace}/");
    // '0' follows '/', so this is the first key behind the namespace's.
    let end = format!("{namespace}0");
    let inside = start.starts_with(&prefix);
    (if inside { first } else { Edge::Included(prefix) }, Edge::Excluded(end))
}

/// Two sorted sequences with different keys, as one.
fn merge<'a>(
    a: impl Iterator<Item = (&'a Arc<str>, &'a Arc<Object>)>,
    b: impl Iterator<Item = (&'a Arc<str>, &'a Arc<Object>)>,
) -> impl Iterator<Item = (&'a Arc<str>, &'a Arc<Object>)> {
    let (mut a, mut b) = (a.peekable(), b.peekable());
    std::iter::from_fn(move || match (a.peek(), b.peek()) {
        (Some(x), Some(y)) if x.0 <= y.0 => a.next(),
        (_, Some(_)) => b.next(),
        (_, None) => a.next(),
    })
}
