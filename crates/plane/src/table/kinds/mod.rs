//! The columns of built-in kinds.

mod access;
mod cluster;
mod core;
mod network;
mod pods;
mod workloads;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Column, age};
use crate::resource::Resource;

/// How a kind is printed: headings as `Name`, `Name:type` or `Name*` (wide only), and the cells.
struct Printer {
    headings: &'static [&'static str],
    cells: Cells,
}

/// The cells of an object's row, as of now.
type Cells = fn(&Value, Timestamp) -> Vec<Value>;

/// Kinds without a printer of their own.
const PLAIN: Printer = Printer {
    headings: &["Name", "Created At:date"],
    cells: |object, _| vec![name(object), object["metadata"]["creationTimestamp"].clone()],
};

fn printer(resource: &Resource) -> Printer {
    let key = (resource.gvk.group.as_ref(), resource.gvk.kind.as_ref());
    pods::printer(key)
        .or_else(|| workloads::printer(key))
        .or_else(|| core::printer(key))
        .or_else(|| network::printer(key))
        .or_else(|| access::printer(key))
        .or_else(|| cluster::printer(key))
        .unwrap_or(PLAIN)
}

pub(super) fn columns(resource: &Resource) -> Vec<Column> {
    let headings = printer(resource).headings.iter();
    headings
        .map(|heading| {
            let (heading, priority) = heading.strip_suffix('*').map_or((*heading, 0), |h| (h, 1));
            let (name, kind) = heading.split_once(':').unwrap_or((heading, "string"));
            Column::new(name, kind, priority)
        })
        .collect()
}

pub(super) fn cells(resource: &Resource, object: &Value, now: Timestamp) -> Vec<Value> {
    (printer(resource).cells)(object, now)
}

fn name(object: &Value) -> Value {
    object["metadata"]["name"].clone()
}

fn age_of(object: &Value, now: Timestamp) -> Value {
    age::since(&object["metadata"]["creationTimestamp"], now).into()
}

fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or(0)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn or_none(text: String) -> Value {
    if text.is_empty() { json!("<none>") } else { json!(text) }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Names and images of the containers of a pod template.
fn containers(spec: &Value) -> [Value; 2] {
    let join =
        |field: &str| list(&spec["containers"]).iter().map(|c| text(&c[field])).collect::<Vec<_>>().join(",");
    [json!(join("name")), json!(join("image"))]
}

/// `a=b,c in (d)`
fn selector(selector: &Value) -> Value {
    let mut parts: Vec<String> = selector["matchLabels"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(k, v)| format!("{k}={}", text(v)))
        .collect();
    for expression in list(&selector["matchExpressions"]) {
        let key = text(&expression["key"]);
        let values: Vec<&str> = list(&expression["values"]).iter().map(text).collect();
        parts.push(match text(&expression["operator"]) {
            "In" => format!("{key} in ({})", values.join(",")),
            "NotIn" => format!("{key} notin ({})", values.join(",")),
            "DoesNotExist" => format!("!{key}"),
            _ => key.to_string(),
        });
    }
    or_none(parts.join(","))
}

/// `a=b,c=d`
fn labels(map: &Value) -> Value {
    let parts: Vec<String> =
        map.as_object().into_iter().flatten().map(|(k, v)| format!("{k}={}", text(v))).collect();
    or_none(parts.join(","))
}

/// The value as it is, or `<unset>`-like words where it is missing.
fn or(value: &Value, missing: &str) -> Value {
    match value {
        Value::Null => json!(missing),
        Value::String(text) if text.is_empty() => json!(missing),
        Value::Number(number) => json!(number.to_string()),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::Registry;

    #[test]
    fn every_kind_has_as_many_cells_as_headings() {
        for resource in Registry::new().catalog().all() {
            let object = json!({"metadata": {"name": "x", "creationTimestamp": "2026-01-01T00:00:00Z"}});
            let cells = cells(resource, &object, "2026-01-01T00:01:00Z".parse().unwrap());
            assert_eq!(cells.len(), columns(resource).len(), "{}", resource.gvk);
        }
    }
}
