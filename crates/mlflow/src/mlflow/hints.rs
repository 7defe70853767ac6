//! What a user should know and no condition says. Conditions keep the original's texts, so these become events.

use k8s_openapi::api::core::v1::{PersistentVolumeClaim, PersistentVolumeClaimSpec};
use kube::ResourceExt;
use quintet_api::mlflow::{MLflow, MLflowSpec};
use quintet_kit::{Note, parts::quantity};

use super::read::Seen;
use crate::Config;

/// All there is to say about the resource as it is now.
pub(super) fn hints(mlflow: &MLflow, config: &Config, observed: &Seen) -> Vec<Note> {
    let mut hints = about_spec(&mlflow.spec);
    for name in &observed.missing_secrets {
        let text = format!(
            "Secret {name:?} not found in namespace {:?}: the server's pods cannot start without it",
            config.namespace
        );
        hints.push(hint("SecretMissing", text));
    }
    if let (Some(claim), Some(asked)) = (observed.claim.as_deref(), &mlflow.spec.storage) {
        hints.extend(about_claim(claim, asked));
    }
    hints
}

fn about_spec(spec: &MLflowSpec) -> Vec<Note> {
    let mut hints = vec![];
    if spec.pod_labels.as_ref().is_some_and(|labels| labels.contains_key("app")) {
        let text = "podLabels.app is ignored: the Deployment finds its pods by that label";
        hints.push(hint("PodLabelIgnored", text));
    }
    let is_root_empty = spec.default_artifact_root.as_deref() == Some("");
    if is_root_empty && !spec.serve_artifacts {
        let text = "defaultArtifactRoot is empty and serveArtifacts is false: the server falls back to a directory of \
                    its own, which is lost with its pod; set one of them";
        hints.push(hint("ArtifactsNotKept", text));
    }
    let no_backend = spec.backend_store_uri.is_none() && spec.backend_store_uri_from.is_none();
    let file_artifacts = spec.serve_artifacts && spec.artifacts_destination.is_none();
    if spec.storage.is_none() && (no_backend || file_artifacts) {
        let what = if no_backend { "backendStoreUri" } else { "artifactsDestination" };
        let text = format!(
            "{what} is not set and defaults to files below /mlflow, but storage is not set: set one of them"
        );
        hints.push(hint("StorageMissing", text));
    }
    let is_single_node = spec.storage.as_ref().is_some_and(|storage| {
        storage.access_modes.iter().flatten().next().is_none_or(|mode| mode.starts_with("ReadWriteOnce"))
    });
    if spec.garbage_collection.is_some() && is_single_node {
        let text = "garbageCollection uses the server's volume, which one node at a time can mount: \
                    its job waits while it is scheduled to another node";
        hints.push(hint("VolumeShared", text));
    }
    if spec.replicas > 1 && is_single_node {
        let text = "replicas is more than 1, but the volume can be mounted by one node at a time";
        hints.push(hint("VolumeShared", text));
    }
    hints
}

/// The claim is made once: what is asked of it later has no effect.
fn about_claim(claim: &PersistentVolumeClaim, asked: &PersistentVolumeClaimSpec) -> Vec<Note> {
    let name = claim.name_any();
    if claim.metadata.deletion_timestamp.is_some() {
        let text = format!(
            "PersistentVolumeClaim {name} is being deleted: once it is gone, a new and empty one is made"
        );
        return vec![hint("ClaimDeleting", text)];
    }
    let live = claim.spec.clone().unwrap_or_default();
    let size = |spec: &PersistentVolumeClaimSpec| {
        spec.resources.as_ref()?.requests.as_ref()?.get("storage").map(quantity::canonical)
    };
    let mut hints = vec![];
    if let (Some(asked), Some(live)) = (size(asked), size(&live))
        && asked != live
    {
        let text = format!(
            "storage asks for {}, but PersistentVolumeClaim {name} has {}: \
             change the claim itself, where its storage class allows that",
            asked.0, live.0
        );
        hints.push(hint("StorageDiffers", text));
    }
    let class = asked.storage_class_name.as_ref().filter(|class| !class.is_empty());
    if class.is_some_and(|class| live.storage_class_name.as_ref() != Some(class)) {
        let text = format!(
            "storage asks for class {:?}, but PersistentVolumeClaim {name} has {:?}: a claim's class cannot change",
            class.map(String::as_str).unwrap_or_default(),
            live.storage_class_name.as_deref().unwrap_or_default()
        );
        hints.push(hint("StorageDiffers", text));
    }
    hints
}

