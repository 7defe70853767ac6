//! Writing each registry anew: the server then stores it in the storage version. Each carries a note of it.

use std::collections::BTreeMap;

use kube::{
    Api, ResourceExt,
    api::{ApiResource, DynamicObject, ListParams, Patch, PatchParams},
    core::PartialObjectMeta,
};
use quintet_api::model_registry::ModelRegistry;
use quintet_kit::{Kind, error::is_not_found};
use serde_json::json;

use super::{Definition, Error, Migration, progress::Count};
use crate::MANAGER;

const LAST_VERSION: &str = "storage-migration.opendatahub.io/last-migrated-rv";
/// The definition that a registry was written anew under.
pub(super) const STAMP: &str = "storage-migration.opendatahub.io/definition";
/// Registries are listed so many at a time.
const PAGE: u32 = 500;

type Listed = PartialObjectMeta<DynamicObject>;

/// Writes every registry that has not been written yet. One that fails does not keep the others.
pub(super) async fn migrate(migration: &Migration, definition: &Definition) -> Result<(), Error> {
    let all = list(migration).await?;
    let is_done = |object: &Listed| object.annotations().get(STAMP) == Some(&definition.stamp);
    let (done, left): (Vec<_>, Vec<_>) = all.into_iter().partition(is_done);
    let mut count = Count { migrated: done.len(), failed: 0, all: done.len() + left.len() };
    let mut first = None;
    migration.progress.begun(&format!("one by one, {} of {} are done", count.migrated, count.all));
    migration.progress.measured(count);
    for object in &left {
        match write(migration, definition, object).await {
            Ok(()) => count.migrated += 1,
            Err(error) => {
                let (namespace, name) = (object.namespace().unwrap_or_default(), object.name_any());
                tracing::warn!(%namespace, %name, %error, "registry not migrated");
                first.get_or_insert_with(|| format!("{namespace}/{name} first: {error}"));
                count.failed += 1;
            }
        }
        migration.progress.counted(count);
    }
    match first {
        Some(first) => Err(Error::Incomplete { failed: count.failed, all: count.all, first }),
        None => Ok(()),
    }
}

/// The metadata of every registry, which is all that is needed of it.
async fn list(migration: &Migration) -> Result<Vec<Listed>, Error> {
    let client = migration.context.client().clone();
    let api = Api::<DynamicObject>::all_with(client, &in_version(&migration.versions.target));
    let (mut all, mut params) = (vec![], ListParams::default().limit(PAGE));
    loop {
        let page = api.list_metadata(&params).await?;
        all.extend(page.items);
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params = params.continue_token(&token),
            None => return Ok(all),
        }
    }
}

async fn write(migration: &Migration, definition: &Definition, object: &Listed) -> Result<(), Error> {
    let Migration { context, versions, .. } = migration;
    let namespace = object.namespace().unwrap_or_default();
    let resource = in_version(&versions.target);
    let api = Api::<DynamicObject>::namespaced_with(context.client().clone(), &namespace, &resource);
    let note =
        format!("storage-migration.opendatahub.io/migrated-{}-to-{}", versions.source, versions.target);
    let annotations = BTreeMap::from([
        (note, json!(context.clock().seconds())),
        (LAST_VERSION.into(), json!(object.resource_version())),
        (STAMP.into(), json!(definition.stamp)),
    ]);
    let patch = Patch::Merge(json!({ "metadata": { "annotations": annotations } }));
    let params = PatchParams { field_manager: Some(MANAGER.name.into()), ..PatchParams::default() };
    match context.fence().guard(api.patch(&object.name_any(), &params, &patch)).await? {
        Err(error) if !is_not_found(&error) => Err(error.into()),
        _ => Ok(()), // what is gone is stored nowhere
    }
}

fn in_version(version: &str) -> ApiResource {
    let resource = ModelRegistry::api_resource();
    ApiResource { api_version: format!("{}/{version}", resource.group), version: version.into(), ..resource }
}
