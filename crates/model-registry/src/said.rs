//! Remembers what was said of each object, so that it is said once.

use std::{collections::HashMap, hash::Hash};

use parking_lot::Mutex;
use quintet_kit::{Note, ObjectKey};

/// What was said of each object last.
#[derive(Debug)]
pub(crate) struct Said<K = ObjectKey>(Mutex<HashMap<K, Vec<Note>>>);

impl<K> Default for Said<K> {
    fn default() -> Self {
        Said(Mutex::default())
    }
}

impl<K: Clone + Eq + Hash> Said<K> {
    /// Those of the notes that were not said last time.
    pub(crate) fn fresh(&self, about: &K, notes: Vec<Note>) -> Vec<Note> {
        let before = self.0.lock().insert(about.clone(), notes.clone()).unwrap_or_default();
        notes.into_iter().filter(|note| !before.contains(note)).collect()
    }

    /// The object is gone.
    pub(crate) fn forget(&self, about: &K) {
        self.0.lock().remove(about);
    }
}
