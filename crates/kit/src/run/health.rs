//! How each system is doing.

use parking_lot::RwLock;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How a system is doing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "camelCase")]
pub enum Health {
    /// It is being started.
    #[default]
    Starting,
    /// It waits for these kinds: not served, or not listed yet.
    Waiting {
        /// The kinds, and why each is not there.
        kinds: Vec<String>,
    },
    /// It runs.
    Ready,
    /// It stopped with this error, and will be started again.
    Failed {
        /// The error.
        error: String,
    },
    /// It was stopped.
    Stopped,
}

/// How every system is doing; clones share it.
#[derive(Clone, Debug, Default)]
pub struct Readiness(Arc<RwLock<BTreeMap<String, Health>>>);

impl Readiness {
    /// How one system is doing; none if there is no such system.
    #[must_use]
    pub fn of(&self, system: &str) -> Option<Health> {
        self.0.read().get(system).cloned()
    }

    /// How every system is doing, by name.
    #[must_use]
    pub fn all(&self) -> BTreeMap<String, Health> {
        self.0.read().clone()
    }

    /// True if every system runs.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.0.read().values().all(|health| *health == Health::Ready)
    }

    pub(super) fn set(&self, system: &str, health: Health) {
        let old = self.0.write().insert(system.to_owned(), health.clone());
        if old.as_ref() == Some(&health) {
            return;
        }
        match &health {
            Health::Failed { error } => {
                tracing::error!(system, error, "system failed, will be started again")
            }
            health => tracing::info!(system, ?health, "system"),
        }
    }
}
