//! Keeping book of who set which field, and server-side apply.

use serde_json::Value;

use super::Write;
use crate::apply::{self, ApplyError, Context, Reset};
use crate::clock;
use crate::status::{Cause, Details, Error, Result};

impl Write<'_> {
    /// What the bookkeeping needs to know about this write.
    fn with_context<T>(&self, work: impl FnOnce(&Context<'_>) -> T) -> Option<T> {
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
        }))
    }

    /// Books what this write changes.
    pub(super) fn book(&self, old: Option<&Value>, object: &mut Value) {
        if self.subresource == "scale" && !old.is_some_and(replicas_are_tracked) {
            // Replicas that nobody owns are not taken into possession by scaling.
            return;
        }
        self.with_context(|context| apply::record_update(context, old, object));
    }

    /// Applies a configuration to the live object, or to none.
    pub(crate) fn apply(&self, live: Option<&Value>, config: &Value, force: bool) -> Result<Value> {
        let config = self.without_reset_fields(config);
        let applied = self
            .with_context(|context| apply::apply(context, live, &config, force))
            .ok_or_else(|| Error::internal("this kind has no schema to apply by"))?;
        applied.map_err(|error| match &error {
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
        })
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

/// Whether any manager owns `spec.replicas`.
fn replicas_are_tracked(object: &Value) -> bool {
    object["metadata"]["managedFields"]
        .as_array()
        .into_iter()
        .flatten()
        .any(|entry| entry["fieldsV1"]["f:spec"].get("f:replicas").is_some())
}
