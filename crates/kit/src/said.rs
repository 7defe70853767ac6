//! Remembers what was said of each object, so that it is said once.

use std::{collections::HashMap, hash::Hash};

use parking_lot::Mutex;

use crate::{Note, ObjectKey};

/// What was said of each object last.
#[derive(Debug)]
pub struct Said<K = ObjectKey>(Mutex<HashMap<K, Vec<Note>>>);

impl<K> Default for Said<K> {
    fn default() -> Self {
        Said(Mutex::default())
    }
}

impl<K: Clone + Eq + Hash> Said<K> {
    /// Those of the notes that were not said last time.
    pub fn fresh(&self, about: &K, notes: Vec<Note>) -> Vec<Note> {
        let before = self.0.lock().insert(about.clone(), notes.clone()).unwrap_or_default();
        notes.into_iter().filter(|note| !before.contains(note)).collect()
    }

    /// Of all but these there is nothing to say any more.
    pub fn retain(&self, still: impl Fn(&K) -> bool) {
        self.0.lock().retain(|about, _| still(about));
    }

    /// The object is gone.
    pub fn forget(&self, about: &K) {
        self.0.lock().remove(about);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_is_not_said_again_until_it_changes() {
        let key = ObjectKey::cluster("x");
        let (said, a) = (Said::default(), Note::warning("A", "Reconcile", "a"));
        let b = Note::warning("B", "Reconcile", "b");
        assert_eq!(said.fresh(&key, vec![a.clone()]), vec![a.clone()]);
        assert_eq!(said.fresh(&key, vec![a.clone(), b.clone()]), vec![b.clone()]);
        assert_eq!(said.fresh(&key, vec![b]), vec![]);
        assert_eq!(said.fresh(&key, vec![a.clone()]), vec![a.clone()], "it went away meanwhile");
        said.forget(&key);
        assert_eq!(said.fresh(&key, vec![a.clone()]), vec![a.clone()]);
        said.retain(|about| about == &key);
        assert_eq!(said.fresh(&key, vec![a.clone()]), vec![]);
        said.retain(|about| about != &key);
        assert_eq!(said.fresh(&key, vec![a.clone()]), vec![a]);
    }
}
