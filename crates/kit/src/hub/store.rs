//! The cache of one hub: objects, indexes, and the names that were asked for.

use super::version;
use crate::key::ObjectKey;
use crate::kind::Kind;
use kube::Resource;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// How long a name that was asked for is kept in mind after it was last asked for. Longer than the regular resync,
/// which asks again for whatever is still of use.
const PIN_TIME: Duration = Duration::from_secs(2 * 60 * 60);

/// Fewer names than this are not worth a sweep.
const SWEEP: usize = 1024;

/// A way to find objects by a value taken from them: a label, or the name of what they refer to.
#[derive(Debug)]
pub struct Index<K> {
    /// The index's name.
    pub name: &'static str,
    /// The values an object is found by.
    pub values: fn(&K) -> Vec<String>,
}

impl<K> Clone for Index<K> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<K> Copy for Index<K> {}

type Keys = HashMap<String, BTreeSet<ObjectKey>>;

#[derive(Debug)]
pub(super) struct Store<K> {
    objects: HashMap<ObjectKey, Arc<K>>,
    owners: Keys,
    indexes: Vec<(Index<K>, Keys)>,
    pins: HashMap<ObjectKey, Pin>,
    /// With more names than this, those not asked for any more are dropped.
    sweep_at: usize,
    /// The keys listed so far, while a list is under way.
    listed: Option<HashSet<ObjectKey>>,
    /// How many lists were begun.
    lists: u64,
    /// The newest version seen.
    seen: u64,
}

/// A name that was asked for: its object is kept whoever it concerns.
#[derive(Debug)]
struct Pin {
    /// It is known whether the object exists, and the store has it if it does.
    resolved: bool,
    /// During which list it was made.
    list: u64,
    used: Instant,
}

/// What a pinned name is known to be.
#[derive(Debug)]
pub(super) enum Pinned<K> {
    /// This, or nothing.
    Known(Option<Arc<K>>),
    /// It must be asked for.
    Unknown,
}

impl<K> Default for Store<K> {
    fn default() -> Self {
        Store {
            objects: HashMap::new(),
            owners: HashMap::new(),
            indexes: vec![],
            pins: HashMap::new(),
            sweep_at: SWEEP,
            listed: None,
            lists: 0,
            seen: 0,
        }
    }
}

impl<K: Kind> Store<K> {
    pub(super) fn len(&self) -> usize {
        self.objects.len()
    }

    pub(super) fn seen(&self) -> u64 {
        self.seen
    }

    pub(super) fn get(&self, key: &ObjectKey) -> Option<Arc<K>> {
        self.objects.get(key).cloned()
    }

    pub(super) fn list(&self) -> Vec<Arc<K>> {
        self.objects.values().cloned().collect()
    }

    pub(super) fn filter(&self, test: impl Fn(&K) -> bool) -> Vec<Arc<K>> {
        self.objects.values().filter(|object| test(object)).cloned().collect()
    }

    pub(super) fn owned_by(&self, uid: &str) -> Vec<Arc<K>> {
        self.pick(self.owners.get(uid))
    }

    pub(super) fn by(&self, index: &str, value: &str) -> Vec<Arc<K>> {
        self.pick(self.indexes.iter().find(|(i, _)| i.name == index).and_then(|(_, keys)| keys.get(value)))
    }

    fn pick(&self, keys: Option<&BTreeSet<ObjectKey>>) -> Vec<Arc<K>> {
        keys.into_iter().flatten().filter_map(|key| self.get(key)).collect()
    }

    pub(super) fn add_index(&mut self, index: Index<K>) {
        if self.indexes.iter().any(|(known, _)| known.name == index.name) {
            return;
        }
        let mut keys = Keys::new();
        for (key, object) in &self.objects {
            enter(&mut keys, (index.values)(object), key);
        }
        self.indexes.push((index, keys));
    }

    /// What is cached of an object about which the server said something just now.
    pub(super) fn look(&mut self, key: &ObjectKey) -> Option<Arc<K>> {
        if let Some(listed) = &mut self.listed
            && (self.objects.contains_key(key) || self.pins.contains_key(key))
        {
            listed.insert(key.clone());
        }
        self.get(key)
    }

