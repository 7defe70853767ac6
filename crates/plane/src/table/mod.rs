//! Tables: what `kubectl get` prints, made by the server.

mod age;
mod json_path;
mod kinds;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::resource::{PrinterColumn, Resource};
use crate::server::Ctx;
use crate::status::Result;
use crate::store::Object;
use crate::verbs::ListMeta;

/// A column's heading.
#[derive(Debug, Clone)]
struct Column {
    name: String,
    kind: String,
    format: String,
    description: String,
    priority: i64,
}

impl Column {
    fn new(name: &str, kind: &str, priority: i64) -> Self {
        let format = if name == "Name" { "name" } else { "" };
        let description = format!("{name} of the object.");
        Self { name: name.into(), kind: kind.into(), format: format.into(), description, priority }
    }

    fn to_json(&self) -> Value {
        json!({"name": self.name, "type": self.kind, "format": self.format, "description": self.description,
            "priority": self.priority})
    }
}

/// A Table of these objects; `meta` when they are a list.
pub(crate) fn of(ctx: &Ctx, objects: &[&Object], meta: Option<&ListMeta>) -> Result<Vec<u8>> {
    let metadata = match (meta, objects) {
        (Some(meta), _) => meta.to_json(false),
        (None, [object]) => json!({"resourceVersion": object.revision.to_string()}),
        (None, _) => json!({}),
    };
    let now = ctx.plane.clock().now();
    let rows: Vec<Value> = objects.iter().map(|o| row(ctx, o, now)).collect();
    Ok(table(ctx, metadata, true, rows).to_string().into_bytes())
}

/// The Table of one watch event; only the first has columns.
pub(crate) fn event(ctx: &Ctx, object: &Object, with_columns: bool) -> Result<Vec<u8>> {
    let metadata = json!({"resourceVersion": object.revision.to_string()});
    let rows = vec![row(ctx, object, ctx.plane.clock().now())];
    Ok(table(ctx, metadata, with_columns, rows).to_string().into_bytes())
}

/// The Table of a bookmark: one row without content.
pub(crate) fn bookmark(ctx: &Ctx, metadata: &str, revision: u64, with_columns: bool) -> Result<String> {
    let metadata: Value = serde_json::from_str(metadata).unwrap_or_default();
    let object =
        json!({"kind": ctx.resource.gvk.kind, "apiVersion": ctx.resource.api_version, "metadata": metadata});
    let cells: Vec<Value> = columns(&ctx.resource).iter().map(|_| Value::Null).collect();
    let rows = vec![json!({"cells": cells, "object": object})];
    Ok(table(ctx, json!({"resourceVersion": revision.to_string()}), with_columns, rows).to_string())
}

fn table(ctx: &Ctx, metadata: Value, with_columns: bool, rows: Vec<Value>) -> Value {
    let columns: Option<Vec<Value>> =
        with_columns.then(|| columns(&ctx.resource).iter().map(Column::to_json).collect());
    json!({"kind": "Table", "apiVersion": ctx.accept.meta_version(), "metadata": metadata,
        "columnDefinitions": columns, "rows": rows})
}

fn row(ctx: &Ctx, object: &Object, now: Timestamp) -> Value {
    let value = object.to_value();
    let cells = cells(&ctx.resource, &value, now);
    let mut row = json!({ "cells": cells });
    match ctx.params.get("includeObject") {
        "None" => row["object"] = Value::Null,
        "Object" => {
            let mut whole = value;
            whole["kind"] = json!(ctx.resource.gvk.kind);
            whole["apiVersion"] = json!(ctx.resource.api_version);
            row["object"] = whole;
        }
        _ => {
            let meta = &value["metadata"];
            row["object"] = json!({"kind": "PartialObjectMetadata", "apiVersion": ctx.accept.meta_version(),
                "metadata": meta});
        }
    }
    row
}

fn columns(resource: &Resource) -> Vec<Column> {
    let Some(custom) = &resource.custom else { return kinds::columns(resource) };
    let mut columns = vec![Column::new("Name", "string", 0)];
    if custom.columns.is_empty() {
        columns.push(Column::new("Age", "date", 0));
    }
    columns.extend(custom.columns.iter().map(|c| Column {
        name: c.name.clone(),
        kind: c.kind.clone(),
        format: c.format.clone(),
        description: c.description.clone(),
        priority: c.priority,
    }));
    columns
}

fn cells(resource: &Resource, object: &Value, now: Timestamp) -> Vec<Value> {
    let Some(custom) = &resource.custom else { return kinds::cells(resource, object, now) };
    let mut cells = vec![object["metadata"]["name"].clone()];
    if custom.columns.is_empty() {
        cells.push(age::since(&object["metadata"]["creationTimestamp"], now).into());
    }
    cells.extend(custom.columns.iter().map(|column| custom_cell(column, object, now)));
    cells
}

fn custom_cell(column: &PrinterColumn, object: &Value, now: Timestamp) -> Value {
    let Some(found) = json_path::first(object, &column.json_path) else { return Value::Null };
    match (column.kind.as_str(), found) {
        ("integer", Value::Number(n)) => {
            n.as_i64().or(n.as_f64().map(|f| f as i64)).map_or(Value::Null, Value::from)
        }
        ("number", Value::Number(_)) | ("boolean", Value::Bool(_)) => found.clone(),
        ("date", Value::String(_)) => age::since(found, now).into(),
        ("string", Value::String(_)) => found.clone(),
        ("string", Value::Null) => Value::Null,
        ("string", other) => Value::String(other.to_string()),
        _ => Value::Null,
    }
}
