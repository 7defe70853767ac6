//! `quintet install`: what it prints is what the originals' manifests name, can be applied, and can be taken away again.

mod support;

use quintet_kit::config::Variable;
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
fn split_brings_each_object_of_the_registrys_install() {
    let objects = install(&["--shape", "split", "--operators", "model-registry", "--platform", "openshift"]);
    let printed: BTreeSet<_> = names(&objects).into_iter().collect();
    let own = |kind: &str, name: &str| format!("{kind} opendatahub/model-registry-operator-{name}");
    let everywhere = |kind: &str, name: &str| format!("{kind} /model-registry-operator-{name}");
    let expected = [
        "CustomResourceDefinition /modelregistries.modelregistry.opendatahub.io".to_owned(),
        own("ServiceAccount", "controller-manager"),
        own("Role", "leader-election-role"),
        own("RoleBinding", "leader-election-rolebinding"),
        everywhere("ClusterRole", "manager-role"),
        everywhere("ClusterRoleBinding", "manager-rolebinding"),
        everywhere("ClusterRole", "proxy-role"),
        everywhere("ClusterRoleBinding", "proxy-rolebinding"),
        everywhere("ClusterRole", "metrics-reader"),
        own("ConfigMap", "parameters"),
        own("Service", "controller-manager-metrics-service"),
        own("Service", "webhook-service"),
        own("Deployment", "controller-manager"),
        everywhere("MutatingWebhookConfiguration", "mutating-webhook-configuration"),
        everywhere("ValidatingWebhookConfiguration", "validating-webhook-configuration"),
        "Template opendatahub/jobs-async-upload-s3-to-oci-template".to_owned(),
        "ClusterRole /modelregistry-editor-role".to_owned(),
        "ClusterRole /modelregistry-viewer-role".to_owned(),
    ];
    for name in expected {
        assert!(printed.contains(&name), "{name} is missing from {printed:#?}");
    }
    assert_eq!(printed.len(), objects.len(), "nothing is printed twice");
    assert!(!printed.iter().any(|name| name.contains("webhook-certificates")), "the platform makes them");

    // Certificates are the service CA's: for the Services that ask, and into whatever is annotated.
    let serving = "service.beta.openshift.io/serving-cert-secret-name";
    for service in ["webhook-service", "controller-manager-metrics-service"] {
        let name = format!("model-registry-operator-{service}");
        assert_eq!(find(&objects, "Service", &name)["metadata"]["annotations"][serving], name);
    }
    for (kind, name) in [
        ("CustomResourceDefinition", "modelregistries.modelregistry.opendatahub.io"),
        ("MutatingWebhookConfiguration", "model-registry-operator-mutating-webhook-configuration"),
        ("ValidatingWebhookConfiguration", "model-registry-operator-validating-webhook-configuration"),
    ] {
        let annotations = &find(&objects, kind, name)["metadata"]["annotations"];
        assert_eq!(annotations["service.beta.openshift.io/inject-cabundle"], "true", "{name}");
    }
    insta::assert_yaml_snapshot!(
        "registry_manager",
        find(&objects, "Deployment", "model-registry-operator-controller-manager")
    );
    insta::assert_yaml_snapshot!(
        "registry_webhooks",
        objects
            .iter()
            .filter(|o| o["kind"].as_str().unwrap().ends_with("WebhookConfiguration"))
            .collect::<Vec<_>>()
    );
    let definition =
        find(&objects, "CustomResourceDefinition", "modelregistries.modelregistry.opendatahub.io");
    let service = serde_json::json!({"name": "model-registry-operator-webhook-service", "namespace": "opendatahub",
        "path": "/convert"});
    assert_eq!(
        definition["spec"]["conversion"],
        serde_json::json!({"strategy": "Webhook", "webhook": {"clientConfig": {"service": service},
            "conversionReviewVersions": ["v1beta1", "v1alpha1"]}})
    );
}

