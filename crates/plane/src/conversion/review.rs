//! ConversionReview: the question, and what may be believed of the answer.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::webhook::unreadable;

#[derive(Deserialize)]
struct Answer {
    response: Option<Response>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Response {
    uid: String,
    converted_objects: Option<Vec<Value>>,
    result: Outcome,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Outcome {
    status: String,
    message: String,
}

/// The body to post.
pub(super) fn question(version: &str, uid: &str, desired: &str, objects: &[Value]) -> Value {
    json!({
        "kind": "ConversionReview",
        "apiVersion": format!("apiextensions.k8s.io/{version}"),
        "request": { "uid": uid, "desiredAPIVersion": desired, "objects": objects },
        "response": { "uid": "", "convertedObjects": null, "result": { "metadata": {} } },
    })
}

/// The converted objects, in order, or what follows `conversion webhook for … `.
pub(super) fn converted(
    version: &str,
    uid: &str,
    desired: &str,
    originals: &[Value],
    body: &[u8],
) -> Result<Vec<Value>, String> {
    let answer: Answer = serde_json::from_slice(body).map_err(|_| format!("failed: {}", unreadable(body)))?;
    let response = answer.response.ok_or("failed: no response provided")?;
    if version == "v1" && response.uid != uid {
        return Err(format!("failed: expected response.uid={uid:?}, got {:?}", response.uid));
    }
    if response.result.status != "Success" {
        return Err(match response.result.message.as_str() {
            "" => format!("failed: response.result.status was '{}', not 'Success'", response.result.status),
            message => format!("failed: {message}"),
        });
    }
    let objects = response.converted_objects.unwrap_or_default();
    if objects.len() != originals.len() {
        return Err(format!("returned {} objects, expected {}", objects.len(), originals.len()));
    }
    objects
        .into_iter()
        .zip(originals)
        .map(|(object, original)| {
            checked(object, original, desired).map_err(|why| format!("returned invalid object: {why}"))
        })
        .collect()
}

/// Only labels and annotations of the metadata may change; all else is put back.
fn checked(mut object: Value, original: &Value, desired: &str) -> Result<Value, String> {
    let text =
        |of: &Value, path: &str| of.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
    let version = text(&object, "/apiVersion");
    if version != desired {
        return Err(format!("invalid groupVersion (expected {desired}, received {version})"));
    }
    for (path, what) in [
        ("/kind", "kind"),
        ("/metadata/name", "name"),
        ("/metadata/namespace", "namespace"),
        ("/metadata/uid", "UID"),
    ] {
        let (before, after) = (text(original, path), text(&object, path));
        if before != after {
            return Err(format!("must have the same {what}: {before} != {after}"));
        }
    }
    let mut metadata = original.get("metadata").cloned().unwrap_or_else(|| json!({}));
    if let Some(fields) = metadata.as_object_mut() {
        for key in ["labels", "annotations"] {
            match object["metadata"].get(key).filter(|value| !value.is_null()) {
                Some(value) => fields.insert(key.into(), value.clone()),
                None => fields.remove(key),
            };
        }
    }
    object["metadata"] = metadata;
    Ok(object)
}
