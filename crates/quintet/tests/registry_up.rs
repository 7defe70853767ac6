//! `quintet up` with a model registry: the whole program, without a cluster.

mod support;

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::wait::await_condition;
use kube::{Api, Client, Config};
use quintet_api::model_registry::{ModelRegistry, v1alpha1};
use quintet_kit::Kind;
use serde_json::json;
use support::{Up, quintet};

const EXAMPLE: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/model-registry/postgres-auto.yaml");

#[test]
fn a_registry_with_its_own_database_is_followed_until_it_is_ready() {
    let folder = tempfile::tempdir().unwrap();
    let mut up =
        quintet(folder.path()).args(["up", "--apply", EXAMPLE]).stdout(Stdio::piped()).spawn().unwrap();
    // Read from until the end: it goes on to tell that all is ready.
    let mut lines = BufReader::new(up.stdout.take().unwrap()).lines().map_while(Result::ok);
    let told: Vec<String> = lines
        .by_ref()
        .skip_while(|line| !line.ends_with("created"))
        .take_while(|line| !line.ends_with("  Available"))
        .collect();
    let is_running = up.try_wait().unwrap().is_none();
    let shown = |arguments: &[&str]| {
        let done = quintet(folder.path()).args(arguments).output().unwrap();
        String::from_utf8(done.stdout).unwrap()
    };
    let tree = shown(&["tree", "modelregistry", "registry", "-n", "opendatahub"]);
    let catalog = shown(&["get", "deployments", "-n", "opendatahub"]);
    up.kill().unwrap();
    up.wait().unwrap();
    assert!(is_running, "it goes on after {told:?}");
    assert_eq!(told[0], "modelregistry.modelregistry.opendatahub.io/registry created");
    assert!(tree.starts_with("ModelRegistry opendatahub/registry  Available"), "{tree}");
    for child in
        ["Deployment opendatahub/registry  1/1 ready", "Deployment opendatahub/registry-postgres  1/1 ready"]
    {
        assert!(tree.contains(child), "{tree}");
    }
    assert!(catalog.contains("model-catalog-postgres"), "the catalog is beside it: {catalog}");
}

#[tokio::test(flavor = "multi_thread")]
async fn its_webhooks_are_called_inside_the_process_and_rest_with_the_operator() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let up = Up::start(&["--operators", "model-registry"]);
    let nowhere = r#"{"apiVersion": "modelregistry.opendatahub.io/v1beta1", "kind": "ModelRegistry",
        "metadata": {"name": "none"}, "spec": {"rest": {}, "mysql": {"host": "", "database": "d", "username": "u"}}}"#;
    std::fs::write(up.folder.path().join("none.json"), nowhere).unwrap();
    let said = up.refuses(1, &["apply", "-f", "none.json"]);
    assert!(
        said.contains("denied the request") && said.contains("required one of `postgres` or `mysql`"),
        "{said}"
    );

    let kubeconfig = Kubeconfig::read_from(up.folder.path().join(".quintet/kubeconfig")).unwrap();
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    config.default_retry = false;
    let client = Client::try_from(config).unwrap();
    let resource = v1alpha1::ModelRegistry::api_resource();
    let old: Api<DynamicObject> = Api::namespaced_with(client.clone(), "default", &resource);
    let mesh = |name: &str| -> DynamicObject {
        let spec = json!({"rest": {}, "grpc": {}, "istio": {}, "mysql": {"host": "db", "database": "d", "username": "u"}});
        let object = json!({"apiVersion": resource.api_version, "kind": "ModelRegistry", "metadata": {"name": name},
            "spec": spec});
        serde_json::from_value(object).unwrap()
    };
    let stored = old.create(&PostParams::default(), &mesh("mesh")).await.unwrap();
    assert_eq!(stored.data["spec"].get("istio"), None, "it is defaulted in the version it was sent in");
    // Stored is the new version, by conversion; and the operator makes the new proxy of the old one.
    let new: Api<ModelRegistry> = Api::namespaced(client.clone(), "default");
    let has_proxy =
        |registry: Option<&ModelRegistry>| registry.is_some_and(|r| r.spec.kube_rbac_proxy.is_some());
    await_condition(new.clone(), "mesh", has_proxy).await.unwrap();

    let deployments: Api<Deployment> = Api::namespaced(client, "opendatahub");
    let none = Patch::Merge(json!({"spec": {"replicas": 0}}));
    deployments.patch("quintet-model-registry", &PatchParams::default(), &none).await.unwrap();
    let rests = async {
        loop {
            match old.create(&PostParams::default(), &mesh("other")).await {
                Err(kube::Error::Api(status)) if status.message.contains("no endpoints available") => break,
                Ok(_) => drop(old.delete("other", &Default::default()).await),
                Err(_) => {}
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(60), rests)
        .await
        .expect("an operator that rests answers nobody");
}