#[test]
fn every_setting_that_a_user_can_make_reaches_the_managers() {
    let telling = |name: &str| match name {
        "ENABLE_WEBHOOKS" | "ENABLE_MODEL_CATALOG" => "false".to_owned(),
        "SKIP_MODEL_CATALOG_DB_CREATION" => "true".to_owned(),
        "QUINTET_DIFFERENCES" => "mlflow-events=off,registry-events=off".to_owned(),
        name => format!("my-{}", name.to_lowercase().replace('_', "-")),
    };
    let systems: [(&str, &[Variable]); 2] = [
        ("mlflow", &quintet_mlflow::config::VARIABLES),
        ("model-registry", &quintet_model_registry::config::VARIABLES),
    ];
    let folder = tempfile::tempdir().unwrap();
    for shape in ["fused", "split"] {
        let mut command = quintet(folder.path());
        command.args(["install", "--shape", shape, "-o", "json"]);
        let all = systems.iter().flat_map(|(_, variables)| variables.iter());
        command.envs(all.map(|variable| (variable.name, telling(variable.name))));
        let done = command.output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let objects: Vec<Value> = serde_json::from_slice(&done.stdout).unwrap();
        for (system, variables) in systems {
            let (manager, called): (_, fn(&str, &str) -> String) = match shape {
                "fused" => ("quintet".to_owned(), quintet::systems::variable),
                _ => (format!("{system}-operator-controller-manager"), |_, name| name.to_owned()),
            };
            let env =
                &find(&objects, "Deployment", &manager)["spec"]["template"]["spec"]["containers"][0]["env"];
            for variable in variables {
                let name = called(system, variable.name);
                let set = env.as_array().unwrap().iter().find(|set| set["name"] == *name);
                let set = set.unwrap_or_else(|| panic!("{shape}: {name} is missing from {env:#}"));
                // Each is told its own switches.
                let own = telling(variable.name).split(',').map(str::to_owned).collect::<Vec<_>>();
                let own = if own.len() == 1 { &own[0] } else { &own[usize::from(system != "mlflow")] };
                assert_eq!(set["value"], *own, "{shape}: {name}");
            }
        }
    }
}

#[test]
fn where_no_platform_makes_certificates_the_manager_may_keep_its_own_and_no_more() {
    for (shape, role, secret) in [
        ("fused", "quintet-webhook-certificates", "quintet-webhook-certificates"),
        (
            "split",
            "model-registry-operator-webhook-certificates-role",
            "model-registry-operator-webhook-certificates",
        ),
    ] {
        let objects = install(&["--shape", shape]);
        let rules = |kind: &str| find(&objects, kind, role)["rules"].clone();
        assert_eq!(
            rules("Role"),
            serde_json::json!([
                {"apiGroups": [""], "resources": ["secrets"], "verbs": ["create"]},
                {"apiGroups": [""], "resources": ["secrets"], "resourceNames": [secret], "verbs": ["get", "update"]},
            ])
        );
        for rule in rules("ClusterRole").as_array().unwrap() {
            assert_eq!(rule["verbs"], serde_json::json!(["get", "patch"]));
            assert_eq!(rule["resourceNames"].as_array().unwrap().len(), 1, "by name: {rule}");
        }
        assert!(
            find(&objects, "Service", "model-registry-operator-webhook-service")["metadata"]
                .get("annotations")
                .is_none()
        );
        // What it made goes when all goes.
        let deleted = names(&install(&["--shape", shape, "--delete"]));
        assert!(deleted.contains(&format!("Secret opendatahub/{secret}")), "{deleted:#?}");
    }
}

