//! `metadata`: what the server fills in, what it keeps, what it refuses.

use std::collections::BTreeSet;

use rand::RngExt;
use serde_json::{Map, Value, json};

use crate::resource::{Naming, Resource};
use crate::server::Warnings;
use crate::status::{Error, FieldError, FieldErrorKind, Result};
use crate::validate;

const RANDOM: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
const ANNOTATIONS_LIMIT: usize = 262_144;

/// The metadata of an object; made if absent or of the wrong type.
pub(super) fn of(object: &mut Value) -> &mut Map<String, Value> {
    if !object.is_object() {
        *object = Value::Object(Map::new());
    }
    let map = match object {
        Value::Object(map) => map,
        _ => unreachable!("made an object above"),
    };
    let metadata = map.entry("metadata").or_insert_with(|| json!({}));
    if !metadata.is_object() {
        *metadata = json!({});
    }
    match metadata {
        Value::Object(metadata) => metadata,
        _ => unreachable!("made an object above"),
    }
}

/// A text field of the metadata, empty if absent.
pub(super) fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object["metadata"][field].as_str().unwrap_or_default()
}

/// Five characters that spell nothing, after at most 58 of the given base.
pub(crate) fn generate(base: &str) -> String {
    let mut rng = rand::rng();
    let mut name: String = base.chars().take(58).collect();
    name.extend((0..5).map(|_| RANDOM[rng.random_range(0..RANDOM.len())] as char));
    name
}

/// The namespace of the body must be that of the URL.
pub(super) fn place(object: &mut Value, namespace: &str) -> Result<()> {
    let given = text(object, "namespace").to_string();
    if !given.is_empty() && given != namespace {
        return Err(Error::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    let metadata = of(object);
    if namespace.is_empty() {
        metadata.remove("namespace");
    } else {
        metadata.insert("namespace".into(), namespace.into());
    }
    Ok(())
}

/// What is empty is not stored, and owners are named once.
pub(super) fn tidy(object: &mut Value, warnings: &Warnings) {
    let metadata = of(object);
    for field in ["labels", "annotations"] {
        let empty =
            metadata.get(field).is_some_and(|v| v.is_null() || v.as_object().is_some_and(Map::is_empty));
        if empty {
            metadata.remove(field);
        }
    }
    for field in ["finalizers", "ownerReferences", "managedFields"] {
        if metadata.get(field).is_some_and(|v| v.is_null() || v.as_array().is_some_and(Vec::is_empty)) {
            metadata.remove(field);
        }
    }
    for field in ["generateName", "name", "selfLink", "uid", "resourceVersion"] {
        if metadata.get(field).is_some_and(|v| v.is_null() || v == "") {
            metadata.remove(field);
        }
    }
    if let Some(owners) = metadata.get_mut("ownerReferences").and_then(Value::as_array_mut) {
        let mut seen = BTreeSet::new();
        let mut twice = Vec::new();
        owners.retain(|owner| {
            let uid = owner["uid"].as_str().unwrap_or_default().to_string();
            let first = seen.insert(uid.clone());
            if !first {
                twice.push(uid);
            }
            first
        });
        if !twice.is_empty() {
            warnings.add(format!(
                ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}",
                twice.join(", ")
            ));
        }
    }
}

/// Everything wrong with the metadata of an object about to be stored.
pub(super) fn check(object: &Value, resource: &Resource, warnings: &Warnings) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let (name, generate_name) = (text(object, "name"), text(object, "generateName"));
    if name.is_empty() {
        errors.push(FieldError::required("metadata.name", "name or generateName is required"));
    } else {
        let problems = match resource.traits.naming {
            Naming::Subdomain => validate::subdomain(name),
            Naming::Label => validate::label(name),
            Naming::PathSegment => validate::path_segment(name),
        };
        errors.extend(problems.into_iter().map(|p| FieldError::invalid("metadata.name", name, p)));
    }
    if !generate_name.is_empty() && resource.traits.naming != Naming::PathSegment {
        let base = generate_name.trim_end_matches('-');
        let problems = if base.is_empty() { Vec::new() } else { validate::subdomain(base) };
        errors.extend(
            problems.into_iter().map(|p| FieldError::invalid("metadata.generateName", generate_name, p)),
        );
    }
    labels(object, &mut errors);
    annotations(object, &mut errors);
    owners(object, &mut errors);
    finalizers(object, resource, warnings, &mut errors);
    errors
}

fn labels(object: &Value, errors: &mut Vec<FieldError>) {
    for (key, value) in object["metadata"]["labels"].as_object().into_iter().flatten() {
        for problem in validate::label_key(key) {
            errors.push(FieldError::invalid("metadata.labels", key.as_str(), problem));
        }
        for problem in validate::label_value(value.as_str().unwrap_or_default()) {
            errors.push(FieldError::invalid("metadata.labels", value.clone(), problem));
        }
    }
}

