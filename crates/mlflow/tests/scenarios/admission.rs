//! What the API server refuses: every rule of the two definitions, with its message.

use kube::{
    Api,
    api::{DynamicObject, PostParams},
    discovery::ApiResource,
};
use quintet_api::mlflow::{MLflow, MLflowConfig};
use serde_json::{Value, json};

use crate::support::{
    server::{NAMESPACE, PLAIN, server},
    spec,
};

/// Tries to create an MLflow: the message, or nothing if it was accepted.
async fn tried(api: &Api<DynamicObject>, kind: &str, name: &str, spec: Value) -> Option<String> {
    let group = if kind == "MLflow" { "mlflow.opendatahub.io/v1" } else { "mlflow.kubeflow.org/v1" };
    let object = json!({ "apiVersion": group, "kind": kind, "metadata": { "name": name }, "spec": spec });
    let object: DynamicObject = serde_json::from_value(object).expect("an object");
    let params = PostParams { dry_run: true, ..PostParams::default() };
    api.create(&params, &object).await.err().map(|error| error.to_string())
}

#[tokio::test(start_paused = true)]
async fn scenario_30_what_an_mlflow_may_not_say() {
    let server = server(PLAIN).await;
    let api: Api<DynamicObject> = Api::all_with(server.admin(), &ApiResource::erase::<MLflow>(&()));
    let file = "file:///mlflow/x";
    let sqlite = "sqlite:////mlflow/x.db";
    let table: [(&str, Value, &str); 24] = [
        ("other", spec(json!({})), "MLflow resource name must be 'mlflow'"),
        (
            "x".repeat(41).leak(),
            spec(json!({})),
            "MLflow resource name must be at most 40 characters to ensure generated resource names stay within Kubernetes 63-character limit",
        ),
        (
            "mlflow",
            spec(json!({ "defaultArtifactRoot": null })),
            "defaultArtifactRoot must be set when serveArtifacts is not true",
        ),
        (
            "mlflow",
            spec(json!({ "defaultArtifactRoot": file })),
            "serveArtifacts must be enabled when defaultArtifactRoot uses file-based storage (file:// prefix)",
        ),
        (
            "mlflow",
            spec(json!({ "backendStoreUri": null })),
            "backendStoreUri or backendStoreUriFrom must be set",
        ),
        (
            "mlflow",
            spec(json!({ "backendStoreUri": "" })),
            "backendStoreUri or backendStoreUriFrom must be set",
        ),
        (
            "mlflow",
            spec(json!({ "backendStoreUri": null, "backendStoreUriFrom": { "key": "uri" } })),
            "backendStoreUri or backendStoreUriFrom must be set",
        ),
        (
            "mlflow",
            spec(json!({ "backendStoreUriFrom": { "name": "db", "key": "uri" } })),
            "backendStoreUri and backendStoreUriFrom are mutually exclusive",
        ),
        (
            "mlflow",
            spec(json!({ "registryStoreUri": "x", "registryStoreUriFrom": { "name": "db", "key": "uri" } })),
            "registryStoreUri and registryStoreUriFrom are mutually exclusive",
        ),
        (
            "mlflow",
            spec(json!({ "registryStoreUriFrom": { "key": "uri" } })),
            "registryStoreUriFrom.name and registryStoreUriFrom.key must be non-empty when registryStoreUriFrom is set",
        ),
        (
            "mlflow",
            spec(json!({ "backendStoreUri": sqlite })),
            "storage must be configured when using file-based backend store (sqlite:// or file:// prefix)",
        ),
        (
            "mlflow",
            spec(json!({ "backendStoreUri": file })),
            "storage must be configured when using file-based backend store (sqlite:// or file:// prefix)",
        ),
        (
            "mlflow",
            spec(json!({ "registryStoreUri": sqlite })),
            "storage must be configured when using file-based registry store (sqlite:// or file:// prefix)",
        ),
        (
            "mlflow",
            spec(json!({ "serveArtifacts": true, "artifactsDestination": file })),
            "storage must be configured when artifactsDestination uses file-based storage (file:// prefix)",
        ),
        (
            "mlflow",
            spec(json!({ "artifactsDestination": file, "storage": {} })),
            "serveArtifacts must be enabled when artifactsDestination uses file-based storage (file:// prefix)",
        ),
        (
            "mlflow",
            spec(
                json!({ "env": [{ "name": "MLFLOW_SERVER_DISABLE_SECURITY_MIDDLEWARE", "value": "true" }] }),
            ),
            "setting the MLFLOW_SERVER_DISABLE_SECURITY_MIDDLEWARE environment variable is not allowed",
        ),
        (
            "mlflow",
            spec(json!({ "networkPolicyAdditionalEgressRules": [{}] })),
            "each networkPolicyAdditionalEgressRules entry must specify at least one port or one destination",
        ),
        (
            "mlflow",
            spec(json!({ "podLabels": { "a": "x".repeat(64) } })),
            "label values must be 63 characters or less",
        ),
        (
            "mlflow",
            spec(json!({ "nodeSelector": { "a": "x".repeat(64) } })),
            "label values must be 63 characters or less",
        ),
        (
            "mlflow",
            spec(json!({ "garbageCollection": { "schedule": "@daily", "olderThan": "" } })),
            "spec.garbageCollection.olderThan",
        ),
        (
            "mlflow",
            spec(json!({ "garbageCollection": { "schedule": "@daily", "olderThan": "12h7d" } })),
            "spec.garbageCollection.olderThan",
        ),
        ("mlflow", spec(json!({ "garbageCollection": {} })), "spec.garbageCollection.schedule"),
        ("mlflow", spec(json!({ "replicas": 0 })), "spec.replicas"),
        (
            "mlflow",
            spec(json!({ "image": { "imagePullPolicy": "Sometimes" } })),
            "spec.image.imagePullPolicy",
        ),
    ];
    for (name, spec, message) in table {
        let refusal = tried(&api, "MLflow", name, spec.clone()).await;
        let refusal = refusal.unwrap_or_else(|| panic!("accepted {name} {spec}"));
        assert!(refusal.contains(message), "{refusal}\nshould say: {message}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_an_mlflow_may_say() {
    let server = server(PLAIN).await;
    let api: Api<DynamicObject> = Api::all_with(server.admin(), &ApiResource::erase::<MLflow>(&()));
    for spec in [
        spec(json!({})),
        spec(json!({ "defaultArtifactRoot": "" })),
        spec(json!({ "defaultArtifactRoot": null, "serveArtifacts": true })),
        spec(json!({ "backendStoreUri": null, "backendStoreUriFrom": { "name": "db", "key": "uri" } })),
        spec(json!({ "backendStoreUri": "sqlite:////mlflow/x.db", "storage": {} })),
        spec(json!({ "garbageCollection": { "schedule": "nonsense", "olderThan": "1.5d2h3m4.25s" } })),
        spec(json!({ "resources": { "limits": { "cpu": 2, "memory": "6Gi" } } })),
        spec(
            json!({ "networkPolicyAdditionalEgressRules": [{ "ports": [{ "port": 1 }] }, { "to": [{ "podSelector": {} }] }] }),
        ),
    ] {
        assert_eq!(tried(&api, "MLflow", "mlflow", spec.clone()).await, None, "{spec}");
    }
}

#[tokio::test(start_paused = true)]
async fn defaults_are_filled_in_and_unknown_fields_dropped() {
    let server = server(PLAIN).await;
    let api: Api<DynamicObject> = Api::all_with(server.admin(), &ApiResource::erase::<MLflow>(&()));
    let spec = spec(json!({ "registryStoreUriFrom": { "name": "db", "key": "k" }, "surprise": 1,
        "envFrom": [{ "secretRef": {} }] }));
    let object = json!({ "apiVersion": "mlflow.opendatahub.io/v1", "kind": "MLflow", "metadata": { "name": "mlflow" }, "spec": spec });
    let stored = api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
    let spec = &stored.data["spec"];
    assert_eq!(spec["replicas"], 1);
    assert_eq!(spec["workers"], 1);
    assert_eq!(spec["serveArtifacts"], false);
    assert_eq!(spec["serviceAccountName"], "mlflow-sa");
    assert_eq!(spec["envFrom"][0]["secretRef"]["name"], "");
    assert!(spec.get("surprise").is_none());
}

#[tokio::test(start_paused = true)]
async fn scenario_31_what_an_mlflowconfig_may_and_may_not_say() {
    let server = server(PLAIN).await;
    let kind = ApiResource::erase::<MLflowConfig>(&());
    let api: Api<DynamicObject> = Api::namespaced_with(server.admin(), NAMESPACE, &kind);
    let secret = "mlflow-artifact-connection";
    let table: [(&str, Value, &str); 7] = [
        ("other", json!({ "artifactRootSecret": secret }), "MLflowConfig resource name must be 'mlflow'"),
        (
            "mlflow",
            json!({ "artifactRootSecret": "wrong-secret-name" }),
            "artifactRootSecret must be 'mlflow-artifact-connection'",
        ),
        ("mlflow", json!({}), "spec.artifactRootSecret"),
        (
            "mlflow",
            json!({ "artifactRootSecret": secret, "artifactRootPath": "/a" }),
            "artifactRootPath must be relative",
        ),
        (
            "mlflow",
            json!({ "artifactRootSecret": secret, "artifactRootPath": "a/../b" }),
            "artifactRootPath must not contain '..' path segments",
        ),
        (
            "mlflow",
            json!({ "artifactRootSecret": secret, "artifactRootPath": ".." }),
            "artifactRootPath must not contain '..' path segments",
        ),
        (
            "mlflow",
            json!({ "artifactRootSecret": secret, "artifactRootPath": "a".repeat(513) }),
            "spec.artifactRootPath",
        ),
    ];
    for (name, spec, message) in table {
        let refusal = tried(&api, "MLflowConfig", name, spec.clone()).await;
        let refusal = refusal.unwrap_or_else(|| panic!("accepted {name} {spec}"));
        assert!(refusal.contains(message), "{refusal}\nshould say: {message}");
    }
    for path in [Value::Null, json!(""), json!("a/..b/c"), json!("experiments")] {
        let mut spec = json!({ "artifactRootSecret": secret });
        if !path.is_null() {
            spec["artifactRootPath"] = path;
        }
        assert_eq!(tried(&api, "MLflowConfig", "mlflow", spec.clone()).await, None, "{spec}");
    }
}
