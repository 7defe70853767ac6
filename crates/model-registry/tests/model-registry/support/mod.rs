//! What the tests share: settings, resources from short JSON, and objects by kind and name.

pub(crate) mod stage;

use std::{collections::BTreeMap, fs, path::Path};

use quintet_api::model_registry::ModelRegistry;
use quintet_model_registry::Config;
use serde_json::{Value, json};

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

/// Objects by `Kind/name`.
pub(crate) type Objects = BTreeMap<String, Value>;

/// `Kind/name`.
pub(crate) fn id(object: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    format!("{}/{}", text(&object["kind"]), text(&object["metadata"]["name"]))
}

/// The objects of a case of the specification.
pub(crate) fn case(name: &str) -> Objects {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/cases/{name}.objects.yaml"));
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let objects: Vec<Value> = serde_saphyr::from_multiple(&text).expect("objects");
    objects.into_iter().map(|object| (id(&object), object)).collect()
}

/// What is at a path such as `spec.containers.0`.
pub(crate) fn at<'v>(object: &'v Value, path: &str) -> &'v Value {
    path.split('.').fold(object, |value, name| match name.parse::<usize>() {
        Ok(index) => &value[index],
        Err(_) => &value[name],
    })
}

/// The container of this name in a Deployment.
pub(crate) fn container<'v>(deployment: &'v Value, name: &str) -> &'v Value {
    let containers = at(deployment, "spec.template.spec.containers").as_array();
    containers.into_iter().flatten().find(|container| container["name"] == name).unwrap_or(&Value::Null)
}

/// True if everything that `wanted` says is so in `live`, whatever else there is.
pub(crate) fn covers(live: &Value, wanted: &Value) -> bool {
    match (live, wanted) {
        (Value::Object(live), Value::Object(wanted)) => {
            wanted.iter().all(|(name, wanted)| live.get(name).is_some_and(|live| covers(live, wanted)))
        }
        (Value::Array(live), Value::Array(wanted)) => {
            live.len() == wanted.len() && live.iter().zip(wanted).all(|(live, wanted)| covers(live, wanted))
        }
        _ => live == wanted,
    }
}

/// The differences between two sets of objects, one line per place, lists compared by position.
pub(crate) fn difference(before: &Objects, after: &Objects) -> String {
    let mut lines = Vec::new();
    for (id, object) in before {
        match after.get(id) {
            Some(other) => compare(id, object, other, &mut lines),
            None => lines.push(format!("- {id}")),
        }
    }
    let added = after.iter().filter(|(id, _)| !before.contains_key(*id));
    lines.extend(added.map(|(id, object)| format!("+ {id} {object}")));
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
