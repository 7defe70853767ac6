//! A migrator of the cluster's: it is asked, and waited for.

use std::{fmt, time::Duration};

use kube::{
    Api, ResourceExt,
    api::{ApiResource, DeleteParams, DynamicObject, ListParams, PostParams},
    core::GroupVersionKind,
};
use quintet_api::{foreign::storage_migration::StorageVersionMigrationStatus, model_registry::ModelRegistry};
use quintet_kit::{Context, Kind, error::is_not_found, parts::meta};
use serde::Deserialize;
use serde_json::json;
use tokio::time::Instant;

use super::{Definition, Error, Migration, by_hand::STAMP};
use crate::{MANAGER, config::Versions};

const POLL: Duration = Duration::from_secs(30);
/// An API may be served though no migrator runs: whoever says nothing for so long is not there.
pub(super) const SILENCE: Duration = Duration::from_secs(10 * 60);

/// A migrator that a cluster may have.
pub(super) struct Migrator {
    group: &'static str,
    version: &'static str,
    /// Requests name the version, too.
    with_version: bool,
}

/// OpenShift's, then Kubernetes' own in its versions, the newest first.
pub(super) const MIGRATORS: [Migrator; 4] = [
    Migrator { group: "migration.k8s.io", version: "v1alpha1", with_version: true },
    Migrator { group: "storagemigration.k8s.io", version: "v1", with_version: false },
    Migrator { group: "storagemigration.k8s.io", version: "v1beta1", with_version: false },
    Migrator { group: "storagemigration.k8s.io", version: "v1alpha1", with_version: true },
];

impl fmt::Display for Migrator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.group, self.version)
    }
}

impl Migrator {
    fn resource(&self) -> ApiResource {
        ApiResource::from_gvk(&GroupVersionKind::gvk(self.group, self.version, "StorageVersionMigration"))
    }

    fn api(&self, context: &Context) -> Api<DynamicObject> {
        Api::all_with(context.client().clone(), &self.resource())
    }

    pub(super) async fn is_served(&self, context: &Context) -> bool {
        self.api(context).list(&ListParams::default().limit(1)).await.is_ok()
    }

    /// Asks, unless that was done before, and waits.
    pub(super) async fn migrate(&self, migration: &Migration, definition: &Definition) -> Result<(), Error> {
        let context = &migration.context;
        let (api, wanted) = (self.api(context), self.wanted(&migration.versions, &definition.stamp));
        let name = wanted.name_any();
        let mut found = api.get_opt(&name).await?;
        // It was carried out for an earlier definition: what was stored since may need it again.
        if found.as_ref().is_some_and(|found| found.annotations().get(STAMP) != Some(&definition.stamp)) {
            match context.fence().guard(api.delete(&name, &DeleteParams::default())).await? {
                Err(error) if !is_not_found(&error) => return Err(error.into()),
                _ => found = None,
            }
        }
        if found.is_none() {
            let params = PostParams { field_manager: Some(MANAGER.name.into()), ..PostParams::default() };
            context.fence().guard(api.create(&params, &wanted)).await??;
        }
        migration
            .progress
            .begun(&format!("by the cluster's migrator: StorageVersionMigration {name} ({self})"));
        wait(&api, &name).await
    }

    fn wanted(&self, versions: &Versions, stamp: &str) -> DynamicObject {
        let Versions { source, target, .. } = versions;
        let registry = ModelRegistry::gvk();
        let mut resource = json!({ "group": registry.group, "resource": registry.plural });
        if self.with_version {
            resource["version"] = target.as_str().into();
        }
        let name = format!("modelregistry-{source}-to-{target}-migration");
        let mut wanted =
            DynamicObject::new(&name, &self.resource()).data(json!({ "spec": { "resource": resource } }));
        wanted.metadata.labels = Some(meta::labels([
            ("app.kubernetes.io/name", "model-registry-operator"),
            ("app.kubernetes.io/component", "storage-migration"),
            ("app.kubernetes.io/managed-by", "model-registry-operator"),
        ]));
        wanted.metadata.annotations = Some([(STAMP.to_owned(), stamp.to_owned())].into());
        wanted
    }
}

/// Waits until the migrator says that it is done.
async fn wait(api: &Api<DynamicObject>, name: &str) -> Result<(), Error> {
    let begun = Instant::now();
    loop {
        match api.get_opt(name).await {
            Ok(None) => return Ok(()), // whoever takes it away thinks it is done
            Ok(Some(request)) => match verdict(&request) {
                Verdict::Done => return Ok(()),
                Verdict::Failed => return Err(Error::Migrator),
                Verdict::Silent if begun.elapsed() >= SILENCE => return Err(Error::Silence),
                Verdict::Silent | Verdict::AtWork => {
                    tracing::info!(name, "waiting for the cluster's migrator")
                }
            },
            Err(error) => tracing::warn!(name, %error, "the migration cannot be read; looking again"),
        }
        tokio::time::sleep(POLL).await;
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Silent,
    AtWork,
    Done,
    Failed,
}

/// What the migrator says. OpenShift's never says `Succeeded=False`, but `Failed=True`.
fn verdict(request: &DynamicObject) -> Verdict {
    let status = StorageVersionMigrationStatus::deserialize(&request.data["status"]).unwrap_or_default();
    let said =
        |type_: &str, value: &str| status.conditions.iter().any(|c| c.type_ == type_ && c.status == value);
    if said("Succeeded", "False") || said("Failed", "True") {
        return Verdict::Failed;
    }
    if said("Succeeded", "True") {
        return Verdict::Done;
    }
    if status.conditions.is_empty() { Verdict::Silent } else { Verdict::AtWork }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_to_say_that_it_failed_are_understood() {
        let told = |conditions: &[(&str, &str)]| {
            let conditions: Vec<_> =
                conditions.iter().map(|(type_, status)| json!({ "type": type_, "status": status })).collect();
            let request = DynamicObject::new("x", &MIGRATORS[0].resource());
            verdict(&request.data(json!({ "status": { "conditions": conditions } })))
        };
        assert_eq!(told(&[("Running", "False"), ("Succeeded", "True")]), Verdict::Done);
        assert_eq!(told(&[("Succeeded", "False")]), Verdict::Failed);
        assert_eq!(told(&[("Failed", "True")]), Verdict::Failed);
        assert_eq!(told(&[("Running", "True")]), Verdict::AtWork);
        assert_eq!(told(&[]), Verdict::Silent);
        assert_eq!(verdict(&DynamicObject::new("x", &MIGRATORS[0].resource())), Verdict::Silent);
    }

    #[test]
    fn the_request_is_the_originals_and_kubernetes_own_names_no_version() {
        let versions = Versions { source: "v1alpha1".into(), target: "v1beta1".into(), forget: true };
        let resource = |migrator: &Migrator| {
            let wanted = migrator.wanted(&versions, "u/1");
            assert_eq!(wanted.name_any(), "modelregistry-v1alpha1-to-v1beta1-migration");
            assert_eq!(wanted.labels()["app.kubernetes.io/component"], "storage-migration");
            wanted.data["spec"]["resource"].clone()
        };
        let group = "modelregistry.opendatahub.io";
        let named = json!({ "group": group, "version": "v1beta1", "resource": "modelregistries" });
        let unnamed = json!({ "group": group, "resource": "modelregistries" });
        assert_eq!(MIGRATORS.each_ref().map(resource), [named.clone(), unnamed.clone(), unnamed, named]);
    }
}
