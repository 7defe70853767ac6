//! ConfigMaps, Secrets, claims and events.

use serde_json::{Map, Value};

use super::{Errors, list, text};
use crate::builtin::names::config_key;
use crate::builtin::quantity::Quantity;
use crate::status::FieldError;

const MAX_SIZE: usize = 1024 * 1024;

fn map<'v>(object: &'v Value, name: &str) -> impl Iterator<Item = (&'v String, &'v Value)> + use<'v> {
    static NONE: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
    object[name].as_object().unwrap_or(&NONE).iter()
}

pub(super) fn config_map(object: &Value, errors: &mut Errors) {
    let mut size = 0;
    for field in ["data", "binaryData"] {
        for (key, value) in map(object, field) {
            size += value.as_str().map_or(0, str::len);
            if let Err(why) = config_key(key) {
                errors.push(FieldError::invalid(format!("{field}[{key}]"), key.clone(), why));
            }
        }
    }
    for (key, _) in map(object, "data") {
        if object["binaryData"].get(key).is_some() {
            let text = "duplicate of key present in binaryData";
            errors.push(FieldError::invalid(format!("data[{key}]"), key.clone(), text));
        }
    }
    if size > MAX_SIZE {
        errors.push(FieldError::too_long("[]", MAX_SIZE));
    }
}

pub(super) fn secret(object: &Value, errors: &mut Errors) {
    let mut size = 0;
    for (key, value) in map(object, "data") {
        size += value.as_str().map_or(0, |text| text.len() / 4 * 3);
        if let Err(why) = config_key(key) {
            errors.push(FieldError::invalid(format!("data[{key}]"), key.clone(), why));
        }
    }
    if size > MAX_SIZE {
        errors.push(FieldError::too_long("data", MAX_SIZE));
    }
    let needed: &[&str] = match text(object, "type") {
        "kubernetes.io/tls" => &["tls.crt", "tls.key"],
        "kubernetes.io/dockerconfigjson" => &[".dockerconfigjson"],
        "kubernetes.io/dockercfg" => &[".dockercfg"],
        "kubernetes.io/ssh-auth" => &["ssh-privatekey"],
        "kubernetes.io/service-account-token" => {
            const KEY: &str = "kubernetes.io/service-account.name";
            if text(&object["metadata"]["annotations"], KEY).is_empty() {
                errors.push(FieldError::required(format!("metadata.annotations[{KEY}]"), ""));
            }
            &[]
        }
        _ => &[],
    };
    for key in needed.iter().filter(|key| object["data"].get(**key).is_none()) {
        errors.push(FieldError::required(format!("data[{key}]"), ""));
    }
}

pub(super) fn claim(spec: &Value, errors: &mut Errors) {
    const MODES: [&str; 4] = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
    let modes = list(spec, "accessModes");
    if modes.is_empty() {
        errors.push(FieldError::required("spec.accessModes", "at least 1 access mode is required"));
    }
    for mode in modes.iter().filter(|mode| !MODES.iter().any(|known| mode == known)) {
        errors.push(FieldError::not_supported("spec.accessModes", mode.clone(), &MODES));
    }
    match spec["resources"]["requests"]["storage"].as_str() {
        None => errors.push(FieldError::required("spec.resources[storage]", "")),
        Some(size) if Quantity::parse(size).is_none_or(|q| q.nano() <= 0) => {
            errors.push(FieldError::invalid("spec.resources[storage]", size, "must be greater than zero"));
        }
        Some(_) => {}
    }
}

pub(super) fn event(object: &Value, errors: &mut Errors) {
    let own = text(&object["metadata"], "namespace");
    let about = text(&object["involvedObject"], "namespace");
    if !about.is_empty() && about != own || about.is_empty() && own != "default" {
        errors.push(FieldError::invalid("involvedObject.namespace", about, "does not match event.namespace"));
    }
}

/// An event of `events.k8s.io`, which is stricter.
pub(super) fn new_event(object: &Value, errors: &mut Errors) {
    if object["eventTime"].is_null() {
        errors.push(FieldError::required("eventTime", ""));
    }
    for field in ["reportingController", "reportingInstance", "action", "reason"] {
        if text(object, field).is_empty() {
            errors.push(FieldError::required(field, ""));
        }
    }
    let kind = text(object, "type");
    if !matches!(kind, "Normal" | "Warning") {
        errors.push(FieldError::invalid("type", "", format!("has invalid value: {kind}")));
    }
}