fn hint(reason: &str, text: impl Into<String>) -> Note {
    Note::warning(reason, "Reconcile", text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use std::sync::Arc;

    fn said(spec: Value, observed: Seen) -> Vec<String> {
        let mlflow: MLflow =
            serde_json::from_value(json!({ "metadata": { "name": "mlflow" }, "spec": spec })).unwrap();
        let config = Config::new("opendatahub", |_| None).unwrap();
        hints(&mlflow, &config, &observed).into_iter().map(|note| note.reason).collect()
    }

    fn claim(class: &str, size: &str, deleting: bool) -> Seen {
        let mut claim = json!({
            "metadata": { "name": "mlflow-pvc" },
            "spec": { "storageClassName": class, "resources": { "requests": { "storage": size } } },
        });
        if deleting {
            claim["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        }
        Seen { claim: Some(Arc::new(serde_json::from_value(claim).unwrap())), ..Seen::default() }
    }

    #[test]
    fn a_sound_resource_needs_no_hint() {
        let spec = json!({ "backendStoreUri": "postgresql://db/x", "defaultArtifactRoot": "s3://b" });
        assert!(said(spec, Seen::default()).is_empty());
    }

    #[test]
    fn each_trap_has_its_hint() {
        let backend = "postgresql://db/x";
        let none = Seen::default;
        assert_eq!(
            said(json!({ "backendStoreUri": backend, "podLabels": { "app": "x" } }), none()),
            ["PodLabelIgnored"]
        );
        assert_eq!(
            said(json!({ "backendStoreUri": backend, "defaultArtifactRoot": "" }), none()),
            ["ArtifactsNotKept"]
        );
        assert_eq!(said(json!({ "defaultArtifactRoot": "s3://b" }), none()), ["StorageMissing"]);
        assert_eq!(
            said(json!({ "backendStoreUri": backend, "serveArtifacts": true }), none()),
            ["StorageMissing"]
        );
        let gc = json!({ "backendStoreUri": backend, "storage": {}, "garbageCollection": { "schedule": "@daily" } });
        assert_eq!(said(gc, none()), ["VolumeShared"]);
        assert_eq!(
            said(json!({ "backendStoreUri": backend, "storage": {}, "replicas": 2 }), none()),
            ["VolumeShared"]
        );
        let missing = Seen { missing_secrets: vec!["db".into()], ..Seen::default() };
        assert_eq!(said(json!({ "backendStoreUri": backend }), missing), ["SecretMissing"]);
    }

    #[test]
    fn a_claim_that_is_not_as_asked_is_told_of() {
        let spec = |class: &str, size: &str| {
            let storage =
                json!({ "storageClassName": class, "resources": { "requests": { "storage": size } } });
            json!({ "backendStoreUri": "postgresql://db/x", "storage": storage })
        };
        assert!(said(spec("fast", "1024Mi"), claim("fast", "1Gi", false)).is_empty());
        assert!(said(spec("", "1Gi"), claim("standard", "1Gi", false)).is_empty());
        assert_eq!(said(spec("fast", "2Gi"), claim("fast", "1Gi", false)), ["StorageDiffers"]);
        assert_eq!(said(spec("slow", "1Gi"), claim("fast", "1Gi", false)), ["StorageDiffers"]);
        assert_eq!(said(spec("fast", "1Gi"), claim("fast", "1Gi", true)), ["ClaimDeleting"]);
    }
}
