//! Moves stored registries to the storage version, once per start: by the cluster's own migrator where there is one,
//! else by writing each registry anew. What was done is noted on each object, so that a run that was cut off goes on
//! where it was.

mod by_hand;
mod by_migrator;

use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api,
    api::{Patch, PatchParams},
};
use quintet_api::{foreign::storage_migration::StorageVersionMigration, model_registry::ModelRegistry};
use quintet_kit::{
    Context, Kind, Read, Singleton, Wiring, Write, WritePolicy, fence::Closed, run::Fatal,
    wiring::ControllerRows,
};
use serde_json::json;

use crate::{MANAGER, config::Versions};

/// Everything else is more urgent at a start.
const DELAY: Duration = Duration::from_secs(30);
/// After a failure. The migration is never urgent.
const AGAIN: Duration = Duration::from_secs(10 * 60);

/// Why a migration did not come to its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The server refuses, or could not be asked.
    #[error(transparent)]
    Api(#[from] kube::Error),
    /// The right to write was lost.
    #[error(transparent)]
    Closed(#[from] Closed),
    /// The cluster's migrator gave up.
    #[error("storage version migration failed")]
    Migrator,
    /// Some objects could not be written.
    #[error("{failed} of {all} registries could not be migrated")]
    Incomplete {
        /// How many could not.
        failed: usize,
        /// How many there are.
        all: usize,
    },
}

/// What the migration reads and writes.
pub fn rows() -> ControllerRows {
    let definition = ModelRegistry::gvk().crd_name();
    let stored = WritePolicy::PatchForeign(vec!["status.storedVersions".into()]);
    Wiring::<Singleton>::new("storage-migration")
        .reads(Read::by_name::<CustomResourceDefinition>().names([&definition]))
        .reads(Read::listed::<ModelRegistry>())
        .reads(Read::listed::<StorageVersionMigration>().when("the API is served"))
        .writes(Write::of::<StorageVersionMigration>(WritePolicy::CreateOnly).when("the API is served"))
        .writes(Write::of::<ModelRegistry>(WritePolicy::PatchForeign(vec!["metadata.annotations".into()])))
        .writes(Write::of::<CustomResourceDefinition>(stored).subresource("status").names([definition]))
        .rows()
        .clone()
}

/// Runs until the migration is done. Only the leader migrates.
pub(crate) async fn run(context: Context, versions: Versions) -> Result<(), Fatal> {
    tokio::time::sleep(DELAY).await;
    loop {
        context.fence().opened().await;
        match migrate(&context, &versions).await {
            Ok(()) => return Ok(()),
            Err(error) => tracing::warn!(%error, "Failed to perform migration; trying again later"),
        }
        tokio::time::sleep(AGAIN).await;
    }
}

async fn migrate(context: &Context, versions: &Versions) -> Result<(), Error> {
    let definitions: Api<CustomResourceDefinition> = Api::all(context.client().clone());
    let name = ModelRegistry::gvk().crd_name();
    let definition = definitions.get(&name).await?;
    let stored = definition.status.and_then(|status| status.stored_versions).unwrap_or_default();
    if !stored.contains(&versions.source) {
        tracing::info!(version = versions.source, "no registry is stored in it: nothing to migrate");
        return Ok(());
    }
    match by_migrator::migrate(context, versions).await {
        Ok(true) => {}
        Ok(false) => by_hand::migrate(context, versions).await?,
        Err(error) => {
            tracing::warn!(%error, "the cluster's migrator failed: registries are written one by one");
            by_hand::migrate(context, versions).await?;
        }
    }
    if !versions.forget {
        return Ok(());
    }
    forget(context, &definitions, &name, versions).await
}

/// Tells the server that nothing is stored in the old version any more, so that the next start has nothing to do.
async fn forget(
    context: &Context,
    definitions: &Api<CustomResourceDefinition>,
    name: &str,
    versions: &Versions,
) -> Result<(), Error> {
    let fresh = definitions.get(name).await?;
    let stored = fresh.status.and_then(|status| status.stored_versions).unwrap_or_default();
    let left: Vec<String> = stored.into_iter().filter(|version| *version != versions.source).collect();
    let metadata = json!({ "resourceVersion": fresh.metadata.resource_version });
    let patch = Patch::Merge(json!({ "metadata": metadata, "status": { "storedVersions": left } }));
    let params = PatchParams { field_manager: Some(MANAGER.name.into()), ..PatchParams::default() };
    context.fence().guard(definitions.patch_status(name, &params, &patch)).await??;
    tracing::info!(
        from = versions.source,
        to = versions.target,
        "every registry is stored in the new version"
    );
    Ok(())
}
