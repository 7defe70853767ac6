//! Every Pod runs as a ServiceAccount, and carries its token.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::hooks::AdmissionRequest;
use crate::status::{Error, Result};
use crate::store::{Store, TableId, key};
use crate::write::generate_name;

const DEFAULT: &str = "default";
const VOLUME: &str = "kube-api-access-";
const MOUNT_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
const MIRROR: &str = "kubernetes.io/config.mirror";
/// How long a new namespace's own account is waited for.
const PATIENCE: Duration = Duration::from_secs(1);
/// The controllers share one task with the one that makes accounts: they would wait for themselves.
const CONTROLLERS: &str = "system:kube-controller-manager";

/// Sets a new Pod's account, its token's volume and the account's pull secrets.
pub(super) async fn admit(store: &Arc<Store>, request: &mut AdmissionRequest) -> Result<()> {
    // A Pod that a node made for itself has no account.
    if !request.object["metadata"]["annotations"][MIRROR].is_null() || !request.object["spec"].is_object() {
        return Ok(());
    }
    let spec = &mut request.object["spec"];
    let name = match spec["serviceAccountName"].as_str() {
        Some(name) if !name.is_empty() => name.to_owned(),
        _ => DEFAULT.to_owned(),
    };
    spec["serviceAccountName"] = json!(name);
    spec["serviceAccount"] = json!(name);
    let patience =
        if name == DEFAULT && request.user.name != CONTROLLERS { PATIENCE } else { Duration::ZERO };
    let Some(account) = find(store, &request.namespace, &name, patience).await else {
        let why = format!(
            "error looking up service account {}/{name}: serviceaccount {name:?} not found",
            request.namespace
        );
        return Err(Error::forbidden(&request.names, &request.name, &why));
    };
    let spec = &mut request.object["spec"];
    let wanted = spec["automountServiceAccountToken"]
        .as_bool()
        .or_else(|| account["automountServiceAccountToken"].as_bool());
    if wanted != Some(false) {
        mount_token(spec);
    }
    let pulls = |of: &Value| of["imagePullSecrets"].as_array().is_some_and(|all| !all.is_empty());
    if !pulls(spec) && pulls(&account) {
        spec["imagePullSecrets"] = account["imagePullSecrets"].clone();
    }
    Ok(())
}

async fn find(store: &Arc<Store>, namespace: &str, name: &str, patience: Duration) -> Option<Value> {
    let (table, key) = (TableId::new("", "serviceaccounts"), key(namespace, name));
    let mut watcher = store.watch(&table, store.revision()).ok()?;
    let look = async {
        loop {
            if let Some(account) = store.get(&table, &key) {
                return Some(account.to_value());
            }
            if patience.is_zero() || !watcher.changed().await || watcher.read().is_err() {
                return None;
            }
        }
    };
    tokio::time::timeout(patience.max(Duration::from_millis(1)), look).await.ok().flatten()
}

/// Mounts the token in every container that mounts nothing there yet.
fn mount_token(spec: &mut Value) {
    let named =
        |volume: &Value| volume["name"].as_str().filter(|name| name.starts_with(VOLUME)).map(str::to_owned);
    let known = spec["volumes"].as_array().into_iter().flatten().find_map(named);
    let volume = known.clone().unwrap_or_else(|| generate_name(VOLUME));
    let mut needed = false;
    for list in ["initContainers", "containers"] {
        for container in spec[list].as_array_mut().into_iter().flatten() {
            let mounted = |mount: &Value| mount["mountPath"] == MOUNT_PATH;
            if container["volumeMounts"].as_array().is_some_and(|all| all.iter().any(mounted)) {
                continue;
            }
            push(
                &mut container["volumeMounts"],
                json!({"name": volume, "readOnly": true, "mountPath": MOUNT_PATH}),
            );
            needed = true;
        }
    }
    if needed && known.is_none() {
        push(&mut spec["volumes"], json!({"name": volume, "projected": token_source()}));
    }
}

fn token_source() -> Value {
    json!({
        "defaultMode": 420,
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
            {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {"downwardAPI": {"items": [
                {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}},
            ]}},
        ],
    })
}

fn push(list: &mut Value, item: Value) {
    match list {
        Value::Array(all) => all.push(item),
        none => *none = json!([item]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_container_gets_the_token_unless_something_is_mounted_there() {
        let mut spec = json!({
            "initContainers": [{"name": "i", "volumeMounts": [{"name": "own", "mountPath": MOUNT_PATH}]}],
            "containers": [{"name": "a"}, {"name": "b", "volumeMounts": [{"name": "x", "mountPath": "/x"}]}],
            "volumes": [{"name": "own"}],
        });
        mount_token(&mut spec);
        let volume = spec["volumes"][1]["name"].as_str().unwrap().to_owned();
        assert!(volume.starts_with(VOLUME) && volume.len() == VOLUME.len() + 5, "{volume}");
        assert_eq!(spec["containers"][0]["volumeMounts"][0]["name"], volume);
        assert_eq!(spec["containers"][1]["volumeMounts"][1]["name"], volume);
        assert_eq!(spec["initContainers"][0]["volumeMounts"].as_array().unwrap().len(), 1);
        let once = spec.clone();
        mount_token(&mut spec);
        assert_eq!(spec, once, "what is there is used again");
    }
}
