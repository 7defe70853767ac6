//! Objects of which some fields are ours alone: compared whole, replaced whole.

use super::error::ApplyError;
use super::path::Path;
use super::request::Target;
use kube::api::DynamicObject;
use serde_json::{Map, Value};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Which fields: these, or all but metadata and status.
pub(super) fn paths(exclusive: Option<&[String]>, intent: &Value) -> Vec<Path> {
    match exclusive {
        Some(paths) => paths.iter().map(|path| Path::parse(path)).collect(),
        None => {
            const NOT_OURS: [&str; 4] = ["apiVersion", "kind", "metadata", "status"];
            let fields = intent.as_object().into_iter().flat_map(Map::keys);
            let ours = fields.filter(|field| !NOT_OURS.contains(&field.as_str()));
            ours.map(|field| Path { names: vec![field.clone()], is_set: false }).collect()
        }
    }
}

/// A hash of all that is ours of a live object.
pub(super) fn fingerprint(live: &Value, intent: &Value, paths: &[Path]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for path in paths {
        path.names.hash(&mut hasher);
        path.get(live).hash(&mut hasher);
    }
    metadata_matches(live, intent).hash(&mut hasher);
    hasher.finish()
}

/// True if a live object is as wanted to the letter. Defaults that the server filled in are a difference here, and are
/// found equal once the server has been asked.
pub(super) fn matches(live: &Value, intent: &Value, paths: &[Path]) -> bool {
    paths.iter().all(|path| path.get(live) == path.get(intent)) && metadata_matches(live, intent)
}

fn metadata_matches(live: &Value, intent: &Value) -> bool {
    let mut merged = live.clone();
    merge_metadata(&mut merged, intent);
    merged == *live
}

/// Creates the object, or replaces what is ours of it if the server's copy differs. True if something was sent.
pub(super) async fn write(
    target: &Target<'_>,
    intent: &Value,
    paths: &[Path],
) -> Result<(DynamicObject, bool), ApplyError> {
    let Some(current) = target.get().await? else {
        let object = typed(target, intent.clone())?;
        return Ok((target.create(&object).await?, true));
    };
    let before = untyped(target, &current)?;
    let mut wanted = before.clone();
    for path in paths {
        path.set(&mut wanted, path.get(intent).cloned());
    }
    merge_metadata(&mut wanted, intent);
    if wanted == before {
        return Ok((current, false));
    }
    let object = typed(target, wanted)?;
    Ok((target.replace(&object).await?, true))
}

/// Labels, annotations and owners: ours are set, others' stay.
fn merge_metadata(object: &mut Value, intent: &Value) {
    for field in ["labels", "annotations"] {
        let Some(ours) = intent["metadata"][field].as_object().filter(|ours| !ours.is_empty()) else {
            continue;
        };
        for (name, value) in ours {
            let path = Path { names: vec!["metadata".into(), field.into(), name.clone()], is_set: false };
            path.set(object, Some(value.clone()));
        }
    }
    let Some(ours) = intent["metadata"]["ownerReferences"].as_array().filter(|ours| !ours.is_empty()) else {
        return;
    };
    let mut owners = object["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default();
    for owner in ours {
        match owners.iter_mut().find(|other| other["uid"] == owner["uid"]) {
            Some(other) => *other = owner.clone(),
            None => owners.push(owner.clone()),
        }
    }
    let path = Path { names: vec!["metadata".into(), "ownerReferences".into()], is_set: false };
    path.set(object, Some(Value::Array(owners)));
}

pub(super) fn typed(target: &Target<'_>, value: Value) -> Result<DynamicObject, ApplyError> {
    serde_json::from_value(value).map_err(|error| target.error(kube::Error::SerdeError(error)))
}

pub(super) fn untyped(target: &Target<'_>, object: &DynamicObject) -> Result<Value, ApplyError> {
    serde_json::to_value(object).map_err(|error| target.error(kube::Error::SerdeError(error)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn others_labels_stay_and_our_owner_joins() {
        let mut live = json!({"metadata": {"labels": {"theirs": "1", "ours": "old"}, "ownerReferences": [{"uid": "x"}]}});
        let intent = json!({"metadata": {"labels": {"ours": "new"}, "ownerReferences": [{"uid": "y"}]}});
        assert!(!metadata_matches(&live, &intent));
        merge_metadata(&mut live, &intent);
        assert_eq!(live["metadata"]["labels"], json!({"theirs": "1", "ours": "new"}));
        assert_eq!(live["metadata"]["ownerReferences"], json!([{"uid": "x"}, {"uid": "y"}]));
        assert!(metadata_matches(&live, &intent));
    }

    #[test]
    fn additions_of_others_inside_our_paths_are_a_difference() {
        let intent = json!({"spec": {"rules": {"a": 1}}, "metadata": {}});
        let paths = paths(Some(&["spec".to_owned()]), &intent);
        assert!(matches(&json!({"spec": {"rules": {"a": 1}}, "metadata": {"x": 1}}), &intent, &paths));
        assert!(!matches(&json!({"spec": {"rules": {"a": 1, "b": 2}}, "metadata": {}}), &intent, &paths));
    }

    #[test]
    fn update_is_about_every_field_but_metadata_and_status() {
        let intent =
            json!({"apiVersion": "v1", "kind": "X", "metadata": {}, "spec": {}, "data": {}, "status": {}});
        let names: Vec<_> = paths(None, &intent).into_iter().flat_map(|path| path.names).collect();
        assert_eq!(names, ["data", "spec"]);
    }
}
