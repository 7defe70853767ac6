//! Volumes of a pod.

use std::collections::HashSet;

use serde_json::Value;

use super::{Errors, list, text};
use crate::builtin::names::dns_label;
use crate::status::FieldError;

/// The order in which the server looks for sources: a second one is what it names.
const SOURCES: [&str; 10] = [
    "emptyDir",
    "hostPath",
    "gitRepo",
    "secret",
    "nfs",
    "persistentVolumeClaim",
    "downwardAPI",
    "configMap",
    "projected",
    "csi",
];

/// Judges the volumes and returns their names.
pub(super) fn check(spec: &Value, path: &str, errors: &mut Errors) -> HashSet<String> {
    let mut names = HashSet::new();
    for (index, volume) in list(spec, "volumes").iter().enumerate() {
        let at = format!("{path}.volumes[{index}]");
        let name = text(volume, "name");
        if name.is_empty() {
            errors.push(FieldError::required(format!("{at}.name"), ""));
        } else if let Err(why) = dns_label(name) {
            errors.push(FieldError::invalid(format!("{at}.name"), name, why));
        } else if !names.insert(name.to_owned()) {
            errors.push(FieldError::duplicate(format!("{at}.name"), name));
        }
        let given: Vec<&str> =
            SOURCES.into_iter().filter(|source| volume.get(*source).is_some_and(|v| !v.is_null())).collect();
        for more in given.iter().skip(1) {
            errors.push(FieldError::forbidden(
                format!("{at}.{more}"),
                "may not specify more than 1 volume type",
            ));
        }
    }
    names
}
