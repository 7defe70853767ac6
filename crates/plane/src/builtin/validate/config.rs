//! ConfigMaps, Secrets, claims and events.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::{Errors, list, present, text};
use crate::builtin::names::{config_key, qualified_name};
use crate::builtin::quantity::Quantity;
use crate::server::json;
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
        "kubernetes.io/basic-auth" => {
            // Either will do.
            if ["username", "password"].iter().all(|key| object["data"].get(*key).is_none()) {
                &["username", "password"]
            } else {
                &[]
            }
        }
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
    for key in [".dockerconfigjson", ".dockercfg"].into_iter().filter(|key| needed.contains(key)) {
        let bytes = object["data"][key].as_str().and_then(|text| STANDARD.decode(text).ok());
        if let Some(why) = bytes.and_then(|bytes| json::parse(&bytes).err()) {
            errors.push(FieldError::invalid(format!("data[{key}]"), "<secret contents redacted>", why));
        }
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

/// What both kinds of event must have. Those of the new kind carry a time of their own.
fn common_event(object: &Value, about: &Value, reporter: (&str, &str), errors: &mut Errors) {
    let (own, namespace) = (text(&object["metadata"], "namespace"), text(about, "namespace"));
    let mut misplaced = || {
        let text = "does not match event.namespace";
        errors.push(FieldError::invalid("involvedObject.namespace", namespace, text));
    };
    if object["eventTime"].is_null() {
        if namespace.is_empty() && own != "default" || !namespace.is_empty() && namespace != own {
            misplaced();
        }
        return;
    }
    if namespace.is_empty() && !matches!(own, "default" | "kube-system") {
        misplaced();
    }
    let (field, shown) = reporter;
    let needed = [
        (field, shown),
        ("reportingInstance", "reportingInstance"),
        ("action", "action"),
        ("reason", "reason"),
    ];
    for (field, shown) in needed {
        let value = text(object, field);
        if value.is_empty() {
            errors.push(FieldError::required(shown, ""));
        } else if value.len() > 128 && field == shown && field != "reportingController" {
            errors.push(FieldError::invalid(shown, "", "can have at most 128 characters"));
        }
    }
    if let Err(why) = qualified_name(text(object, field))
        && !text(object, field).is_empty()
    {
        errors.push(FieldError::invalid(shown, text(object, field), why));
    }
}

pub(super) fn event(object: &Value, errors: &mut Errors) {
    let reporter = ("reportingComponent", "reportingComponent");
    common_event(object, &object["involvedObject"], reporter, errors);
}

/// An event of `events.k8s.io`, which is stricter.
pub(super) fn new_event(object: &Value, errors: &mut Errors) {
    let reporter = ("reportingController", "reportingController");
    common_event(object, &object["regarding"], reporter, errors);
    if object["eventTime"].is_null() {
        errors.push(FieldError::required("eventTime", ""));
    }
    let kind = text(object, "type");
    if !matches!(kind, "Normal" | "Warning") {
        errors.push(FieldError::invalid("type", "", format!("has invalid value: {kind}")));
    }
    let old = [
        ("deprecatedFirstTimestamp", "firstTimestamp"),
        ("deprecatedLastTimestamp", "lastTimestamp"),
        ("deprecatedCount", "count"),
    ];
    for (field, shown) in old.into_iter().filter(|(field, _)| !object[*field].is_null()) {
        let given = object[field].clone();
        errors.push(FieldError::invalid(
            shown,
            if given.is_i64() { given } else { "".into() },
            "needs to be unset",
        ));
    }
}

pub(super) fn volume(spec: &Value, errors: &mut Errors) {
    const SOURCES: [&str; 12] = [
        "awsElasticBlockStore",
        "azureDisk",
        "azureFile",
        "cephfs",
        "cinder",
        "csi",
        "fc",
        "hostPath",
        "iscsi",
        "local",
        "nfs",
        "rbd",
    ];
    if list(spec, "accessModes").is_empty() {
        errors.push(FieldError::required("spec.accessModes", ""));
    }
    let capacity = spec["capacity"].as_object();
    if capacity.is_none_or(Map::is_empty) {
        errors.push(FieldError::required("spec.capacity", ""));
    }
    if capacity.is_none_or(|all| all.len() != 1 || !all.contains_key("storage")) {
        let shown = spec.get("capacity").cloned().unwrap_or(Value::Null);
        errors.push(FieldError::not_supported("spec.capacity", shown, &["storage"]));
    }
    if !SOURCES.iter().any(|source| present(spec, source)) {
        errors.push(FieldError::required("spec", "must specify a volume type"));
    }
}

pub(super) fn storage_class(object: &Value, errors: &mut Errors) {
    let policy = text(object, "reclaimPolicy");
    if !matches!(policy, "" | "Delete" | "Retain") {
        errors.push(FieldError::not_supported("reclaimPolicy", policy, &["Delete", "Retain"]));
    }
}
