//! What a watch tells.

use std::sync::Arc;

/// Something happened to an object.
#[derive(Debug)]
pub struct Change<K> {
    /// The object as it is now or, if it is gone, as it was last.
    pub object: Arc<K>,
    /// What the cache held before, if anything.
    pub before: Option<Arc<K>>,
    /// The object is no more.
    pub gone: bool,
}

impl<K> Change<K> {
    /// The state now and the state before.
    pub fn states(&self) -> impl Iterator<Item = &K> {
        std::iter::once(&*self.object).chain(self.before.as_deref())
    }
}

impl<K> Clone for Change<K> {
    fn clone(&self) -> Self {
        Change { object: self.object.clone(), before: self.before.clone(), gone: self.gone }
    }
}
