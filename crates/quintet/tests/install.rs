//! `quintet install`: what it prints is what the originals' manifests name, can be applied, and can be taken away again.

mod support;

use serde_json::Value;
use std::collections::BTreeSet;
use support::{Up, quintet};

fn install(flags: &[&str]) -> Vec<Value> {
    let folder = tempfile::tempdir().unwrap();
    let done = quintet(folder.path()).arg("install").args(flags).args(["-o", "json"]).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    serde_json::from_slice(&done.stdout).unwrap()
}

/// `Kind namespace/name` of each.
fn names(objects: &[Value]) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let name = |o: &Value| {
        let (kind, meta) = (text(&o["kind"]), &o["metadata"]);
        format!("{kind} {}/{}", text(&meta["namespace"]), text(&meta["name"]))
    };
    objects.iter().map(name).collect()
}

fn find<'a>(objects: &'a [Value], kind: &str, name: &str) -> &'a Value {
    objects.iter().find(|o| o["kind"] == kind && o["metadata"]["name"] == name).expect(name)
}

#[test]
fn split_brings_each_object_of_the_originals_install() {
    let objects = install(&["--shape", "split", "--operators", "mlflow", "--platform", "openshift"]);
    let printed: BTreeSet<_> = names(&objects).into_iter().collect();
    let own = |kind: &str, name: &str| format!("{kind} opendatahub/mlflow-operator-{name}");
    let everywhere = |kind: &str, name: &str| format!("{kind} /mlflow-operator-{name}");
    let expected = [
        "CustomResourceDefinition /mlflows.mlflow.opendatahub.io".to_owned(),
        "CustomResourceDefinition /mlflowconfigs.mlflow.kubeflow.org".to_owned(),
        own("ServiceAccount", "controller-manager"),
        own("Deployment", "controller-manager"),
        own("Service", "controller-manager-metrics-service"),
        "ServiceMonitor opendatahub/controller-manager-metrics-monitor".to_owned(),
        own("Role", "leader-election-role"),
        own("RoleBinding", "leader-election-rolebinding"),
        own("Role", "manager-role"),
        own("RoleBinding", "manager-rolebinding"),
        everywhere("ClusterRole", "manager-role"),
        everywhere("ClusterRoleBinding", "manager-rolebinding"),
        everywhere("ClusterRole", "metrics-auth-role"),
        everywhere("ClusterRoleBinding", "metrics-auth-rolebinding"),
        everywhere("ClusterRole", "metrics-reader"),
        everywhere("ClusterRole", "mlflow-view"),
        everywhere("ClusterRole", "mlflow-edit"),
        everywhere("ClusterRole", "mlflow-integration"),
    ];
    for name in expected {
        assert!(printed.contains(&name), "{name} is missing from {printed:#?}");
    }
    assert!(printed.iter().any(|n| n.starts_with(&own("ConfigMap", "operator-params-"))), "{printed:#?}");
    assert_eq!(printed.len(), objects.len(), "nothing is printed twice");
}

#[test]
fn a_split_manager_keeps_the_originals_selector_flags_and_probes() {
    let objects =
        install(&["--shape", "split", "--platform", "openshift", "--image", "registry.test/quintet:1"]);
    let manager = find(&objects, "Deployment", "mlflow-operator-controller-manager");
    insta::assert_yaml_snapshot!(manager);
    let service = find(&objects, "Service", "mlflow-operator-controller-manager-metrics-service");
    assert_eq!(service["spec"]["selector"], manager["spec"]["selector"]["matchLabels"]);
}

#[test]
fn fused_runs_every_system_in_one_deployment_behind_the_originals_services() {
    let objects = install(&["--namespace", "platform"]);
    let deployments: Vec<_> = objects.iter().filter(|o| o["kind"] == "Deployment").collect();
    assert_eq!(deployments.len(), 1);
    insta::assert_yaml_snapshot!(deployments[0]);
    let service = find(&objects, "Service", "mlflow-operator-controller-manager-metrics-service");
    assert_eq!(service["spec"]["selector"], deployments[0]["spec"]["selector"]["matchLabels"]);
    assert_eq!(service["metadata"]["namespace"], "platform");
}

#[test]
fn no_role_for_a_manager_holds_a_wildcard_or_the_power_to_grant_itself_more() {
    for shape in ["fused", "split"] {
        for role in install(&["--shape", shape, "--rbac"]) {
            let verbs =
                role["rules"].as_array().into_iter().flatten().flat_map(|r| r["verbs"].as_array().unwrap());
            for verb in verbs {
                assert!(
                    !["*", "escalate", "bind", "impersonate"].contains(&verb.as_str().unwrap()),
                    "{role}"
                );
            }
        }
    }
}

#[test]
fn what_is_installed_is_accepted_and_deleting_it_leaves_nothing() {
    for shape in ["fused", "split"] {
        let flags = ["--shape", shape, "--platform", "openshift", "--namespace", "platform"];
        let up = Up::start(&["--operators", "none", "--platform", "openshift"]);
        let file = up.folder.path().join("install.yaml");
        let print = |more: &[&str]| {
            let text = up.prints(&[&["install"][..], &flags, more].concat());
            std::fs::write(&file, text).unwrap();
        };
        print(&[]);
        up.prints(&["apply", "-f", "install.yaml"]);
        for object in install(&flags) {
            let (kind, name) =
                (object["kind"].as_str().unwrap(), object["metadata"]["name"].as_str().unwrap());
            up.prints(&["get", kind, name, "-n", "platform", "-o", "json"]);
        }
        print(&["--delete"]);
        up.prints(&["delete", "--in-order", "-f", "install.yaml"]);
        for object in install(&flags) {
            let (kind, name) =
                (object["kind"].as_str().unwrap(), object["metadata"]["name"].as_str().unwrap());
            up.refuses(4, &["get", kind, name, "-n", "platform", "-o", "json"]);
        }
    }
}
