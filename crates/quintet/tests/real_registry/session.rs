//! What a person with kubectl types, and what they see.

use serde_json::{Value, json};

use super::kubectl::Kubectl;

pub(crate) const OLD: &str = "modelregistries.v1alpha1.modelregistry.opendatahub.io";
pub(crate) const NEW: &str = "modelregistries.v1beta1.modelregistry.opendatahub.io";
const DEPRECATED: &str = "Warning: Version v1alpha1 of the ModelRegistry API is deprecated and will be removed in a future \
                          release. Please use v1beta1 instead.";

/// A registry as a manifest.
pub(crate) fn registry(version: &str, name: &str, more: Value) -> String {
    let mut spec = json!({"rest": {}, "grpc": {}, "mysql": {"host": "db", "database": "d", "username": "u"}});
    more.as_object().unwrap().iter().for_each(|(name, value)| spec[name] = value.clone());
    let version = format!("modelregistry.opendatahub.io/{version}");
    json!({"apiVersion": version, "kind": "ModelRegistry", "metadata": {"name": name}, "spec": spec})
        .to_string()
}

pub(crate) fn play(kubectl: &Kubectl) {
    for namespace in ["a", "b"] {
        kubectl.ok(&format!("create namespace {namespace}"), "");
    }
    defaults(kubectl);
    refusals(kubectl);
    istio_of_old(kubectl);
    a_client_of_the_old_version_takes_nothing_away(kubectl);
    one_object_applied_in_both_versions(kubectl);
    two_tools_apply_on_the_server(kubectl);
    listed_and_deleted(kubectl);
}

fn defaults(kubectl: &Kubectl) {
    let more = json!({"rest": {"image": "quay.io/opendatahub/model-registry:v9"}, "postgres": {"database": "p", "username": "u"}});
    kubectl.ok("apply -n a -f -", &registry("v1beta1", "reg", more));
    let spec = kubectl.json(&format!("get {NEW} reg -n a"))["spec"].clone();
    assert_eq!(spec["rest"], json!({"port": 8080, "serviceRoute": "disabled"}));
    assert_eq!(spec.get("postgres"), None, "a database without a place is none");
    assert_eq!(spec["mysql"]["port"], 3306);
}

fn refusals(kubectl: &Kubectl) {
    let denied = "admission webhook \"vmodelregistry.opendatahub.io\" denied the request: \
                  ModelRegistry.modelregistry.opendatahub.io \"";
    let none = "is invalid: [spec.postgres: Required value: required one of `postgres` or `mysql` database, \
                spec.mysql: Required value: required one of `postgres` or `mysql` database]";
    let nowhere = json!({"mysql": {"host": "", "database": "d", "username": "u"}});
    for version in ["v1beta1", "v1alpha1"] {
        let said = kubectl.refused("create -n a -f -", &registry(version, "none", nowhere.clone()));
        assert!(said.contains(denied) && said.contains(none), "{said}");
        let said = kubectl.refused("create -n b -f -", &registry(version, "reg", json!({})));
        let taken = "metadata.name: Duplicate value: \"registry named reg already exists in namespace a\"";
        assert!(said.contains(denied) && said.contains(taken), "{said}");
    }
    for version in [NEW, OLD] {
        let patch = r#"--type merge -p {"spec":{"mysql":{"host":""}}}"#;
        let said = kubectl.refused(&format!("patch {version} reg -n a {patch}"), "");
        assert!(said.contains(none), "{said}");
    }
    // By the definition's own rules, before a webhook is asked.
    let half = json!({"oauthProxy": {"tlsKeySecret": {"name": "s", "key": "k"}}});
    let said = kubectl.refused("create -n a -f -", &registry("v1alpha1", "half", half));
    assert!(said.contains("tlsCertificateSecret and tlsKeySecret MUST be set together"), "{said}");
    let both = json!({"postgres": {"generateDeployment": true, "host": "h"}});
    let said = kubectl.refused("create -n a -f -", &registry("v1beta1", "both", both));
    assert!(said.contains("host and hostAddress must not be set when generateDeployment is true"), "{said}");
}

fn istio_of_old(kubectl: &Kubectl) {
    // It becomes a proxy, and the operator makes that the new one.
    let istio = json!({"istio": {"gateway": {"rest": {"tls": {}}, "grpc": {"tls": {}}}}});
    let (_, warned) = kubectl.ok("apply -n a -f -", &registry("v1alpha1", "mesh", istio));
    assert!(warned.contains(DEPRECATED), "{warned}");
    let wait = "--for=jsonpath={.spec.kubeRBACProxy.port}=8443 --timeout=60s";
    kubectl.ok(&format!("wait {NEW}/mesh -n a {wait}"), "");
    let new = kubectl.json(&format!("get {NEW} mesh -n a"));
    assert_eq!((new["spec"].get("istio"), new["spec"].get("oauthProxy")), (None, None));
    assert_eq!(new["spec"]["kubeRBACProxy"], proxy());
}

fn proxy() -> Value {
    json!({"port": 8443, "routePort": 443, "serviceRoute": "enabled"})
}

