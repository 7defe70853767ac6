//! `/scale`: replicas, whatever the kind keeps them in.

use axum::body::Body;
use http::Response;
use serde_json::{Value, json};

use crate::resource::Resource;
use crate::server::Ctx;
use crate::status::{Error, FieldError, Result};
use crate::write::{self, Edit, Outcome, Source, Write};

/// Where the parts of a scale are.
struct Paths {
    spec: String,
    status: String,
    selector: Option<String>,
}

fn paths(resource: &Resource) -> Result<Paths> {
    match &resource.custom {
        None => {
            Ok(Paths { spec: "/spec/replicas".into(), status: "/status/replicas".into(), selector: None })
        }
        Some(custom) => {
            let scale = custom.scale.as_ref().ok_or_else(Error::unknown_resource)?;
            let pointer = |path: &str| path.replace('.', "/");
            Ok(Paths {
                spec: pointer(&scale.spec_replicas),
                status: pointer(&scale.status_replicas),
                selector: scale.selector.as_deref().map(pointer),
            })
        }
    }
}

/// The Scale of an object.
pub(super) fn show(resource: &Resource, object: &Value) -> Result<Value> {
    let paths = paths(resource)?;
    let meta = &object["metadata"];
    let mut metadata = json!({});
    for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let Some(value) = meta.get(field) {
            metadata[field] = value.clone();
        }
    }
    let count = |path: &str| object.pointer(path).and_then(Value::as_i64).unwrap_or(0);
    let mut spec = json!({});
    if count(&paths.spec) != 0 {
        spec["replicas"] = count(&paths.spec).into();
    }
    let mut status = json!({"replicas": count(&paths.status)});
    let selector = match &paths.selector {
        Some(path) => object.pointer(path).and_then(Value::as_str).map(Into::into),
        None => selector_text(&object["spec"]["selector"]),
    };
    if let Some(selector) = selector.filter(|s: &String| !s.is_empty()) {
        status["selector"] = selector.into();
    }
    Ok(
        json!({"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata, "spec": spec, "status": status}),
    )
}

/// A label selector in string form; ReplicationControllers have a plain map.
fn selector_text(selector: &Value) -> Option<String> {
    let map = selector.as_object()?;
    let mut parts = Vec::new();
    let labels = if map.contains_key("matchLabels") || map.contains_key("matchExpressions") {
        selector["matchLabels"].as_object()
    } else {
        Some(map)
    };
    for (key, value) in labels.into_iter().flatten() {
        parts.push((key.clone(), format!("{key}={}", value.as_str().unwrap_or_default())));
    }
    for expression in selector["matchExpressions"].as_array().into_iter().flatten() {
        let key = expression["key"].as_str().unwrap_or_default();
        let values: Vec<&str> =
            expression["values"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let text = match expression["operator"].as_str().unwrap_or_default() {
            "In" => format!("{key} in ({})", values.join(",")),
            "NotIn" => format!("{key} notin ({})", values.join(",")),
            "DoesNotExist" => format!("!{key}"),
            _ => key.to_string(),
        };
        parts.push((key.to_string(), text));
    }
    parts.sort();
    Some(parts.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(","))
}

/// Puts a changed Scale back into the object it shows.
pub(super) fn put(resource: &Resource, object: &Value, scale: &Value) -> Result<Value> {
    let replicas = scale["spec"]["replicas"].as_i64().unwrap_or(0);
    if replicas < 0 {
        let (path, words) = match resource.is_custom() {
            true => (".spec.replicas", "should be a non-negative integer"),
            false => ("spec.replicas", "must be greater than or equal to 0"),
        };
        let error = FieldError::invalid(path, replicas, words);
        let name = scale["metadata"]["name"].as_str().unwrap_or_default();
        if resource.is_custom() {
            return Err(Error::invalid(&resource.names, name, &[error]));
        }
        return Err(Error::invalid_kind("autoscaling", "Scale", name, &[error]));
    }
    let mut object = object.clone();
    set(&mut object, &paths(resource)?.spec, replicas.into());
    let version = &scale["metadata"]["resourceVersion"];
    if version.as_str().is_some_and(|v| !v.is_empty()) {
        object["metadata"]["resourceVersion"] = version.clone();
    }
    Ok(object)
}

fn set(object: &mut Value, pointer: &str, value: Value) {
    let mut at = object;
    for step in pointer.split('/').skip(1) {
        if !at.is_object() {
            *at = json!({});
        }
        at = &mut at[step];
    }
    *at = value;
}

/// PUT of a Scale.
pub(super) async fn replace(ctx: &Ctx, write: &Write<'_>, given: Value) -> Result<Response<Body>> {
    let name = given["metadata"]["name"].as_str().unwrap_or_default();
    if !name.is_empty() && name != ctx.path.name {
        return Err(Error::bad_request(format!(
            "the name of the object ({name}) does not match the name on the URL ({})",
            ctx.path.name
        )));
    }
    let edit =
        |live: &Value| Ok(Edit { object: put(&ctx.resource, live, &given)?, source: Source::default() });
    let outcome = write.update(&ctx.path.name, true, edit).await?;
    answer(ctx, outcome).await
}

/// Answers the Scale of what a write left.
pub(super) async fn answer(ctx: &Ctx, outcome: Outcome) -> Result<Response<Body>> {
    let object = match outcome {
        Outcome::Dry(value) => value,
        Outcome::Stored(object) => write::present(&ctx.plane, &ctx.resource, &object).await?,
    };
    Ok(ctx.value(200, &show(&ctx.resource, &object)?))
}
