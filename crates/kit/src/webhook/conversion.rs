//! ConversionReviews: the API server wants objects in another version.

use axum::body::Bytes;
use serde_json::{Value, json};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Turns an object into another version, given as `group/version`; an error is shown to the user.
pub(super) type Convert = Box<dyn Fn(Value, &str) -> Result<Value, String> + Send + Sync>;

/// What converts at one path, by the API group that it knows.
pub(super) type Converters = Vec<(String, Convert)>;

/// Answers a review; none if it is no review at all.
pub(super) fn answer(converters: &Converters, body: &Bytes) -> Option<Value> {
    let review: Value = serde_json::from_slice(body).ok()?;
    let request = review.get("request")?.as_object()?;
    let known = ["apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1"];
    if review["kind"] != "ConversionReview" || !known.iter().any(|version| review["apiVersion"] == *version) {
        return None;
    }
    let wanted = request.get("desiredAPIVersion")?.as_str()?;
    let objects = request.get("objects")?.as_array()?;
    let converted: Result<Vec<Value>, String> =
        objects.iter().map(|object| one(converters, object, wanted)).collect();
    let mut response = json!({"uid": request.get("uid").cloned().unwrap_or_default()});
    match converted {
        Ok(objects) => {
            response["convertedObjects"] = objects.into();
            response["result"] = json!({"metadata": {}, "status": "Success"});
        }
        Err(message) => {
            response["convertedObjects"] = json!([]);
            response["result"] = json!({"metadata": {}, "status": "Failure", "message": message});
        }
    }
    Some(json!({"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response}))
}

fn one(converters: &Converters, object: &Value, wanted: &str) -> Result<Value, String> {
    let (kind, from) = (&object["kind"], &object["apiVersion"]);
    let group = from.as_str().and_then(|version| version.split_once('/')).map_or("", |(group, _)| group);
    let Some((_, convert)) = converters.iter().find(|(known, _)| known == group) else {
        return Err(format!("no kind of group {group:?} is converted here"));
    };
    if from == wanted {
        return Err(format!("conversion is not allowed between same type {wanted} {kind}"));
    }
    let work = AssertUnwindSafe(|| convert(object.clone(), wanted));
    let mut converted =
        catch_unwind(work).unwrap_or_else(|_| Err("internal error: the conversion panicked".into()))?;
    if converted["kind"] != *kind || converted["apiVersion"] != wanted {
        return Err(format!("internal error: {kind} {from} did not become {wanted}"));
    }
    // The server refuses a conversion that touches metadata other than labels and annotations, so it cannot be forgotten.
    for (name, value) in object["metadata"].as_object().into_iter().flatten() {
        if name != "labels" && name != "annotations" {
            converted["metadata"][name] = value.clone();
        }
    }
    Ok(converted)
}
