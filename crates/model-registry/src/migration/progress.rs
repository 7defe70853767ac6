//! How far a migration is, where people see it: events about the definition, a metric, and the log.

use k8s_openapi::api::core::v1::ObjectReference;
use parking_lot::Mutex;
use quintet_api::model_registry::ModelRegistry;
use quintet_kit::{Context, Events, Kind, Note, metrics::MigrationMetrics};

use super::{AGAIN, Definition, Error, NAME};
use crate::config::Versions;

/// How many registries there are, and what became of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) migrated: usize,
    pub(super) failed: usize,
    pub(super) all: usize,
}

impl Count {
    /// A quarter of all was passed with the last one.
    fn is_telling(self) -> bool {
        let quarter = |seen: usize| seen * 4 / self.all.max(1);
        let seen = self.migrated + self.failed;
        seen > 0 && quarter(seen) != quarter(seen - 1)
    }
}

/// Tells how far a migration is.
pub(super) struct Progress {
    events: Option<Events>,
    metrics: MigrationMetrics,
    about: Mutex<Option<ObjectReference>>,
    way: String,
}

impl Progress {
    /// Events are the original's to switch off: it has none.
    pub(super) fn new(context: &Context, versions: &Versions, tells: bool) -> Self {
        Progress {
            events: tells.then(|| context.events(NAME)),
            metrics: context.metrics().migration(&ModelRegistry::gvk().crd_name()),
            about: Mutex::default(),
            way: format!("from {} to {}", versions.source, versions.target),
        }
    }

    /// What follows is about this definition.
    pub(super) fn about(&self, definition: &Definition) {
        *self.about.lock() = Some(definition.reference.clone());
    }

    pub(super) fn begun(&self, how: &str) {
        let text = format!("moving stored registries {}, {how}", self.way);
        self.tell(Note::normal("StorageMigrationStarted", "Migrate", text));
    }

    /// How many there are, before the next is moved.
    pub(super) fn measured(&self, count: Count) {
        let Count { migrated, failed, all } = count;
        self.metrics.set(migrated, failed, all - migrated - failed);
    }

    /// One more was moved, or could not be.
    pub(super) fn counted(&self, count: Count) {
        let Count { migrated, failed, all } = count;
        self.measured(count);
        if count.is_telling() {
            let mut text = format!("{migrated} of {all} registries are moved {}", self.way);
            if failed > 0 {
                text += &format!(", {failed} could not be");
            }
            self.tell(Note::normal("StorageMigrationProgress", "Migrate", text));
        }
    }

    pub(super) fn done(&self) {
        let text = format!("every registry is moved {}", self.way);
        self.tell(Note::normal("StorageMigrationSucceeded", "Migrate", text));
    }

    pub(super) fn failed(&self, error: &Error) {
        let minutes = AGAIN.as_secs() / 60;
        let text =
            format!("Failed to perform migration {}: {error}; trying again in {minutes} minutes", self.way);
        self.tell(Note::warning("StorageMigrationFailed", "Migrate", text));
    }

    fn tell(&self, note: Note) {
        match note.warning {
            true => tracing::warn!("{}", note.text),
            false => tracing::info!("{}", note.text),
        }
        if let (Some(events), Some(about)) = (&self.events, self.about.lock().clone()) {
            events.publish_about(about, note);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_migration_tells_four_times_and_a_short_one_every_time() {
        let told = |all: usize| {
            (1..=all).filter(|&migrated| Count { migrated, failed: 0, all }.is_telling()).collect::<Vec<_>>()
        };
        assert_eq!(told(500), [125, 250, 375, 500]);
        assert_eq!(told(2), [1, 2]);
    }
}
