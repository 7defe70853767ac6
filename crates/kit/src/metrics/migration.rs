//! Counts how far a storage-version migration is.

use super::book::Book;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Labels {
    resource: String,
    state: &'static str,
}

/// The family.
#[derive(Clone, Debug, Default)]
pub(super) struct Migrations(Family<Labels, Gauge>);

impl Migrations {
    pub(super) fn register(&self, book: &mut Book) {
        let help = "Stored objects by whether they were moved to the storage version";
        book.register("quintet_storage_migration_objects", help, self.0.clone());
    }

    pub(super) fn of(&self, resource: &str) -> MigrationMetrics {
        let gauge = |state| self.0.get_or_create(&Labels { resource: resource.to_owned(), state }).clone();
        MigrationMetrics { pending: gauge("pending"), migrated: gauge("migrated"), failed: gauge("failed") }
    }
}

/// How far the migration of one resource is.
#[derive(Clone, Debug)]
pub struct MigrationMetrics {
    pending: Gauge,
    migrated: Gauge,
    failed: Gauge,
}

impl MigrationMetrics {
    /// So many are moved, could not be moved, and are still to be moved.
    pub fn set(&self, migrated: usize, failed: usize, pending: usize) {
        for (gauge, count) in [(&self.migrated, migrated), (&self.failed, failed), (&self.pending, pending)] {
            gauge.set(i64::try_from(count).unwrap_or(i64::MAX));
        }
    }
}
