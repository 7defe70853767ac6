//! Tables: what `kubectl get` prints, made by the server.

use serde_json::{Value, json};

use crate::server::Ctx;
use crate::status::Result;
use crate::store::Object;
use crate::verbs::ListMeta;

/// A Table of these objects; `meta` when they are a list.
pub(crate) fn of(ctx: &Ctx, objects: &[&Object], meta: Option<&ListMeta>) -> Result<Vec<u8>> {
    let metadata = match (meta, objects) {
        (Some(meta), _) => meta.to_json(ctx.resource.is_custom()),
        (None, [object]) => json!({"resourceVersion": object.revision.to_string()}),
        (None, _) => json!({}),
    };
    let rows: Vec<Value> = objects.iter().map(|o| row(ctx, o)).collect();
    Ok(table(ctx, metadata, Some(columns()), rows).to_string().into_bytes())
}

/// The Table of one watch event.
pub(crate) fn event(ctx: &Ctx, object: &Object, with_columns: bool) -> Result<Vec<u8>> {
    let metadata = json!({"resourceVersion": object.revision.to_string()});
    Ok(table(ctx, metadata, with_columns.then(columns), vec![row(ctx, object)]).to_string().into_bytes())
}

/// The Table of a bookmark: one row without content.
pub(crate) fn bookmark(ctx: &Ctx, metadata: &str, revision: u64, with_columns: bool) -> Result<String> {
    let object = json!({"kind": "PartialObjectMetadata", "apiVersion": ctx.accept.meta_version(),
        "metadata": serde_json::from_str::<Value>(metadata).unwrap_or_default()});
    let rows = vec![json!({"cells": ["", ""], "object": object})];
    let metadata = json!({"resourceVersion": revision.to_string()});
    Ok(table(ctx, metadata, with_columns.then(columns), rows).to_string())
}

fn table(ctx: &Ctx, metadata: Value, columns: Option<Value>, rows: Vec<Value>) -> Value {
    json!({"kind": "Table", "apiVersion": ctx.accept.meta_version(), "metadata": metadata,
        "columnDefinitions": columns, "rows": rows})
}

fn columns() -> Value {
    json!([
        {"name": "Name", "type": "string", "format": "name", "description": "Name of the object.", "priority": 0},
        {"name": "Created At", "type": "date", "format": "", "description": "When it was created.", "priority": 0},
    ])
}

fn row(ctx: &Ctx, object: &Object) -> Value {
    let metadata: Value = serde_json::from_slice(object.metadata()).unwrap_or_default();
    let cells = json!([metadata["name"], metadata["creationTimestamp"]]);
    let partial = json!({"kind": "PartialObjectMetadata", "apiVersion": ctx.accept.meta_version(), "metadata": metadata});
    json!({"cells": cells, "conditions": null, "object": partial})
}
