//! Objects of others, of which only a few places are touched.

use super::path::Path;
use serde_json::{Map, Value, json};

/// The merge patch that sets our places in somebody else's object, if any differs. What the intent leaves out is not
/// touched; of a shared set our elements are added and nothing is removed.
pub(super) fn patch(live: &Value, intent: &Value, paths: &[Path]) -> Option<Value> {
    let mut patch = Value::Object(Map::new());
    for path in paths {
        let Some(wanted) = path.get(intent) else { continue };
        let wanted = if path.is_set { joined(path.get(live), wanted) } else { wanted.clone() };
        if path.get(live) != Some(&wanted) {
            path.set(&mut patch, Some(replacing(path.get(live), wanted)));
        }
    }
    if patch.as_object().is_none_or(Map::is_empty) {
        return None;
    }
    patch["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"].clone();
    Some(patch)
}

/// A merge patch adds to an object; to replace one, what it must lose is named.
fn replacing(live: Option<&Value>, wanted: Value) -> Value {
    let (Some(Value::Object(live)), Value::Object(mut wanted)) = (live, wanted.clone()) else {
        return wanted;
    };
    for name in live.keys() {
        wanted.entry(name.clone()).or_insert(Value::Null);
    }
    Value::Object(wanted)
}

fn joined(live: Option<&Value>, ours: &Value) -> Value {
    let elements = |value: &Value| -> Vec<String> {
        let text = value.as_str().unwrap_or_default();
        text.split(',').map(str::trim).filter(|element| !element.is_empty()).map(str::to_owned).collect()
    };
    let there = live.map(elements).unwrap_or_default();
    let missing: Vec<_> = elements(ours).into_iter().filter(|element| !there.contains(element)).collect();
    if missing.is_empty() && live.is_some() {
        return live.cloned().unwrap_or_default(); // as others wrote it, spaces and all
    }
    json!(there.into_iter().chain(missing).collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(texts: &[&str]) -> Vec<Path> {
        texts.iter().map(|text| Path::parse(text)).collect()
    }

    #[test]
    fn only_our_places_are_touched_and_only_if_they_differ() {
        let live = json!({"metadata": {"resourceVersion": "5", "annotations": {"a": "1"}}, "spec": {"x": 1, "y": 2}});
        let places = paths(&["metadata.annotations[a]", "spec.x", "spec.z"]);
        let wanted = json!({"metadata": {"annotations": {"a": "1", "b": "9"}}, "spec": {"x": 3, "y": 8}});
        let got = patch(&live, &wanted, &places).unwrap();
        assert_eq!(got, json!({"metadata": {"resourceVersion": "5"}, "spec": {"x": 3}}));
        assert_eq!(patch(&live, &json!({"spec": {"x": 1}}), &places), None);
    }

    #[test]
    fn a_shared_set_keeps_the_elements_of_others() {
        let set = paths(&["metadata.annotations[l][,]"]);
        let live = |text: &str| json!({"metadata": {"annotations": {"l": text}}});
        let value = |got: Option<Value>| got.map(|got| got["metadata"]["annotations"]["l"].clone());
        assert_eq!(value(patch(&live("x, y"), &live("z,y"), &set)), Some(json!("x,y,z")));
        assert_eq!(value(patch(&live("x, y"), &live("y"), &set)), None, "theirs, spaces and all");
        assert_eq!(value(patch(&json!({}), &live("y"), &set)), Some(json!("y")));
    }

    #[test]
    fn an_object_is_replaced_not_added_to() {
        let got = patch(
            &json!({"spec": {"m": {"old": 1}}}),
            &json!({"spec": {"m": {"new": 2}}}),
            &paths(&["spec.m"]),
        );
        assert_eq!(got.unwrap()["spec"]["m"], json!({"new": 2, "old": null}));
    }
}
