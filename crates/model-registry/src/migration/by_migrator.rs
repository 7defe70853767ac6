//! The cluster's own migrator: it is asked, and waited for.

use std::time::Duration;

use kube::{
    Api,
    api::{ListParams, ObjectMeta, PostParams},
};
use quintet_api::{
    foreign::storage_migration::{
        MigratedResource, StorageVersionMigration, StorageVersionMigrationSpec, StorageVersionMigrationStatus,
    },
    model_registry::ModelRegistry,
};
use quintet_kit::{Context, Kind, parts::meta};

use super::Error;
use crate::{MANAGER, config::Versions};

const POLL: Duration = Duration::from_secs(30);

/// Asks the migrator and waits for it. False if the cluster has none.
pub(super) async fn migrate(context: &Context, versions: &Versions) -> Result<bool, Error> {
    let api: Api<StorageVersionMigration> = Api::all(context.client().clone());
    if api.list(&ListParams::default().limit(1)).await.is_err() {
        return Ok(false);
    }
    let wanted = wanted(versions);
    let name = wanted.metadata.name.clone().unwrap_or_default();
    if api.get_opt(&name).await?.is_none() {
        let params = PostParams { field_manager: Some(MANAGER.name.into()), ..PostParams::default() };
        context.fence().guard(api.create(&params, &wanted)).await??;
        tracing::info!(name, "the cluster's migrator is asked to migrate");
    }
    loop {
        match api.get_opt(&name).await {
            Ok(None) => return Ok(true), // whoever takes it away thinks it is done
            Ok(Some(migration)) => match verdict(migration.status.as_ref()) {
                Some(true) => return Ok(true),
                Some(false) => return Err(Error::Migrator),
                None => tracing::info!(name, "the cluster's migrator is at work"),
            },
            Err(error) => tracing::warn!(name, %error, "the migration cannot be read; looking again"),
        }
        tokio::time::sleep(POLL).await;
    }
}

fn wanted(versions: &Versions) -> StorageVersionMigration {
    let Versions { source, target, .. } = versions;
    let registry = ModelRegistry::gvk();
    let resource =
        MigratedResource { group: registry.group, version: target.clone(), resource: registry.plural };
    let labels = meta::labels([
        ("app.kubernetes.io/name", "model-registry-operator"),
        ("app.kubernetes.io/component", "storage-migration"),
        ("app.kubernetes.io/managed-by", "model-registry-operator"),
    ]);
    StorageVersionMigration {
        metadata: ObjectMeta {
            name: Some(format!("modelregistry-{source}-to-{target}-migration")),
            labels: Some(labels),
            ..ObjectMeta::default()
        },
        spec: StorageVersionMigrationSpec { resource },
        status: None,
    }
}

/// Whether it went well; none while it goes on. OpenShift's migrator never says `Succeeded=False`, but `Failed=True`.
fn verdict(status: Option<&StorageVersionMigrationStatus>) -> Option<bool> {
    let said = |type_: &str, value: &str| {
        status.is_some_and(|status| status.conditions.iter().any(|c| c.type_ == type_ && c.status == value))
    };
    if said("Succeeded", "False") || said("Failed", "True") {
        return Some(false);
    }
    said("Succeeded", "True").then_some(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_api::foreign::storage_migration::MigrationCondition;

    #[test]
    fn both_ways_to_say_that_it_failed_are_understood() {
        let status = |type_: &str, value: &str| StorageVersionMigrationStatus {
            conditions: vec![MigrationCondition { type_: type_.into(), status: value.into(), message: None }],
        };
        assert_eq!(verdict(Some(&status("Succeeded", "True"))), Some(true));
        assert_eq!(verdict(Some(&status("Succeeded", "False"))), Some(false));
        assert_eq!(verdict(Some(&status("Failed", "True"))), Some(false));
        assert_eq!(verdict(Some(&status("Running", "True"))), None);
        assert_eq!(verdict(None), None);
    }

    #[test]
    fn the_request_is_the_originals() {
        let versions = Versions { source: "v1alpha1".into(), target: "v1beta1".into(), forget: true };
        let wanted = wanted(&versions);
        assert_eq!(wanted.metadata.name.as_deref(), Some("modelregistry-v1alpha1-to-v1beta1-migration"));
        assert_eq!(wanted.spec.resource.version, "v1beta1");
        assert_eq!(wanted.spec.resource.resource, "modelregistries");
    }
}
