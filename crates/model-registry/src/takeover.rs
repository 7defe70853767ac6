//! What the original left on objects that we now write.
//!
//! Its fields become ours with the first apply (see [`crate::MANAGER`]), and with them goes the annotation in which it
//! kept a copy of all that it sent. Objects that we do not apply keep that copy, so it is taken off them here: in a
//! Secret it holds the password in clear text.

use std::collections::BTreeMap;

use kube::{
    Api,
    api::{DynamicObject, Patch, PatchParams},
};
use quintet_kit::{Context, Kind, ObjectKey, apply::ApplyError, error::is_not_found};
use serde_json::json;

use crate::MANAGER;

/// The original's copy of what it sent last.
const LAST_APPLIED: &str = "banzaicloud.com/last-applied";

pub(crate) fn has_last_applied(annotations: &BTreeMap<String, String>) -> bool {
    annotations.contains_key(LAST_APPLIED)
}

/// Takes the copy off an object.
pub(crate) async fn drop_last_applied<K: Kind>(context: &Context, key: &ObjectKey) -> Result<(), ApplyError> {
    let (client, resource) = (context.client().clone(), K::api_resource());
    let api: Api<DynamicObject> = Api::namespaced_with(client, key.namespace(), &resource);
    let patch = Patch::Merge(json!({ "metadata": { "annotations": { LAST_APPLIED: null } } }));
    let params = PatchParams { field_manager: Some(MANAGER.name.into()), ..PatchParams::default() };
    let answer = context.fence().guard(api.patch(&key.name, &params, &patch)).await?;
    match answer {
        Err(error) if !is_not_found(&error) => {
            Err(ApplyError::Api { kind: resource.kind, key: key.clone(), source: Box::new(error) })
        }
        _ => Ok(()),
    }
}
