//! Results kept by their source text, up to a number.

use std::collections::HashMap;
use std::sync::LazyLock;

use parking_lot::Mutex;

/// A small memory; when it is full it forgets everything and begins anew.
pub(super) struct Memo<V> {
    most: usize,
    known: LazyLock<Mutex<HashMap<String, V>>>,
}

impl<V: Clone> Memo<V> {
    pub(super) const fn new(most: usize) -> Self {
        Memo { most, known: LazyLock::new(|| Mutex::new(HashMap::new())) }
    }

    /// What was made of `source` before, or is made of it now.
    pub(super) fn get(&self, source: &str, make: fn(&str) -> V) -> V {
        if let Some(known) = self.known.lock().get(source) {
            return known.clone();
        }
        let made = make(source);
        let mut known = self.known.lock();
        if known.len() >= self.most {
            known.clear();
        }
        known.insert(source.to_owned(), made.clone());
        made
    }
}
