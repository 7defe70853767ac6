//! Applies a watch's events to a store.

use std::collections::HashMap;
use std::sync::Arc;

use kube::ResourceExt;
use kube::runtime::watcher::Event;

use crate::stores::{Key, Store, Stores};

/// What an object means to us: an entry, nothing, or something that its author should know.
pub type Reading<T> = Result<Option<T>, String>;

/// Keeps one store in step with one kind.
pub struct Follower<K, T> {
    stores: Arc<Stores>,
    store: fn(&Stores) -> &Store<T>,
    read: fn(&Key, &K) -> Reading<T>,
    /// A list under way: it replaces the store in one go, so that nothing is missing in between.
    listing: HashMap<Key, Arc<T>>,
}

impl<K: ResourceExt, T> Follower<K, T> {
    /// Follows into the store that `store` picks; `read` says what an object means.
    pub fn new(
        stores: Arc<Stores>,
        store: fn(&Stores) -> &Store<T>,
        read: fn(&Key, &K) -> Reading<T>,
    ) -> Self {
        Follower { stores, store, read, listing: HashMap::new() }
    }

    /// Takes one event; true when a list is complete.
    pub fn event(&mut self, event: Event<K>) -> bool {
        let store = (self.store)(&self.stores);
        match event {
            Event::Init => self.listing.clear(),
            Event::InitApply(object) => {
                let key = key(&object);
                if let Some(entry) = self.entry(&key, &object) {
                    self.listing.insert(key, Arc::new(entry));
                }
            }
            Event::InitDone => {
                store.replace(std::mem::take(&mut self.listing));
                return true;
            }
            Event::Apply(object) => {
                let key = key(&object);
                match self.entry(&key, &object) {
                    Some(entry) => store.insert(key, entry),
                    None => store.remove(&key),
                }
            }
            Event::Delete(object) => store.remove(&key(&object)),
        }
        false
    }

    fn entry(&self, key: &Key, object: &K) -> Option<T> {
        if object.meta().deletion_timestamp.is_some() {
            return None;
        }
        (self.read)(key, object).unwrap_or_else(|problem| {
            tracing::error!("{problem}");
            None
        })
    }
}

fn key<K: ResourceExt>(object: &K) -> Key {
    (object.namespace().unwrap_or_default(), object.name_any())
}
