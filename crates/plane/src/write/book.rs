//! Keeping book of who set which field, and server-side apply.

use serde_json::Value;

use super::{Write, versions};
use crate::apply::{self, ApplyError, Context, Other, Reset};
use crate::clock;
use crate::resource::GroupVersionKind;
use crate::status::{Cause, Details, Error, Result};

impl Write<'_> {
    /// What the bookkeeping needs to know about this write.
    fn with_context<T>(&self, others: &[Other<'_>], work: impl FnOnce(&Context<'_>) -> T) -> Option<T> {
        let now = clock::seconds(self.plane.clock().now());
        let resource = self.resource;
        let reset = match self.subresource {
            "" if resource.has_status() => Reset::top_level(&["status"]),
            "status" if resource.is_custom() => Reset::AllBut("status"),
            "status" => Reset::top_level(&["spec"]),
            _ => Reset::Nothing,
        };
        Some(work(&Context {
            schema: resource.schema()?,
            api_version: &resource.api_version,
            kind: &resource.gvk.kind,
            custom: resource.is_custom(),
            manager: self.manager,
            subresource: self.subresource,
            reset,
            now: &now,
            others,
        }))
    }

    /// Books what this write changes.
    pub(super) fn book(&self, old: Option<&Value>, object: &mut Value) {
        if self.subresource == "scale" && !old.is_some_and(replicas_are_tracked) {
            // Replicas that nobody owns are not taken into possession by scaling.
            return;
        }
        self.with_context(&[], |context| apply::record_update(context, old, object));
    }

    /// Books a change of `old`. What managers wrote in other versions is compared in those.
    pub(super) async fn book_change(&self, old: &Value, object: &mut Value) {
        let mut versions: Vec<&str> = entries(old).filter_map(|entry| entry["apiVersion"].as_str()).collect();
        versions.sort_unstable();
        versions.dedup();
        versions.retain(|version| *version != self.resource.api_version.as_ref());
        if versions.is_empty() || !self.resource.is_custom() || self.subresource == "scale" {
            self.book(Some(old), object);
            return;
        }
        let catalog = self.plane.catalog();
        let mut seen = Vec::new();
        for version in versions {
            let kind = GroupVersionKind::from_api_version(version, &self.resource.gvk.kind);
            let Some(resource) = catalog.kind(&kind) else { continue };
            let both = vec![apply::without_managed_fields(old), apply::without_managed_fields(object)];
            let Ok(both) = versions::in_version(self.plane, resource, both).await else {
                return forget(object);
            };
            seen.push((resource.clone(), both));
        }
        let mut others = Vec::new();
        for (resource, both) in &seen {
            let (Some(schema), [before, after]) = (resource.schema(), both.as_slice()) else { continue };
            if [before, after].into_iter().any(|object| apply::misfit(schema, object).is_some()) {
                // The real server cannot compare what its schema does not declare, and gives up the whole book.
                return forget(object);
            }
            others.push(Other { api_version: &resource.api_version, schema, before, after });
        }
        self.with_context(&others, |context| apply::record_update(context, Some(old), object));
    }

    /// Applies a configuration to the live object, or to none.
    pub(crate) fn apply(&self, live: Option<&Value>, config: &Value, force: bool) -> Result<Value> {
        let config = self.without_reset_fields(config);
        let applied = self
            .with_context(&[], |context| apply::apply(context, live, &config, force))
            .ok_or_else(|| Error::internal("this kind has no schema to apply by"))?;
        let applied = applied.map_err(|error| match &error {
            ApplyError::BadRequest(_) => Error::bad_request(error.to_string()),
            ApplyError::Typed(_) => Error::bare(error.to_string()),
            ApplyError::Conflicts(conflicts) => {
                let causes = conflicts
                    .iter()
                    .map(|conflict| Cause {
                        reason: "FieldManagerConflict".into(),
                        message: format!("conflict with {}", conflict.manager),
                        field: conflict.field.clone(),
                    })
                    .collect();
                Error::new(409, "Conflict", error.to_string())
                    .with_details(Details { causes, ..Details::default() })
            }
        })?;
        match self.misfit_of_last_version(live, &applied) {
            Some(text) => Err(Error::bare(text)),
            None => Ok(applied),
        }
    }

    /// Why an applied object cannot be seen in the version that this manager applied in before, as it must be to find
    /// what it no longer applies. With a conversion webhook it is compared in the version of the request.
    fn misfit_of_last_version(&self, live: Option<&Value>, applied: &Value) -> Option<String> {
        let custom = self.resource.custom.as_ref().filter(|c| c.conversion["strategy"] != "Webhook")?;
        let last = entries(live?).find(|entry| {
            entry["operation"] == "Apply"
                && entry["manager"] == self.manager
                && entry["subresource"].as_str().unwrap_or_default() == self.subresource
        })?;
        let version = last["apiVersion"].as_str().filter(|v| *v != self.resource.api_version.as_ref())?;
        let kind = GroupVersionKind::from_api_version(version, &self.resource.gvk.kind);
        let catalog = self.plane.catalog();
        let other =
            catalog.kind(&kind).filter(|other| other.custom.as_ref().is_some_and(|o| o.crd == custom.crd))?;
        apply::misfit(other.schema()?, &apply::without_managed_fields(applied))
    }

    /// What this subresource resets is not applied either.
    fn without_reset_fields(&self, config: &Value) -> Value {
        let mut config = config.clone();
        if let Some(fields) = config.as_object_mut() {
            match self.subresource {
                "" if self.resource.has_status() => drop(fields.remove("status")),
                "status" if self.resource.is_custom() => {
                    fields.retain(|name, _| {
                        matches!(name.as_str(), "apiVersion" | "kind" | "metadata" | "status")
                    });
                    if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
                        let identity = ["name", "namespace", "uid", "resourceVersion", "managedFields"];
                        metadata.retain(|name, _| identity.contains(&name.as_str()));
                    }
                }
                "status" => drop(fields.remove("spec")),
                _ => {}
            }
        }
        config
    }
}

/// The entries of an object's book.
fn entries(object: &Value) -> impl Iterator<Item = &Value> {
    object["metadata"]["managedFields"].as_array().into_iter().flatten()
}

/// Leaves an object without a book.
fn forget(object: &mut Value) {
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.remove("managedFields");
    }
}

/// Whether any manager owns `spec.replicas`.
fn replicas_are_tracked(object: &Value) -> bool {
    entries(object).any(|entry| entry["fieldsV1"]["f:spec"].get("f:replicas").is_some())
}
