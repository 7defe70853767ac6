//! The model registry's webhooks as an API server calls them: installed from our own output, served by a process with
//! just the rights of that output, over TLS with certificates of its own.

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use kube::core::ApiResource;
use kube::{Api, ResourceExt};
use quintet_api::model_registry::{ModelRegistry, v1alpha1};
use quintet_harness::free_port;
use quintet_kit::Kind;
use serde_json::{Value, json};

use super::cluster::Cluster;
use super::process::{Process, get};

pub(crate) const LEASE: &str = "85f368d1.opendatahub.io";
const GROUP: &str = "modelregistry.opendatahub.io";

/// The operator stands by, as an original holds the lease: what changes an object here is a webhook.
async fn standing_by() -> (Cluster, Process) {
    let cluster = Cluster::bare().await;
    cluster.namespace("a").await;
    cluster.namespace("b").await;
    let address = format!("127.0.0.1:{}", free_port());
    let url = format!("https://{address}");
    cluster.install(&["--operators", "model-registry", "--webhook-url", &url], &[]);
    cluster.hold(LEASE, "model-registry-operator-controller-manager-abc_1234").await;
    let flags = ["--log-format", "json", "--webhook-listen", &address, "--webhook-host", "127.0.0.1"];
    let mut process = Process::run_as(&cluster.kubeconfig_with("fused"), "model-registry", &flags, &[]);
    known(&mut process).await;
    (cluster, process)
}

/// Waits until the operator knows which registries there are.
pub(crate) async fn known(process: &mut Process) {
    let health = process.address("serving health", None).await;
    let ready = process.until("it knows the registries", async |_| {
        let (code, said) = get(&format!("http://{health}/readyz/model-registry")).await;
        (code == 200).then_some(said)
    });
    ready.await;
}

/// The registries of a namespace in one of the versions.
pub(crate) fn registries(cluster: &Cluster, namespace: &str, resource: ApiResource) -> Registries {
    let version = resource.api_version.clone();
    Registries { api: Api::namespaced_with(cluster.client.clone(), namespace, &resource), version }
}

pub(crate) struct Registries {
    api: Api<DynamicObject>,
    version: String,
}

impl Registries {
    /// Makes one; the API server's words if it is refused.
    pub(crate) async fn create(&self, name: &str, spec: Value) -> Result<Value, String> {
        let object = json!({"apiVersion": self.version, "kind": "ModelRegistry", "metadata": {"name": name},
            "spec": spec});
        told(self.api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await)
    }

    pub(crate) async fn get(&self, name: &str) -> Value {
        serde_json::to_value(self.api.get(name).await.unwrap()).unwrap()
    }

    async fn patch(&self, name: &str, patch: Value) -> Result<Value, String> {
        told(self.api.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await)
    }
}

fn told(answer: kube::Result<DynamicObject>) -> Result<Value, String> {
    match answer {
        Ok(object) => Ok(serde_json::to_value(object).unwrap()),
        Err(kube::Error::Api(status)) => Err(status.message.clone()),
        Err(other) => panic!("{other}"),
    }
}

pub(crate) fn mysql() -> Value {
    json!({"rest": {}, "grpc": {}, "mysql": {"host": "db", "database": "d", "username": "u"}})
}

