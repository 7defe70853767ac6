//! Fields that an earlier writer of the same objects owned are made ours, so that those we no longer send go away.

use super::error::ApplyError;
use super::request::Target;
use kube::api::DynamicObject;
use serde_json::{Map, Value, json};

const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Under which name we own fields, and whose fields are ours by inheritance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldManager {
    /// Our name: the original's, where it had one.
    pub name: &'static str,
    /// Names under which the same objects were written before, such as the user agent of an older release. Our own
    /// name with plain updates counts as one too.
    pub legacy: &'static [&'static str],
}

impl FieldManager {
    /// A manager without a past.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        FieldManager { name, legacy: &[] }
    }

    /// A manager that inherits from these.
    #[must_use]
    pub const fn with_legacy(name: &'static str, legacy: &'static [&'static str]) -> Self {
        FieldManager { name, legacy }
    }
}

/// Folds what earlier writers own of a just applied object into what we own, if there is any, and applies once more so
/// that fields which only they had set are removed. Returns the object as it is in the end.
pub(super) async fn fold(
    target: &Target<'_>,
    manager: FieldManager,
    intent: &Value,
    applied: DynamicObject,
) -> Result<DynamicObject, ApplyError> {
    let Some(patch) = folding(manager, &applied) else { return Ok(applied) };
    tracing::info!(kind = target.resource.kind, object = %target.key, "fields of an earlier writer made ours");
    target.merge(&patch).await?;
    target.apply(intent).await
}

/// The patch that does so, if there is anything to fold.
fn folding(manager: FieldManager, object: &DynamicObject) -> Option<Value> {
    let entries = object.metadata.managed_fields.as_deref().unwrap_or_default();
    let is_ours = |entry: &Entry| {
        entry.manager.as_deref() == Some(manager.name)
            && entry.operation.as_deref() == Some("Apply")
            && entry.subresource.is_none()
    };
    let is_legacy = |entry: &Entry| {
        let name = entry.manager.as_deref().unwrap_or_default();
        let known = manager.legacy.contains(&name)
            || (name == manager.name && entry.operation.as_deref() == Some("Update"));
        known && entry.subresource.is_none() && !is_ours(entry)
    };
    let annotated = object.metadata.annotations.as_ref().is_some_and(|all| all.contains_key(LAST_APPLIED));
    let legacy: Vec<&Entry> = entries.iter().filter(|entry| is_legacy(entry)).collect();
    if legacy.is_empty() {
        return None;
    }
    let mut fields = Value::Object(Map::new());
    for entry in entries.iter().filter(|entry| is_ours(entry)).chain(legacy) {
        if let Some(more) = &entry.fields_v1 {
            unite(&mut fields, &more.0);
        }
    }
    let mut kept: Vec<Value> = vec![];
    for entry in entries.iter().filter(|entry| !is_legacy(entry)) {
        let mut value = serde_json::to_value(entry).ok()?;
        if is_ours(entry) {
            value["fieldsV1"] = fields.clone();
        }
        kept.push(value);
    }
    let mut metadata = json!({ "resourceVersion": object.metadata.resource_version, "managedFields": kept });
    if annotated {
        metadata["annotations"] = json!({ LAST_APPLIED: null });
    }
    Some(json!({ "metadata": metadata }))
}

type Entry = k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;

/// The union of two sets of fields: nested objects whose leaves are empty objects.
fn unite(into: &mut Value, more: &Value) {
    let (Some(into), Some(more)) = (into.as_object_mut(), more.as_object()) else { return };
    for (name, more) in more {
        unite(into.entry(name.clone()).or_insert_with(|| Value::Object(Map::new())), more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: FieldManager = FieldManager::with_legacy("us", &["manager"]);

    fn object(managed: Value) -> DynamicObject {
        serde_json::from_value(json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "name": "a", "resourceVersion": "7", "managedFields": managed,
                "annotations": { LAST_APPLIED: "{}", "other": "x" } },
        }))
        .unwrap()
    }

    fn entry(manager: &str, operation: &str, fields: Value) -> Value {
        json!({ "manager": manager, "operation": operation, "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields })
    }

    #[test]
    fn legacy_fields_become_ours() {
        let patch = folding(
            US,
            &object(json!([
                entry("us", "Apply", json!({"f:data": {"f:a": {}}})),
                entry("manager", "Update", json!({"f:data": {"f:a": {}, "f:b": {}}})),
                entry("us", "Update", json!({"f:data": {"f:c": {}}})),
                entry("kubectl-edit", "Update", json!({"f:data": {"f:d": {}}})),
            ])),
        )
        .unwrap();
        let managed = patch["metadata"]["managedFields"].as_array().unwrap();
        assert_eq!(managed.len(), 2, "{managed:#?}");
        assert_eq!(managed[0]["fieldsV1"], json!({"f:data": {"f:a": {}, "f:b": {}, "f:c": {}}}));
        assert_eq!(managed[1]["manager"], "kubectl-edit", "a user's edit stays a user's");
        assert_eq!(patch["metadata"]["resourceVersion"], "7");
        assert_eq!(patch["metadata"]["annotations"], json!({ LAST_APPLIED: null }));
    }

    #[test]
    fn nothing_is_sent_where_there_is_no_past() {
        let mut status = entry("manager", "Update", json!({"f:status": {}}));
        status["subresource"] = json!("status");
        assert_eq!(folding(US, &object(json!([entry("us", "Apply", json!({})), status]))), None);
    }
}