fn annotations(object: &Value, errors: &mut Vec<FieldError>) {
    let mut size = 0;
    for (key, value) in object["metadata"]["annotations"].as_object().into_iter().flatten() {
        for problem in validate::label_key(&key.to_lowercase()) {
            errors.push(FieldError::invalid("metadata.annotations", key.as_str(), problem));
        }
        size += key.len() + value.as_str().map_or(0, str::len);
    }
    if size > ANNOTATIONS_LIMIT {
        errors.push(FieldError::new("metadata.annotations", FieldErrorKind::TooLong(ANNOTATIONS_LIMIT)));
    }
}

fn owners(object: &Value, errors: &mut Vec<FieldError>) {
    let owners = object["metadata"]["ownerReferences"].as_array().map_or(&[][..], Vec::as_slice);
    let mut controllers: Vec<String> = Vec::new();
    for owner in owners {
        for (field, words) in [
            ("apiVersion", "version must not be empty"),
            ("kind", "must not be empty"),
            ("name", "must not be empty"),
            ("uid", "must not be empty"),
        ] {
            if owner[field].as_str().unwrap_or_default().is_empty() {
                errors.push(FieldError::invalid(
                    format!("metadata.ownerReferences.{field}").as_str(),
                    "",
                    words,
                ));
            }
        }
        if owner["kind"] == "Event" && owner["apiVersion"] == "v1" {
            errors.push(FieldError::invalid(
                "metadata.ownerReferences",
                owner.clone(),
                "/v1, Kind=Event is disallowed from being an owner",
            ));
        }
        if owner["controller"] == true {
            let text = |field: &str| owner[field].as_str().unwrap_or_default().to_string();
            controllers.push(format!("{}/{}", text("kind"), text("name")));
        }
    }
    if let [first, second, ..] = controllers.as_slice() {
        errors.push(FieldError::invalid(
            "metadata.ownerReferences",
            Value::Array(owners.to_vec()),
            format!(
                "Only one reference can have Controller set to true. Found \"true\" in references for {first} and {second}"
            ),
        ));
    }
}

fn finalizers(object: &Value, resource: &Resource, warnings: &Warnings, errors: &mut Vec<FieldError>) {
    let finalizers = object["metadata"]["finalizers"].as_array().map_or(&[][..], Vec::as_slice);
    for (i, finalizer) in finalizers.iter().enumerate() {
        let text = finalizer.as_str().unwrap_or_default();
        let path = format!("metadata.finalizers[{i}]");
        for problem in validate::label_key(text) {
            errors.push(FieldError::invalid(path.as_str(), text, problem));
        }
        if text.contains('/') || matches!(text, "orphan" | "foregroundDeletion" | "kubernetes") {
            continue;
        }
        if resource.gvk.group.as_ref() == "apiextensions.k8s.io" {
            continue;
        }
        if resource.is_custom() {
            warnings.add(format!(
                "metadata.finalizers: {}: prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers",
                crate::status::go_quote(text)
            ));
        } else {
            let words = "name is neither a standard finalizer name nor is it fully qualified";
            errors.push(FieldError::invalid(path.as_str(), text, words));
        }
    }
}

/// Fields of the metadata that no update changes.
const KEPT: &[&str] = &["uid", "creationTimestamp", "generation", "selfLink"];
/// Fields that a deletion has set stay; setting them by hand is refused, not overlooked.
const DELETION: &[&str] = &["deletionTimestamp", "deletionGracePeriodSeconds"];

/// Puts back what an update may not change.
pub(super) fn keep(object: &mut Value, old: &Value) {
    let old = old["metadata"].as_object().cloned().unwrap_or_default();
    let metadata = of(object);
    for field in KEPT {
        match old.get(*field) {
            Some(value) => metadata.insert((*field).into(), value.clone()),
            None => metadata.remove(*field),
        };
    }
    for field in DELETION {
        if let Some(value) = old.get(*field) {
            metadata.insert((*field).into(), value.clone());
        }
    }
}

/// Refusals specific to updates.
pub(super) fn check_update(object: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for field in DELETION {
        let given = &object["metadata"][*field];
        if !given.is_null() && *given != old["metadata"][*field] {
            let path = format!("metadata.{field}");
            errors.push(FieldError::invalid(path.as_str(), given.clone(), "field is immutable"));
        }
    }
    if old["metadata"]["deletionTimestamp"].is_string() {
        let had = old["metadata"]["finalizers"].as_array().map_or(&[][..], Vec::as_slice);
        let now = object["metadata"]["finalizers"].as_array().map_or(&[][..], Vec::as_slice);
        let new: Vec<String> = now
            .iter()
            .filter(|f| !had.contains(f))
            .map(|f| crate::status::go_quote(f.as_str().unwrap_or_default()))
            .collect();
        if !new.is_empty() {
            errors.push(FieldError::forbidden(
                "metadata.finalizers",
                format!(
                    "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                    new.join(", ")
                ),
            ));
        }
    }
    errors
}