fn with(more: Value) -> Value {
    let mut spec = mysql();
    more.as_object().unwrap().iter().for_each(|(name, value)| spec[name] = value.clone());
    spec
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_are_defaulted_before_they_are_stored() {
    let (cluster, _process) = standing_by().await;
    let new = registries(&cluster, "a", ModelRegistry::api_resource());
    let resources = json!({"requests": {"cpu": "1"}});
    let spec = with(json!({
        "rest": {"image": "quay.io/opendatahub/model-registry:v9", "resources": resources, "serviceRoute": ""},
        "postgres": {"database": "p", "username": "u"},
        "oauthProxy": {"domain": "d.example", "image": "x"},
    }));
    let stored = new.create("reg", spec).await.unwrap();
    let spec = &stored["spec"];
    assert_eq!(spec["rest"], json!({"port": 8080, "serviceRoute": "disabled", "resources": resources}));
    assert_eq!((spec.get("postgres"), spec.get("oauthProxy")), (None, None));
    let proxy = json!({"domain": "d.example", "port": 8443, "routePort": 443, "serviceRoute": "enabled"});
    assert_eq!(spec["kubeRBACProxy"], proxy);
    // The old version has its own rules, and no new proxy.
    let old = registries(&cluster, "a", v1alpha1::ModelRegistry::api_resource());
    let stored =
        old.create("old", with(json!({"postgres": {"database": "p"}, "oauthProxy": {}}))).await.unwrap();
    assert_eq!(stored["spec"].get("postgres"), None);
    assert_eq!(stored["spec"]["oauthProxy"]["serviceRoute"], "enabled");
}

const DENIED: &str = "admission webhook \"vmodelregistry.opendatahub.io\" denied the request: \
                      ModelRegistry.modelregistry.opendatahub.io \"reg\" is invalid: ";

/// What is said of a registry without a database.
fn no_database() -> String {
    format!(
        "{DENIED}[spec.postgres: Required value: required one of `postgres` or `mysql` database, \
         spec.mysql: Required value: required one of `postgres` or `mysql` database]"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn scenario_21_duplicate_name() {
    let (cluster, mut process) = standing_by().await;
    registries(&cluster, "a", ModelRegistry::api_resource()).create("reg", mysql()).await.unwrap();
    let taken = "metadata.name: Duplicate value: \"registry named reg already exists in namespace a\"";
    // The cache hears of the first a moment later; both versions and the same namespace are judged alike.
    for (namespace, resource) in [
        ("b", ModelRegistry::api_resource()),
        ("b", v1alpha1::ModelRegistry::api_resource()),
        ("a", ModelRegistry::api_resource()),
    ] {
        let again = registries(&cluster, namespace, resource);
        let said = process.until("the name is known to be taken", async |_| {
            let said = again.create("reg", mysql()).await.unwrap_err();
            (!said.contains("not known yet")).then_some(said)
        });
        assert_eq!(said.await, format!("{DENIED}{taken}"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn scenario_22_no_database() {
    let (cluster, _process) = standing_by().await;
    let new = registries(&cluster, "a", ModelRegistry::api_resource());
    let old = registries(&cluster, "b", v1alpha1::ModelRegistry::api_resource());
    let nowhere = with(json!({"mysql": {"host": "", "database": "d", "username": "u"}}));
    assert_eq!(new.create("reg", nowhere.clone()).await.unwrap_err(), no_database());
    assert_eq!(old.create("reg", nowhere).await.unwrap_err(), no_database(), "in the old version, too");
    new.create("reg", mysql()).await.unwrap();
    assert_eq!(new.patch("reg", json!({"spec": {"mysql": {"host": ""}}})).await.unwrap_err(), no_database());
    let stored = new.get("reg").await;
    assert_eq!(stored["spec"]["mysql"]["host"], "db", "and nothing is lost");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_original_reads_as_empty_is_judged_as_such() {
    let (cluster, _process) = standing_by().await;
    let new = registries(&cluster, "a", ModelRegistry::api_resource());
    let old = registries(&cluster, "a", v1alpha1::ModelRegistry::api_resource());
    for spec in [json!(null), json!({}), json!({"mysql": {}}), json!({"rest": {}, "postgres": {}})] {
        assert_eq!(new.create("reg", spec.clone()).await.unwrap_err(), no_database(), "{spec}");
        assert_eq!(old.create("reg", spec.clone()).await.unwrap_err(), no_database(), "{spec}");
    }
    // What the definition requires and nobody said is filled in before the definition is asked.
    let server = json!({"port": 8080, "serviceRoute": "disabled"});
    let database = json!({"host": "db", "database": "d", "username": "u"});
    let made = new.create("new", json!({"mysql": database})).await.unwrap();
    assert_eq!(made["spec"]["rest"], server);
    let made = old.create("old", json!({"mysql": database})).await.unwrap();
    assert_eq!((&made["spec"]["rest"], &made["spec"]["grpc"]["port"]), (&server, &json!(9090)));
    let made = new.create("ssl", json!({"postgres": {"host": "db", "sslMode": ""}})).await.unwrap();
    assert_eq!(made["spec"]["postgres"]["sslMode"], "disable");
}

#[tokio::test(flavor = "multi_thread")]
async fn scenario_24_auto_db_plus_host() {
    let (cluster, _process) = standing_by().await;
    let new = registries(&cluster, "a", ModelRegistry::api_resource());
    let both = json!({"rest": {}, "postgres": {"generateDeployment": true, "host": "h"}});
    let said = new.create("reg", both).await.unwrap_err();
    assert!(said.contains("host and hostAddress must not be set when generateDeployment is true"), "{said}");
    let by_address = json!({"rest": {}, "postgres": {"generateDeployment": true, "hostAddress": "1.2.3.4"}});
    assert!(new.create("reg", by_address).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn scenario_26_image_clean_up() {
    let (cluster, _process) = standing_by().await;
    let new = registries(&cluster, "a", ModelRegistry::api_resource());
    let old = registries(&cluster, "a", v1alpha1::ModelRegistry::api_resource());
    let resources = json!({"requests": {"cpu": "1"}, "limits": {"memory": "1Gi"}});
    let rest = |image: &str| with(json!({"rest": {"image": image, "resources": resources}}));
    let default = "quay.io/opendatahub/model-registry";
    let stored = async |api: &Registries, name: &str, image: &str| {
        api.create(name, rest(image)).await.unwrap();
        let rest = new.get(name).await["spec"]["rest"].clone();
        assert_eq!(rest["resources"], resources, "the original drops them with the image");
        rest.get("image").cloned()
    };
    assert_eq!(stored(&new, "tagged", &format!("{default}:v9")).await, None);
    assert_eq!(stored(&old, "old", &format!("{default}:v9")).await, None);
    assert_eq!(
        stored(&new, "other", "quay.io/mine/model-registry:v9").await,
        Some("quay.io/mine/model-registry:v9".into())
    );
    let digest = format!("{default}@sha256:{}", "0".repeat(64));
    assert_eq!(stored(&new, "pinned", &digest).await, Some(digest.as_str().into()));
    // Once the operator has found what it adds, an image that is set is meant.
    let status = json!({"status": {"specDefaults": "{\"rest\":{}}"}});
    let api =
        Api::<DynamicObject>::namespaced_with(cluster.client.clone(), "a", &ModelRegistry::api_resource());
    api.patch_status("tagged", &PatchParams::default(), &Patch::Merge(status)).await.unwrap();
    let pinned = json!({"spec": {"rest": {"image": format!("{default}:v9")}}});
    let kept = new.patch("tagged", pinned).await.unwrap();
    assert_eq!(kept["spec"]["rest"]["image"], format!("{default}:v9"));
}

#[tokio::test(flavor = "multi_thread")]
async fn scenario_25_v1alpha1_with_istio() {
    let (cluster, _process) = standing_by().await;
    let old = registries(&cluster, "a", v1alpha1::ModelRegistry::api_resource());
    let new = registries(&cluster, "a", ModelRegistry::api_resource());
    let istio = json!({"gateway": {"rest": {"tls": {}}, "grpc": {"tls": {}}}});
    old.create("reg", with(json!({"istio": istio}))).await.unwrap();
    let proxy = json!({"port": 8443, "serviceRoute": "enabled", "routePort": 443});
    let read = new.get("reg").await;
    assert_eq!(read["apiVersion"], format!("{GROUP}/v1beta1"));
    assert_eq!((&read["spec"]["oauthProxy"], read["spec"].get("istio")), (&proxy, None));
    assert_eq!(old.get("reg").await["spec"]["oauthProxy"], proxy);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_only_the_new_version_can_say_outlives_a_write_by_a_client_of_the_old_one() {
    let (cluster, _process) = standing_by().await;
    let old = registries(&cluster, "a", v1alpha1::ModelRegistry::api_resource());
    let new = registries(&cluster, "a", ModelRegistry::api_resource());
    let spec = json!({"rest": {}, "postgres": {"generateDeployment": true}, "kubeRBACProxy": {"domain": "d.example"}});
    let made = new.create("kept", spec).await.unwrap();
    let mut seen = old.get("kept").await;
    assert_eq!(seen["spec"].get("kubeRBACProxy"), None);
    seen["spec"]["rest"]["port"] = json!(8081);
    let object: DynamicObject = serde_json::from_value(seen).unwrap();
    old.api.replace("kept", &PostParams::default(), &object).await.unwrap();
    let read = new.get("kept").await;
    assert_eq!(read["spec"]["kubeRBACProxy"], made["spec"]["kubeRBACProxy"]);
    assert_eq!(read["spec"]["postgres"]["generateDeployment"], true);
    assert_eq!(read["spec"]["rest"]["port"], 8081);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_api_server_is_told_whom_to_trust_and_the_key_is_kept_in_a_secret() {
    let (cluster, process) = standing_by().await;
    let secrets: Api<Secret> = Api::namespaced(cluster.client.clone(), "opendatahub");
    let secret = secrets.get("quintet-webhook-certificates").await.unwrap();
    let bundle = json!(ByteString(secret.data.unwrap()["ca.crt"].0.clone()));
    let kind = |group: &str, kind: &str| {
        let gvk = kube::core::GroupVersionKind::gvk(group, "v1", kind);
        Api::<DynamicObject>::all_with(cluster.client.clone(), &ApiResource::from_gvk(&gvk))
    };
    let hooks = "admissionregistration.k8s.io";
    for (api, name, pointer) in [
        (
            kind(hooks, "MutatingWebhookConfiguration"),
            "model-registry-operator-mutating-webhook-configuration",
            "/webhooks/0/clientConfig/caBundle",
        ),
        (
            kind(hooks, "ValidatingWebhookConfiguration"),
            "model-registry-operator-validating-webhook-configuration",
            "/webhooks/0/clientConfig/caBundle",
        ),
        (
            kind("apiextensions.k8s.io", "CustomResourceDefinition"),
            "modelregistries.modelregistry.opendatahub.io",
            "/spec/conversion/webhook/clientConfig/caBundle",
        ),
    ] {
        let object = api.get(name).await.unwrap();
        assert_eq!(object.data.pointer(pointer), Some(&bundle), "{}", object.name_any());
    }
    let log = process.log().join("\n");
    assert!(!log.contains("PRIVATE KEY"), "{log}");
    // Applied again, as for an upgrade, nothing of ours is taken away.
    let port = "https://127.0.0.1:1";
    cluster.install(&["--operators", "model-registry", "--webhook-url", port], &[]);
    let api = kind("apiextensions.k8s.io", "CustomResourceDefinition");
    let object = api.get("modelregistries.modelregistry.opendatahub.io").await.unwrap();
    assert_eq!(object.data.pointer("/spec/conversion/webhook/clientConfig/caBundle"), Some(&bundle));
}
