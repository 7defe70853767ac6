//! What the registries' definition says of the versions that they are stored in.

use k8s_openapi::{
    api::core::v1::ObjectReference,
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, Resource,
    api::{Patch, PatchParams},
};
use quintet_api::model_registry::ModelRegistry;
use quintet_kit::{Context, Kind};
use serde_json::json;

use super::Error;
use crate::MANAGER;

/// The definition, as far as a migration is concerned.
pub(super) struct Definition {
    /// What events are about.
    pub(super) reference: ObjectReference,
    /// Versions in which something may be stored.
    pub(super) stored: Vec<String>,
    /// The version in which what is written is stored.
    pub(super) storage: String,
    /// Tells the definition from what it was before its last change: what was moved before that may have been written
    /// in another version since.
    pub(super) stamp: String,
    version: Option<String>,
}

impl Definition {
    pub(super) async fn read(context: &Context) -> Result<Self, Error> {
        let found = api(context).get(&ModelRegistry::gvk().crd_name()).await?;
        let reference = found.object_ref(&());
        let CustomResourceDefinition { metadata, spec, status } = found;
        let uid = metadata.uid.unwrap_or_default();
        Ok(Definition {
            reference,
            stored: status.and_then(|status| status.stored_versions).unwrap_or_default(),
            storage: spec.versions.into_iter().find(|v| v.storage).map(|v| v.name).unwrap_or_default(),
            stamp: format!("{uid}/{}", metadata.generation.unwrap_or_default()),
            version: metadata.resource_version,
        })
    }

    /// Tells the server that nothing is stored in the old version any more, so that the next start has nothing to do.
    pub(super) async fn forget(&self, context: &Context, source: &str) -> Result<(), Error> {
        let fresh = Definition::read(context).await?;
        if fresh.stamp != self.stamp {
            return Err(Error::Changed);
        }
        let left: Vec<&String> = fresh.stored.iter().filter(|version| *version != source).collect();
        let metadata = json!({ "resourceVersion": fresh.version });
        let patch = Patch::Merge(json!({ "metadata": metadata, "status": { "storedVersions": left } }));
        let params = PatchParams { field_manager: Some(MANAGER.name.into()), ..PatchParams::default() };
        let name = ModelRegistry::gvk().crd_name();
        context.fence().guard(api(context).patch_status(&name, &params, &patch)).await??;
        Ok(())
    }
}

fn api(context: &Context) -> Api<CustomResourceDefinition> {
    Api::all(context.client().clone())
}
