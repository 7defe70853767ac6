//! A cluster that a release before `v1beta1` left behind: its definition knows `v1alpha1` alone, and registries are stored so.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::kubectl::Kubectl;
use super::process::{LONG, Process};
use super::session::{NEW, OLD, registry};
use super::site::Site;

const DEFINITION: &str = "modelregistries.modelregistry.opendatahub.io";

/// The registries that are stored in the old version, in the namespace `old`.
pub(crate) struct Stored;

/// Makes the definition as it was, and registries.
pub(crate) fn leave_behind(site: &Site) -> Stored {
    let objects: Vec<Value> = serde_json::from_str(&site.printed(&["-o", "json"])).unwrap();
    let is_ours = |object: &&Value| object["metadata"]["name"] == DEFINITION;
    let mut definition = objects.iter().find(is_ours).expect("the definition").clone();
    definition["spec"].as_object_mut().unwrap().remove("conversion");
    let versions = definition["spec"]["versions"].as_array_mut().unwrap();
    versions.retain(|version| version["name"] == "v1alpha1");
    versions[0]["storage"] = json!(true);
    let kubectl = &site.kubectl;
    kubectl.ok("create -f -", &definition.to_string());
    kubectl.ok(&format!("wait --for=condition=Established --timeout=60s crd/{DEFINITION}"), "");
    kubectl.ok("create namespace old", "");
    let mesh = json!({"istio": {"gateway": {"domain": "d.example", "rest": {}, "grpc": {}}}});
    let guarded = json!({"oauthProxy": {"domain": "d.example", "image": "proxy:1"}});
    for (name, more) in [("old-guarded", guarded), ("old-mesh", mesh), ("old-plain", json!({}))] {
        kubectl.ok("create -n old -f -", &registry("v1alpha1", name, more));
    }
    Stored
}

impl Stored {
    /// The new definition is there and nobody converts: which shows in what version they are stored.
    pub(crate) async fn cannot_be_read_yet(&self, kubectl: &Kubectl) {
        let began = Instant::now();
        loop {
            let done = kubectl.run(&format!("get {NEW} old-plain -n old"), "");
            let said = String::from_utf8_lossy(&done.stderr);
            if said.contains("conversion webhook for modelregistry.opendatahub.io/v1alpha1") {
                return;
            }
            // The API server hears of a new definition a moment later.
            assert!(began.elapsed() < LONG, "it can be read: {said}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Each is read in the new version, and reconciled.
    pub(crate) fn are_served(&self, kubectl: &Kubectl) {
        let proxy = json!({"port": 8443, "routePort": 443, "serviceRoute": "enabled", "domain": "d.example"});
        for (name, proxy) in [("old-guarded", proxy.clone()), ("old-mesh", proxy), ("old-plain", Value::Null)]
        {
            let wait = "--for=jsonpath={.status.hosts[0]} --timeout=60s";
            kubectl.ok(&format!("wait {NEW}/{name} -n old {wait}"), "");
            let registry = kubectl.json(&format!("get {NEW} {name} -n old"));
            let spec = &registry["spec"];
            assert_eq!(registry["apiVersion"], "modelregistry.opendatahub.io/v1beta1");
            assert_eq!((spec.get("istio"), spec.get("oauthProxy")), (None, None), "{name}");
            assert_eq!(spec["kubeRBACProxy"], proxy, "{name}");
            kubectl.ok(&format!("get deployment/{name} service/{name} serviceaccount/{name} -n old"), "");
        }
    }

    /// Half a minute after the start none is stored in the old version, and the definition says so.
    pub(crate) async fn are_migrated(&self, kubectl: &Kubectl, process: &mut Process) {
        let stored = async |_: &Process| {
            let definition = kubectl.json(&format!("get crd {DEFINITION}"));
            (definition["status"]["storedVersions"] == json!(["v1beta1"])).then_some(())
        };
        process.until("they are migrated", stored).await;
    }

    /// Nobody converts any more, and nobody needs to.
    pub(crate) fn need_no_conversion_any_more(&self, kubectl: &Kubectl) {
        for name in ["old-guarded", "old-mesh", "old-plain"] {
            kubectl.ok(&format!("get {NEW} {name} -n old"), "");
        }
        let said = kubectl.refused(&format!("get {OLD} old-plain -n old"), "");
        assert!(said.contains("conversion webhook for modelregistry.opendatahub.io/v1beta1"), "{said}");
    }
}
