//! Claims and volumes: the class a claim is of, and protection from deletion while in use.

use serde_json::{Value, json};

use super::all;
use crate::store::{Store, TableId};

pub(super) const CLAIM_PROTECTION: &str = "kubernetes.io/pvc-protection";
pub(super) const VOLUME_PROTECTION: &str = "kubernetes.io/pv-protection";
const DEFAULT_CLASS: &str = "storageclass.kubernetes.io/is-default-class";

/// Keeps an object until whoever uses it is done.
pub(super) fn protect(object: &mut Value, finalizer: &str) {
    let finalizers = &mut object["metadata"]["finalizers"];
    match finalizers {
        Value::Array(all) if all.iter().any(|known| known == finalizer) => {}
        Value::Array(all) => all.push(json!(finalizer)),
        none => *none = json!([finalizer]),
    }
}

/// A claim that names no class is of the default one, the youngest if there are several. An empty name is a name.
pub(super) fn choose_class(store: &Store, claim: &mut Value) {
    if !claim["spec"]["storageClassName"].is_null() || !claim["spec"].is_object() {
        return;
    }
    let classes = all(store, &TableId::new("storage.k8s.io", "storageclasses"));
    let defaults = classes.iter().filter(|class| class["metadata"]["annotations"][DEFAULT_CLASS] == "true");
    let age = |class: &&Value| class["metadata"]["creationTimestamp"].as_str().map(str::to_owned);
    if let Some(class) = defaults.max_by_key(age) {
        claim["spec"]["storageClassName"] = class["metadata"]["name"].clone();
    }
}
