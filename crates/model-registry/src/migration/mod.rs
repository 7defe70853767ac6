//! Moves stored registries to the storage version, once per start: by a migrator of the cluster's where there is one,
//! else by writing each registry anew. What was done is noted on each object, so that a run that was cut off goes on
//! where it was.
//!
//! | file | what |
//! |---|---|
//! | [`definition`] | what the registries' definition says of stored versions |
//! | [`by_migrator`] | a migrator of the cluster's is asked, and waited for |
//! | [`by_hand`] | each registry is written anew |
//! | [`progress`] | how far it is: events about the definition, and a metric |

mod by_hand;
mod by_migrator;
mod definition;
mod progress;

use std::time::Duration;

use k8s_openapi::{
    api::storagemigration::v1beta1::StorageVersionMigration as InTreeMigration,
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use quintet_api::{foreign::storage_migration::StorageVersionMigration, model_registry::ModelRegistry};
use quintet_kit::{
    Context, Kind, Read, Singleton, Wiring, Write, WritePolicy, error::said, fence::Closed, run::Fatal,
    wiring::ControllerRows,
};

use self::{by_migrator::MIGRATORS, definition::Definition, progress::Progress};
use crate::config::Versions;

const NAME: &str = "storage-migration";
/// Everything else is more urgent at a start.
const DELAY: Duration = Duration::from_secs(30);
/// After a failure. The migration is never urgent.
const AGAIN: Duration = Duration::from_secs(10 * 60);

/// Why a migration did not come to its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The server refuses, or could not be asked.
    #[error("{}", said(.0))]
    Api(#[from] kube::Error),
    /// The right to write was lost.
    #[error(transparent)]
    Closed(#[from] Closed),
    /// Nothing would be stored in the version that is wanted.
    #[error("the definition stores registries in {storage}, not in {target}")]
    Storage {
        /// What is stored.
        storage: String,
        /// What was asked for.
        target: String,
    },
    /// The cluster's migrator gave up.
    #[error("storage version migration failed")]
    Migrator,
    /// Nobody minds the request.
    #[error("no migrator has taken up the request in {} minutes", by_migrator::SILENCE.as_secs() / 60)]
    Silence,
    /// Some objects could not be written.
    #[error("{failed} of {all} registries could not be migrated, {first}")]
    Incomplete {
        /// How many could not.
        failed: usize,
        /// How many there are.
        all: usize,
        /// The first of them, and why.
        first: String,
    },
    /// What was done was done for another definition.
    #[error("the definition of ModelRegistry changed meanwhile")]
    Changed,
}

/// What the migration reads and writes.
pub fn rows() -> ControllerRows {
    let definition = ModelRegistry::gvk().crd_name();
    let stored = WritePolicy::PatchForeign(vec!["status.storedVersions".into()]);
    let served = "the API is served";
    let request = || WritePolicy::CreateOnly;
    Wiring::<Singleton>::new(NAME)
        .reads(Read::by_name::<CustomResourceDefinition>().names([&definition]))
        .reads(Read::listed::<ModelRegistry>())
        .reads(Read::listed::<StorageVersionMigration>().when(served))
        .reads(Read::listed::<InTreeMigration>().when(served))
        .writes(Write::of::<StorageVersionMigration>(request()).deletes().when(served))
        .writes(Write::of::<InTreeMigration>(request()).deletes().when(served))
        .writes(Write::of::<ModelRegistry>(WritePolicy::PatchForeign(vec!["metadata.annotations".into()])))
        .writes(Write::of::<CustomResourceDefinition>(stored).subresource("status").names([definition]))
        .events()
        .rows()
        .clone()
}

/// Runs until the migration is done. Only the leader migrates.
pub(crate) async fn run(context: Context, versions: Versions, tells: bool) -> Result<(), Fatal> {
    tokio::time::sleep(DELAY).await;
    let progress = Progress::new(&context, &versions, tells);
    let migration = Migration { context, versions, progress };
    loop {
        migration.context.fence().opened().await;
        match migration.migrate().await {
            Ok(()) => return Ok(()),
            Err(error) => migration.progress.failed(&error),
        }
        tokio::time::sleep(AGAIN).await;
    }
}

/// A migration, and what it is carried out with.
struct Migration {
    context: Context,
    versions: Versions,
    progress: Progress,
}

impl Migration {
    async fn migrate(&self) -> Result<(), Error> {
        let Versions { source, target, forget } = &self.versions;
        let definition = Definition::read(&self.context).await?;
        self.progress.about(&definition);
        if !definition.stored.contains(source) {
            tracing::info!(version = source, "no registry is stored in it: nothing to migrate");
            return Ok(());
        }
        if definition.storage != *target {
            return Err(Error::Storage { storage: definition.storage, target: target.clone() });
        }
        self.move_all(&definition).await?;
        if *forget {
            definition.forget(&self.context, source).await?;
        }
        self.progress.done();
        Ok(())
    }

    /// By the first way that there is and that succeeds.
    async fn move_all(&self, definition: &Definition) -> Result<(), Error> {
        for migrator in &MIGRATORS {
            if !migrator.is_served(&self.context).await {
                continue;
            }
            match migrator.migrate(self, definition).await {
                Ok(()) => return Ok(()),
                Err(error) => tracing::warn!(%error, %migrator, "the cluster's migrator is done without"),
            }
        }
        by_hand::migrate(self, definition).await
    }
}