#[test]
fn without_a_service_network_webhooks_are_called_by_a_url() {
    let flags = ["--operators", "model-registry", "--webhook-url", "https://10.0.0.5:9443/"];
    for (shape, platform) in [("fused", "kubernetes"), ("split", "openshift")] {
        let objects = install(&[&flags[..], &["--shape", shape, "--platform", platform]].concat());
        assert!(!names(&objects).iter().any(|name| name.ends_with("webhook-service")), "no Service");
        let hook = find(
            &objects,
            "MutatingWebhookConfiguration",
            "model-registry-operator-mutating-webhook-configuration",
        );
        let url = "https://10.0.0.5:9443/mutate-modelregistry-opendatahub-io-modelregistry";
        assert_eq!(hook["webhooks"][0]["clientConfig"], serde_json::json!({"url": url}));
        assert!(hook["metadata"].get("annotations").is_none(), "no service CA vouches for a URL");
        let definition =
            find(&objects, "CustomResourceDefinition", "modelregistries.modelregistry.opendatahub.io");
        let client = &definition["spec"]["conversion"]["webhook"]["clientConfig"];
        assert_eq!(client, &serde_json::json!({"url": "https://10.0.0.5:9443/convert"}));
        let deployment = objects.iter().find(|o| o["kind"] == "Deployment").unwrap().to_string();
        assert!(deployment.contains("10.0.0.5"), "its certificate is good for that host: {deployment}");
    }
    let folder = tempfile::tempdir().unwrap();
    for wrong in ["http://10.0.0.5", "10.0.0.5:9443", "https://x/path", "https://"] {
        let done = quintet(folder.path()).args(["install", "--webhook-url", wrong]).output().unwrap();
        assert_eq!(done.status.code(), Some(2), "{wrong}");
    }
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

/// The model catalog's binding is outside of every namespace, and no object there could own it. What an MLflow owns comes
/// back if its operator notices the loss before it hears that the MLflow is gone.
#[test]
fn what_a_manager_made_and_nothing_owns_is_deleted_once_the_manager_cannot_make_it_again() {
    let printed = names(&install(&["--delete"]));
    let at = |name: &str| printed.iter().position(|printed| printed == name).expect(name);
    let left = at("ClusterRoleBinding /model-catalog-auth-delegator");
    assert!(at("ClusterRoleBinding /quintet-model-registry") < left && left < at("Namespace /opendatahub"));
    assert!(at("ClusterRoleBinding /quintet-mlflow") < at("ClusterRole /mlflow-gc"));
    let other = names(&install(&["--delete", "--operators", "mlflow"]));
    assert!(!other.iter().any(|name| name.contains("model-catalog")));
    let link = "ConsoleLink /mlflow".to_owned();
    assert!(!other.contains(&link), "a kind that such a cluster does not serve");
    assert!(names(&install(&["--delete", "--platform", "openshift"])).contains(&link));
    assert!(!names(&install(&[])).iter().any(|name| name.contains("model-catalog")));
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
        up.prints(&["delete", "--in-order", "--ignore-not-found", "-f", "install.yaml"]);
        for object in install(&flags) {
            let (kind, name) =
                (object["kind"].as_str().unwrap(), object["metadata"]["name"].as_str().unwrap());
            up.refuses(4, &["get", kind, name, "-n", "platform", "-o", "json"]);
        }
    }
}

#[test]
fn a_webhook_url_that_leads_nowhere_is_refused_with_what_to_give() {
    let folder = tempfile::tempdir().unwrap();
    for url in
        ["http://h", "https://", "https://h:99999", "https://h:", "https://u@h", "https://h/path", "h:9443"]
    {
        let told = quintet(folder.path()).args(["install", "--webhook-url", url]).output().unwrap();
        assert_eq!(told.status.code(), Some(2), "{url}");
        let said = String::from_utf8(told.stderr).unwrap();
        assert!(said.contains("give https://HOST or https://HOST:PORT, without a path"), "{url}: {said}");
    }
}

/// Nobody reads what went wrong: the exit code still tells it.
#[test]
fn an_error_that_nobody_reads_is_no_panic() {
    let folder = tempfile::tempdir().unwrap();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let status = quintet(folder.path()).args(["install", "--operators", "none-such"]).stderr(writer).status();
    assert_eq!(status.unwrap().code(), Some(2));
}