fn a_client_of_the_old_version_takes_nothing_away(kubectl: &Kubectl) {
    let old = kubectl.json(&format!("get {OLD} mesh -n a"));
    assert_eq!(old["apiVersion"], "modelregistry.opendatahub.io/v1alpha1");
    assert_eq!(old["spec"].get("kubeRBACProxy"), None);
    let seen = |port: u16| {
        let new = kubectl.json(&format!("get {NEW} mesh -n a"));
        assert_eq!((&new["spec"]["rest"]["port"], &new["spec"]["kubeRBACProxy"]), (&json!(port), &proxy()));
    };
    let patch = r#"--type merge -p {"spec":{"rest":{"port":8081}}}"#;
    kubectl.ok(&format!("patch {OLD} mesh -n a {patch}"), "");
    seen(8081);
    let patch = r#"--type json -p [{"op":"replace","path":"/spec/rest/port","value":8082}]"#;
    kubectl.ok(&format!("patch {OLD} mesh -n a {patch}"), "");
    seen(8082);
    kubectl.edit(&format!("{OLD} mesh -n a"), "8082", "8083");
    seen(8083);
    kubectl.edit(&format!("{NEW} mesh -n a"), "8083", "8084");
    seen(8084);
    // The whole object, as it is shown in the old version, written back.
    kubectl.ok(&format!("annotate {OLD} mesh -n a team=x"), "");
    let mut whole = kubectl.json(&format!("get {OLD} mesh -n a"));
    whole["spec"]["rest"]["port"] = json!(8085);
    whole["metadata"].as_object_mut().unwrap().remove("resourceVersion");
    kubectl.ok_at_last("replace -f -", &whole.to_string());
    seen(8085);
    // Who follows the old version hears of what the new one did.
    let patch = r#"--type merge -p {"spec":{"rest":{"port":8086}}}"#;
    kubectl.ok(&format!("patch {NEW} mesh -n a {patch}"), "");
    kubectl.ok(&format!("wait {OLD}/mesh -n a --for=jsonpath={{.spec.rest.port}}=8086 --timeout=60s"), "");
    seen(8086);
}

fn one_object_applied_in_both_versions(kubectl: &Kubectl) {
    let port = |version: &str, port: u16| {
        let (said, _) =
            kubectl.ok("apply -n a -f -", &registry(version, "both", json!({"rest": {"port": port}})));
        assert!(said.contains("modelregistry.modelregistry.opendatahub.io/both "), "{said}");
        for version in [OLD, NEW] {
            assert_eq!(kubectl.json(&format!("get {version} both -n a"))["spec"]["rest"]["port"], port);
        }
    };
    for (version, number) in [("v1alpha1", 8081), ("v1alpha1", 8082), ("v1beta1", 8083), ("v1alpha1", 8084)] {
        port(version, number);
    }
    let (said, _) =
        kubectl.ok("apply -n a -f -", &registry("v1alpha1", "both", json!({"rest": {"port": 8084}})));
    assert!(said.ends_with(" unchanged\n"), "{said}");
}

fn two_tools_apply_on_the_server(kubectl: &Kubectl) {
    let apply = |manager: &str, manifest: &str| {
        kubectl.run(&format!("apply --server-side --field-manager {manager} -n a -f -"), manifest)
    };
    let first = registry("v1alpha1", "shared", json!({"rest": {"port": 8081}}));
    assert!(apply("old-tool", &first).status.success());
    let proxied = |more: Value| {
        json!({"apiVersion": "modelregistry.opendatahub.io/v1beta1", "kind": "ModelRegistry",
            "metadata": {"name": "shared"}, "spec": more})
        .to_string()
    };
    assert!(apply("new-tool", &proxied(json!({"rest": {}, "kubeRBACProxy": {}}))).status.success());
    // Each keeps what is its own, in whichever version it says so, and a quarrel is one.
    let again = registry("v1alpha1", "shared", json!({"rest": {"port": 8082}}));
    let done = apply("old-tool", &again);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let new = kubectl.json(&format!("get {NEW} shared -n a"));
    assert_eq!((&new["spec"]["rest"]["port"], &new["spec"]["kubeRBACProxy"]), (&json!(8082), &proxy()));
    let done = apply("new-tool", &proxied(json!({"rest": {"port": 8083}, "kubeRBACProxy": {}})));
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(!done.status.success() && said.contains("conflict with \"old-tool\""), "{said}");
    assert!(said.contains(".spec.rest.port"), "{said}");
}

fn listed_and_deleted(kubectl: &Kubectl) {
    for (resource, version) in [(OLD, "v1alpha1"), (NEW, "v1beta1"), ("mr", "v1beta1")] {
        let listed = kubectl.json(&format!("get {resource} -n a"));
        let items: Vec<_> = listed["items"].as_array().unwrap().iter().collect();
        let names: Vec<_> = items.iter().map(|item| &item["metadata"]["name"]).collect();
        assert_eq!(names, ["both", "mesh", "reg", "shared"]);
        let expected = format!("modelregistry.opendatahub.io/{version}");
        assert!(items.iter().all(|item| item["apiVersion"] == expected.as_str()), "{resource}");
    }
    let (table, _) = kubectl.ok(&format!("get {OLD} -n a -o wide"), "");
    let titles: Vec<_> = table.lines().next().unwrap_or_default().split_whitespace().collect();
    assert_eq!(titles, ["NAME", "AVAILABLE", "ISTIO", "GATEWAY", "OAUTHPROXY", "AGE", "HOSTS", "STATUS"]);
    let (table, _) = kubectl.ok("get mr -n a -o wide", "");
    let titles: Vec<_> = table.lines().next().unwrap_or_default().split_whitespace().collect();
    assert_eq!(titles, ["NAME", "AVAILABLE", "KUBERBACPROXY", "AGE", "HOSTS", "STATUS"]);
    // The finalizer is let go through the webhooks, too.
    kubectl.ok(&format!("delete {OLD} mesh both -n a --timeout=60s"), "");
    kubectl.ok(&format!("delete {NEW} reg shared -n a --timeout=60s"), "");
}
