//! Writing each registry anew: the server then stores it in the storage version. Each carries a note of it.

use kube::{
    Api, ResourceExt,
    api::{ApiResource, DynamicObject, ListParams, Patch, PatchParams},
};
use quintet_api::model_registry::ModelRegistry;
use quintet_kit::{Context, Kind};
use serde_json::json;

use super::Error;
use crate::{MANAGER, config::Versions};

const LAST_VERSION: &str = "storage-migration.opendatahub.io/last-migrated-rv";

/// Writes every registry that has not been written yet. One that fails does not keep the others.
pub(super) async fn migrate(context: &Context, versions: &Versions) -> Result<(), Error> {
    let old = in_version(&versions.source);
    let all = Api::<DynamicObject>::all_with(context.client().clone(), &old);
    let all = all.list(&ListParams::default()).await?.items;
    let (mut failed, count) = (0, all.len());
    for (done, object) in all.into_iter().enumerate() {
        let (namespace, name) = (object.namespace().unwrap_or_default(), object.name_any());
        if let Err(error) = one(context, versions, &namespace, &name).await {
            failed += 1;
            tracing::warn!(%namespace, %name, %error, "registry not migrated");
        }
        tracing::info!(done = done + 1, count, "registries migrated");
    }
    if failed == 0 { Ok(()) } else { Err(Error::Incomplete { failed, all: count }) }
}

async fn one(context: &Context, versions: &Versions, namespace: &str, name: &str) -> Result<(), Error> {
    let resource = in_version(&versions.target);
    let api = Api::<DynamicObject>::namespaced_with(context.client().clone(), namespace, &resource);
    let Some(object) = api.get_opt(name).await? else { return Ok(()) };
    let note =
        format!("storage-migration.opendatahub.io/migrated-{}-to-{}", versions.source, versions.target);
    if object.annotations().contains_key(&note) {
        return Ok(());
    }
    let version = object.resource_version();
    let annotations = json!({ note: context.clock().seconds(), LAST_VERSION: version });
    let patch =
        Patch::Merge(json!({ "metadata": { "resourceVersion": version, "annotations": annotations } }));
    let params = PatchParams { field_manager: Some(MANAGER.name.into()), ..PatchParams::default() };
    context.fence().guard(api.patch(name, &params, &patch)).await??;
    Ok(())
}

fn in_version(version: &str) -> ApiResource {
    let resource = ModelRegistry::api_resource();
    ApiResource { api_version: format!("{}/{version}", resource.group), version: version.into(), ..resource }
}
