//! What the tests share: settings, resources from short JSON, and objects by kind and name.

mod rendering;
pub(crate) mod stage;

use std::{fs, path::Path};

use quintet_api::model_registry::ModelRegistry;
use quintet_model_registry::Config;
use serde_json::{Value, json};

pub(crate) use quintet_stage::objects::{Objects, assert_hold, at, container, covers, difference, id};

/// Settings with these environment variables.
pub(crate) fn config(variables: &[(&str, &str)]) -> Config {
    let find = |name: &str| variables.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned());
    Config::new(find).expect("settings that can be used")
}

/// The specification of the smallest registry.
pub(crate) fn base() -> Value {
    json!({ "rest": {}, "mysql": mysql() })
}

pub(crate) fn mysql() -> Value {
    json!({ "host": "db", "database": "d", "username": "u", "passwordSecret": { "name": "s", "key": "p" } })
}

/// The database of the specification's example.
pub(crate) fn sample() -> Value {
    json!({ "host": "model-registry-db", "database": "model-registry", "username": "modelregistryuser",
        "passwordSecret": { "name": "model-registry-db", "key": "database-password" } })
}

/// The same with more in it.
pub(crate) fn with(more: Value) -> Value {
    let mut spec = base();
    more.as_object().expect("an object").iter().for_each(|(name, value)| spec[name] = value.clone());
    spec
}

/// A registry that the server has stored.
pub(crate) fn stored(namespace: &str, name: &str, spec: Value) -> ModelRegistry {
    let metadata = json!({ "name": name, "namespace": namespace, "uid": "<uid>", "generation": 1 });
    serde_json::from_value(json!({ "metadata": metadata, "spec": spec })).expect("a ModelRegistry")
}

/// The objects of a case of the specification.
pub(crate) fn case(name: &str) -> Objects {
    case_for(name, &[])
}

/// The same with other words.
pub(crate) fn case_for(name: &str, words: &[(&str, &str)]) -> Objects {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/cases/{name}.objects.yaml"));
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let text = words.iter().fold(text, |text, (from, to)| text.replace(from, to));
    let objects: Vec<Value> = serde_saphyr::from_multiple(&text).expect("objects");
    objects.into_iter().map(|object| (id(&object), object)).collect()
}

/// The objects of our examples.
pub(crate) fn examples() -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/model-registry");
    let mut files: Vec<_> =
        fs::read_dir(folder).expect("a folder").map(|file| file.expect("a file").path()).collect();
    files.sort();
    let read = |path: std::path::PathBuf| -> Vec<Value> {
        let text = fs::read_to_string(&path).expect("text");
        serde_saphyr::from_multiple(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    files.into_iter().flat_map(read).collect()
}

/// A condition as [`stage::Stage::condition`](quintet_stage::Stage::condition) gives it.
pub(crate) fn condition(status: &str, reason: &str, message: &str) -> Option<(String, String, String)> {
    Some((status.into(), reason.into(), message.into()))
}

/// What `Available` says of a server that is.
pub(crate) fn is_up() -> Option<(String, String, String)> {
    condition("True", "DeploymentAvailable", "Deployment is available")
}

/// What `Progressing` says when nothing is to be done.
pub(crate) fn is_done() -> Option<(String, String, String)> {
    condition("False", "CreatedDeployment", "Deployment was successfully created")
}

/// The arguments of a container of a Deployment.
pub(crate) fn args(deployment: &Value, name: &str) -> Vec<String> {
    let args = container(deployment, name)["args"].as_array().cloned().unwrap_or_default();
    args.iter().map(|arg| arg.as_str().unwrap_or_default().to_owned()).collect()
}
