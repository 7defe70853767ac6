//! What the tests share: resources from short JSON, settings, and objects by kind and name.
#![allow(dead_code, unreachable_pub, unused_imports)] // each test target uses its own part

pub mod case;
pub mod rendering;
pub mod server;
pub mod stage;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use quintet_api::mlflow::MLflow;
use quintet_kit::parts::ca_bundle::{COMBINE_SCRIPT, WATCH_SCRIPT};
use quintet_mlflow::{Apis, Config, Inputs, RenderError, desired};
use serde_json::{Value, json};

pub use quintet_stage::objects::{Objects, assert_hold, at, container, difference, holds, id, pod};

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

/// The environment of a container: entries of this name.
pub fn env<'v>(container: &'v Value, name: &str) -> Vec<&'v Value> {
    container["env"].as_array().into_iter().flatten().filter(|entry| entry["name"] == name).collect()
}
