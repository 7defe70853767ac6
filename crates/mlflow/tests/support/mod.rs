//! What the tests share: resources from short JSON, settings, and objects by kind and name.
#![allow(dead_code, unreachable_pub)] // each test target uses its own part

pub mod case;
pub mod rendering;
pub mod server;
pub mod stage;
pub mod stored;

use std::collections::BTreeMap;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use quintet_api::mlflow::MLflow;
use quintet_kit::parts::ca_bundle::{COMBINE_SCRIPT, WATCH_SCRIPT};
use quintet_mlflow::{Apis, Config, Inputs, RenderError, desired};
use serde_json::{Value, json};

pub const UID: &str = "<uid>";

/// Settings with these environment variables.
pub fn config(variables: &[(&str, &str)]) -> Config {
    let find = |name: &str| variables.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned());
    Config::new("opendatahub", find).expect("a namespace is given")
}

/// The specification of the smallest resource.
pub fn base() -> Value {
    json!({ "backendStoreUri": "postgresql://db-host:5432/mlflow", "defaultArtifactRoot": "s3://bucket/artifacts" })
}

/// The smallest resource with more in its specification.
pub fn with(more: Value) -> MLflow {
    mlflow(spec(more))
}

/// The specification of the smallest resource with more in it. `null` takes a field away.
pub fn spec(more: Value) -> Value {
    let mut spec = base();
    for (field, value) in more.as_object().expect("an object") {
        match value {
            Value::Null => drop(spec.as_object_mut().expect("an object").remove(field)),
            _ => spec[field] = value.clone(),
        }
    }
    spec
}

/// A stored resource.
pub fn mlflow(spec: Value) -> MLflow {
    let object = json!({
        "apiVersion": "mlflow.opendatahub.io/v1",
        "kind": "MLflow",
        "metadata": { "name": "mlflow", "uid": UID, "generation": 1 },
        "spec": spec,
    });
    serde_json::from_value(object).expect("an MLflow")
}

/// Our definitions without their rules, the expressions that the API server evaluates: as older ones were.
pub fn without_rules() -> impl Iterator<Item = CustomResourceDefinition> {
    quintet_api::mlflow::crds().into_iter().map(|definition| {
        let mut definition = serde_json::to_value(definition).expect("a definition");
        lift_rules(&mut definition);
        serde_json::from_value(definition).expect("a definition")
    })
}

fn lift_rules(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("x-kubernetes-validations");
            fields.values_mut().for_each(lift_rules);
        }
        Value::Array(items) => items.iter_mut().for_each(lift_rules),
        _ => {}
    }
}

/// All optional APIs: OpenShift.
pub fn openshift() -> Inputs {
    Inputs { apis: Apis { console_link: true, http_route: true, service_monitor: true }, ..Inputs::default() }
}

/// Objects by `Kind/name`.
pub type Objects = BTreeMap<String, Value>;

/// The children, by kind and name, with placeholders for long texts.
pub fn children(mlflow: &MLflow, config: &Config, inputs: &Inputs) -> Result<Objects, RenderError> {
    let mut objects: Objects =
        desired(mlflow, config, inputs)?.to_values().into_iter().map(|o| (id(&o), o)).collect();
    objects.values_mut().for_each(shorten);
    Ok(objects)
}

/// Puts placeholders in the place of long texts.
pub fn shorten(value: &mut Value) {
    match value {
        Value::String(text) if text == COMBINE_SCRIPT => *text = "<CA_COMBINE_SCRIPT>".into(),
        Value::String(text) if text == WATCH_SCRIPT => *text = "<CA_WATCH_SCRIPT>".into(),
        Value::String(text) if text.starts_with("data:image/svg+xml;base64,PHN2ZyBp") => {
            *text = "<ICON>".into()
        }
        Value::Object(fields) => fields.values_mut().for_each(shorten),
        Value::Array(items) => items.iter_mut().for_each(shorten),
        _ => {}
    }
}

/// The children on plain Kubernetes with the default settings.
pub fn plain(mlflow: &MLflow) -> Objects {
    children(mlflow, &config(&[]), &Inputs::default()).expect("it can be built")
}

/// `Kind/name`.
pub fn id(object: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    format!("{}/{}", text(&object["kind"]), text(&object["metadata"]["name"]))
}

/// What is at a path such as `spec.containers.0`.
pub fn at<'v>(object: &'v Value, path: &str) -> &'v Value {
    path.split('.').fold(object, |value, name| match name.parse::<usize>() {
        Ok(index) => &value[index],
        Err(_) => &value[name],
    })
}

/// The pod of a Deployment or CronJob.
pub fn pod(object: &Value) -> &Value {
    match object["kind"].as_str() {
        Some("CronJob") => at(object, "spec.jobTemplate.spec.template"),
        _ => at(object, "spec.template"),
    }
}

/// The container of this name, init containers included.
pub fn container<'v>(object: &'v Value, name: &str) -> &'v Value {
    let pod = &pod(object)["spec"];
    let lists = [&pod["containers"], &pod["initContainers"]];
    let mut all = lists.into_iter().filter_map(Value::as_array).flatten();
    all.find(|container| container["name"] == name).unwrap_or(&Value::Null)
}

/// The environment of a container: entries of this name.
pub fn env<'v>(container: &'v Value, name: &str) -> Vec<&'v Value> {
    container["env"].as_array().into_iter().flatten().filter(|entry| entry["name"] == name).collect()
}

/// The differences between two sets of objects, one line per place, lists compared by position.
pub fn difference(before: &Objects, after: &Objects) -> String {
    let mut lines = Vec::new();
    for (id, object) in before {
        match after.get(id) {
            Some(other) => compare(id, object, other, &mut lines),
            None => lines.push(format!("- {id}")),
        }
    }
    for (id, object) in after {
        if !before.contains_key(id) {
            lines.push(format!("+ {id} {object}"));
        }
    }
    lines.join("\n")
}

fn compare(path: &str, before: &Value, after: &Value, lines: &mut Vec<String>) {
    match (before, after) {
        (Value::Object(b), Value::Object(a)) => {
            for (name, value) in b {
                compare(&format!("{path}.{name}"), value, a.get(name).unwrap_or(&Value::Null), lines);
            }
            for (name, value) in a.iter().filter(|(name, _)| !b.contains_key(*name)) {
                compare(&format!("{path}.{name}"), &Value::Null, value, lines);
            }
        }
        (Value::Array(b), Value::Array(a)) => {
            for index in 0..b.len().max(a.len()) {
                let item = |list: &[Value]| list.get(index).cloned().unwrap_or(Value::Null);
                compare(&format!("{path}.{index}"), &item(b), &item(a), lines);
            }
        }
        _ if before == after => {}
        (Value::Null, _) => lines.push(format!("+ {path} {after}")),
        (_, Value::Null) => lines.push(format!("- {path} {before}")),
        _ => lines.push(format!("~ {path} {before} -> {after}")),
    }
}