    pub(super) fn set(&mut self, key: ObjectKey, object: Arc<K>) {
        self.remove(&key);
        self.saw(object.meta().resource_version.as_deref());
        enter(&mut self.owners, owners(&*object), &key);
        for (index, keys) in &mut self.indexes {
            enter(keys, (index.values)(&object), &key);
        }
        if let Some(pin) = self.pins.get_mut(&key) {
            pin.resolved = true;
        }
        if let Some(listed) = &mut self.listed {
            listed.insert(key.clone());
        }
        self.objects.insert(key, object);
    }

    pub(super) fn remove(&mut self, key: &ObjectKey) {
        if let Some(pin) = self.pins.get_mut(key) {
            pin.resolved = true;
        }
        let Some(object) = self.objects.remove(key) else { return };
        leave(&mut self.owners, owners(&*object), key);
        for (index, keys) in &mut self.indexes {
            leave(keys, (index.values)(&object), key);
        }
    }

    pub(super) fn saw(&mut self, resource_version: Option<&str>) {
        self.seen = self.seen.max(version(resource_version));
    }

    pub(super) fn begin_relist(&mut self) {
        self.lists += 1;
        self.listed = Some(HashSet::new());
    }

    /// What was cached and not listed, which therefore is no more. It is still cached: whoever removes it tells.
    pub(super) fn end_relist(&mut self) -> Vec<Arc<K>> {
        let Some(listed) = self.listed.take() else { return vec![] };
        self.pins.retain(|_, pin| pin.used.elapsed() < PIN_TIME);
        for pin in self.pins.values_mut().filter(|pin| pin.list < self.lists) {
            pin.resolved = true; // asked for before the list began: listed, or known not to exist
        }
        self.objects
            .iter()
            .filter(|(key, _)| !listed.contains(*key))
            .map(|(_, object)| object.clone())
            .collect()
    }

    pub(super) fn is_pinned(&self, key: &ObjectKey) -> bool {
        self.pins.contains_key(key)
    }

    /// Keeps the name in mind. `complete`: the store has every object there is.
    pub(super) fn pin(&mut self, key: &ObjectKey, complete: bool) -> Pinned<K> {
        if complete {
            return Pinned::Known(self.get(key));
        }
        if self.pins.len() > self.sweep_at {
            self.pins.retain(|_, pin| pin.used.elapsed() < PIN_TIME);
            self.sweep_at = (self.pins.len() * 2).max(SWEEP);
        }
        let list = self.lists;
        let known = self.objects.contains_key(key);
        let pin = self.pins.entry(key.clone()).or_insert(Pin { resolved: known, list, used: Instant::now() });
        pin.used = Instant::now();
        if pin.resolved { Pinned::Known(self.get(key)) } else { Pinned::Unknown }
    }

    /// The server's answer about a name. If the watch told of it meanwhile, the watch is right.
    pub(super) fn resolve(&mut self, key: &ObjectKey, answer: Option<Arc<K>>) -> Option<Arc<K>> {
        match self.pins.get_mut(key) {
            None => answer,
            Some(pin) if pin.resolved => self.get(key),
            Some(pin) => {
                pin.resolved = true;
                if let Some(object) = &answer {
                    self.set(key.clone(), object.clone());
                }
                answer
            }
        }
    }
}

fn owners(object: &impl Resource) -> Vec<String> {
    object.meta().owner_references.iter().flatten().map(|owner| owner.uid.clone()).collect()
}

fn enter(keys: &mut Keys, values: Vec<String>, key: &ObjectKey) {
    for value in values {
        keys.entry(value).or_default().insert(key.clone());
    }
}

fn leave(keys: &mut Keys, values: Vec<String>, key: &ObjectKey) {
    for value in values {
        if let Some(set) = keys.get_mut(&value) {
            set.remove(key);
            if set.is_empty() {
                keys.remove(&value);
            }
        }
    }
}
