//! Objects as JSON: places in them, and differences between them.

use std::collections::BTreeMap;

use serde_json::Value;

/// Objects by `Kind/name`.
pub type Objects = BTreeMap<String, Value>;

/// `Kind/name`.
pub fn id(object: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    format!("{}/{}", text(&object["kind"]), text(&object["metadata"]["name"]))
}

/// What is at a path such as `spec.containers.0`; null if there is nothing.
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

/// The container of this name, init containers included; null if there is none.
pub fn container<'v>(object: &'v Value, name: &str) -> &'v Value {
    let pod = &pod(object)["spec"];
    let lists = [&pod["containers"], &pod["initContainers"]];
    let mut all = lists.into_iter().filter_map(Value::as_array).flatten();
    all.find(|container| container["name"] == name).unwrap_or(&Value::Null)
}

/// True if everything that `wanted` says is so in `live`, whatever other fields there are. Lists are compared whole.
pub fn covers(live: &Value, wanted: &Value) -> bool {
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

/// As [`covers`], but lists whose items have names may have further items between, as others may add them.
pub fn holds(live: &Value, wanted: &Value) -> bool {
    match (live, wanted) {
        (Value::Object(live), Value::Object(wanted)) => {
            wanted.iter().all(|(name, wanted)| live.get(name).is_some_and(|live| holds(live, wanted)))
        }
        (Value::Array(live), Value::Array(wanted))
            if wanted.iter().all(|item| item.get("name").is_some()) =>
        {
            let mut live = live.iter();
            wanted.iter().all(|wanted| {
                let found = live.by_ref().find(|live| live["name"] == wanted["name"]);
                found.is_some_and(|live| holds(live, wanted))
            })
        }
        (Value::Array(live), Value::Array(wanted)) => {
            live.len() == wanted.len() && live.iter().zip(wanted).all(|(live, wanted)| holds(live, wanted))
        }
        _ => live == wanted,
    }
}

/// Fails unless just these objects are there, and [`hold`](holds) what is wanted of them.
///
/// # Panics
/// If they do not; the message has the differences.
pub fn assert_hold(stored: &Objects, wanted: &Objects) {
    assert_eq!(stored.keys().collect::<Vec<_>>(), wanted.keys().collect::<Vec<_>>());
    for (id, wanted) in wanted {
        let only = |object: &Value| [(id.clone(), object.clone())].into();
        assert!(holds(&stored[id], wanted), "{id}:\n{}", difference(&only(wanted), &only(&stored[id])));
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_others_add_is_told_from_what_is_missing() {
        let wanted = json!({ "ports": [{ "name": "a", "port": 1 }], "args": ["x"] });
        let more =
            json!({ "ports": [{ "name": "mesh" }, { "name": "a", "port": 1, "extra": 2 }], "args": ["x"] });
        assert!(holds(&more, &wanted) && !covers(&more, &wanted));
        let less = json!({ "ports": [{ "name": "a", "port": 1 }], "args": [] });
        assert!(!holds(&less, &wanted) && !covers(&less, &wanted));
    }

    #[test]
    fn a_difference_names_the_place() {
        let before = [("K/a".to_owned(), json!({ "x": [1, 2], "gone": true }))].into();
        let after = [("K/a".to_owned(), json!({ "x": [1, 3] })), ("K/b".to_owned(), json!({}))].into();
        assert_eq!(difference(&before, &after), "- K/a.gone true\n~ K/a.x.1 2 -> 3\n+ K/b {}");
    }
}
