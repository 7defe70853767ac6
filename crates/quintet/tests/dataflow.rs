//! `quintet dataflow`: the committed pages are what the wiring says, and hold every row of the pages our users know.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

fn dataflow(arguments: &[&str]) -> String {
    let out = Command::new(env!("CARGO_BIN_EXE_quintet"))
        .arg("dataflow")
        .args(arguments)
        .env_clear()
        .output()
        .unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
}

fn system(name: &str) -> Value {
    let pages: Value = serde_json::from_str(&dataflow(&[name, "-o", "json"])).unwrap();
    pages[0].clone()
}

#[test]
fn the_committed_pages_are_up_to_date() {
    let docs = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/dataflow");
    let pages: Value = serde_json::from_str(&dataflow(&["-o", "json"])).unwrap();
    for page in pages.as_array().unwrap() {
        let name = page["system"].as_str().unwrap();
        let (path, fresh) = (docs.join(format!("{name}.md")), dataflow(&[name]));
        if std::env::var_os("UPDATE").is_some() {
            std::fs::create_dir_all(&docs).unwrap();
            std::fs::write(&path, &fresh).unwrap();
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(
            committed, fresh,
            "docs/dataflow/{name}.md is stale: UPDATE=1 cargo test -p quintet --test dataflow"
        );
    }
}

/// A row of a system's page: relation, group, version and kind.
fn has_watch(page: &Value, relation: &str, group: &str, version: &str, kind: &str) -> bool {
    page["watches"]
        .as_array()
        .unwrap()
        .iter()
        .any(|w| w["type"] == relation && w["group"] == group && w["version"] == version && w["kind"] == kind)
}

fn has_service(page: &Value, name: &str, port: u64) -> bool {
    page["services"].as_array().unwrap().iter().any(|s| s["name"] == name && s["port"] == port)
}

fn has_crd(page: &Value, group: &str, version: &str, kind: &str) -> bool {
    page["crds"]
        .as_array()
        .unwrap()
        .iter()
        .any(|c| c["group"] == group && c["version"] == version && c["kind"] == kind)
}

#[test]
fn mlflow_has_every_row_of_the_page_its_users_know() {
    let page = system("mlflow");
    for (relation, group, version, kind) in [
        ("For", "mlflow.opendatahub.io", "v1", "MLflow"),
        ("Owns", "", "v1", "PersistentVolumeClaim"),
        ("Owns", "", "v1", "Secret"),
        ("Owns", "", "v1", "Service"),
        ("Owns", "", "v1", "ServiceAccount"),
        ("Owns", "gateway.networking.k8s.io", "v1", "HTTPRoute"),
        ("Owns", "apps", "v1", "Deployment"),
        ("Owns", "batch", "v1", "CronJob"),
        ("Owns", "console.openshift.io", "v1", "ConsoleLink"),
        ("Owns", "monitoring.coreos.com", "v1", "ServiceMonitor"),
        ("Owns", "rbac.authorization.k8s.io", "v1", "ClusterRoleBinding"),
        ("Watches", "rbac.authorization.k8s.io", "v1", "ClusterRole"),
    ] {
        assert!(has_watch(&page, relation, group, version, kind), "{relation} {group}/{version}/{kind}");
    }
    assert!(has_service(&page, "minio-service", 9000));
    assert!(has_service(&page, "postgres-service", 5432));
    assert!(has_crd(&page, "mlflow.kubeflow.org", "v1", "MLflowConfig"));
    assert!(has_crd(&page, "mlflow.opendatahub.io", "v1", "MLflow"));
}

#[test]
fn model_registry_has_every_row_of_the_page_its_users_know() {
    let page = system("model-registry");
    let registry = "modelregistry.opendatahub.io";
    for (relation, group, version, kind) in [
        ("For", registry, "v1beta1", "ModelRegistry"),
        ("Owns", "", "v1", "Service"),
        ("Owns", "", "v1", "ServiceAccount"),
        ("Owns", "apps", "v1", "Deployment"),
        ("Owns", "networking.k8s.io", "v1", "NetworkPolicy"),
        ("Owns", "rbac.authorization.k8s.io", "v1", "Role"),
        ("Owns", "rbac.authorization.k8s.io", "v1", "RoleBinding"),
        ("Watches", "", "v1", "ConfigMap"),
        ("Watches", "", "v1", "PersistentVolumeClaim"),
        ("Watches", "", "v1", "Secret"),
        ("Watches", "", "v1", "Service"),
        ("Watches", "", "v1", "ServiceAccount"),
        ("Watches", "apps", "v1", "Deployment"),
        ("Watches", "networking.k8s.io", "v1", "NetworkPolicy"),
        ("Watches", "rbac.authorization.k8s.io", "v1", "ClusterRoleBinding"),
        ("Watches", "rbac.authorization.k8s.io", "v1", "Role"),
        ("Watches", "rbac.authorization.k8s.io", "v1", "RoleBinding"),
        // Missing on that page.
        ("Watches", "route.openshift.io", "v1", "Route"),
        ("Watches", "services.platform.opendatahub.io", "v1alpha1", "Auth"),
    ] {
        assert!(has_watch(&page, relation, group, version, kind), "{relation} {group}/{version}/{kind}");
    }
    assert!(has_service(&page, "model-registry-operator-controller-manager-metrics-service", 8443));
    assert!(has_service(&page, "model-registry-operator-webhook-service", 443));
    for port in ["https-api", "http-api"] {
        let services = page["services"].as_array().unwrap();
        assert!(services.iter().any(|s| s["portName"] == port && s["origin"] == "controller"), "{port}");
    }
    assert!(has_crd(&page, registry, "v1beta1", "ModelRegistry"));
    assert!(has_crd(&page, registry, "v1alpha1", "ModelRegistry"));
    for (name, type_, path) in [
        ("mmodelregistry.opendatahub.io", "mutating", "/mutate-modelregistry-opendatahub-io-modelregistry"),
        (
            "vmodelregistry.opendatahub.io",
            "validating",
            "/validate-modelregistry-opendatahub-io-modelregistry",
        ),
        ("modelregistries.modelregistry.opendatahub.io", "conversion", "/convert"),
    ] {
        let row = |w: &&Value| {
            w["name"] == name && w["type"] == type_ && w["path"] == path && w["failurePolicy"] == "Fail"
        };
        assert!(page["webhooks"].as_array().unwrap().iter().any(|w| row(&w)), "{name}");
    }
}

#[test]
fn maas_has_the_service_of_payload_processing() {
    assert!(has_service(&system("maas"), "payload-processing", 9004));
}

#[test]
fn a_page_for_scripts_has_all_its_parts() {
    let page = system("mlflow");
    for part in ["system", "watches", "writes", "services", "crds", "webhooks", "endpoints", "config"] {
        assert!(page.get(part).is_some(), "{part} is missing");
    }
    for write in page["writes"].as_array().unwrap() {
        assert!(write["policy"].is_string() && write["origin"].is_string(), "{write}");
    }
    assert!(dataflow(&["mlflow", "-o", "mermaid"]).starts_with("sequenceDiagram"));
}
