//! `/manager` in the place of the model registry operator: the process-level part of its specification, with only the
//! image replaced.

use std::process::Command;

use kube::Api;
use quintet_api::model_registry::{ModelRegistry, v1alpha1};
use quintet_harness::free_port;
use quintet_kit::Kind;
use serde_json::Value;

use super::cluster::Cluster;
use super::manager::manager;
use super::process::{Process, get, read};
use super::registry::{LEASE, known, mysql, registries};

const JSON: &str = "--zap-encoder=json";

/// `/manager` with these flags and settings, its webhooks on a free port unless they are set otherwise.
fn start(cluster: &Cluster, token: &str, flags: &[&str], settings: &[(&str, &str)]) -> Process {
    let mut command = Command::new(manager(cluster.folder.path()));
    let kubeconfig = cluster.kubeconfig_with(token);
    command.args(["-kubeconfig", kubeconfig.to_str().unwrap()]).args(flags);
    let system = [("QUINTET_SYSTEM", "model-registry"), ("QUINTET_WEBHOOK_LISTEN", "127.0.0.1:0")];
    Process::start(&mut command, &[&system[..], settings].concat())
}

/// The last line of the log of a process that ended with this code.
async fn last_words(process: &mut Process, code: i32) -> Value {
    assert_eq!(process.ended().await.code(), Some(code));
    process.until_logged().await.last().cloned().unwrap()
}

/// The flags and settings of a Deployment as it was installed, on ports of our own.
fn deployed(objects: &[Value], name: &str) -> (Vec<String>, Vec<(String, String)>) {
    let deployment =
        objects.iter().find(|o| o["kind"] == "Deployment" && o["metadata"]["name"] == name).unwrap();
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["command"], serde_json::json!(["/manager"]));
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let args = container["args"].as_array().unwrap().iter().map(text);
    let args = args.map(|arg| arg.replace("=:8081", "=127.0.0.1:0").replace("=:8443", "=127.0.0.1:0"));
    let env = container["env"].as_array().unwrap().iter();
    (args.collect(), env.map(|one| (text(&one["name"]), text(&one["value"]))).collect())
}

/// What a split install prints, started, for registries in `mr`.
async fn installed() -> (Cluster, Process) {
    let cluster = Cluster::bare().await;
    cluster.namespace("mr").await;
    let address = format!("127.0.0.1:{}", free_port());
    let url = format!("https://{address}");
    let flags = ["--shape", "split", "--operators", "model-registry", "--webhook-url", &url];
    let objects = cluster.install(&flags, &[("REGISTRIES_NAMESPACE", "mr")]);
    let (args, env) = deployed(&objects, "model-registry-operator-controller-manager");
    let mut flags: Vec<&str> = args.iter().map(String::as_str).collect();
    flags.push(JSON);
    let mut settings: Vec<(&str, &str)> = env.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    settings.push(("QUINTET_WEBHOOK_LISTEN", &address));
    let mut process = start(&cluster, "split", &flags, &settings);
    known(&mut process).await;
    (cluster, process)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_split_install_prints_can_be_started_and_does_its_work() {
    let (cluster, mut process) = installed().await;
    let probes = process.address("serving health", None).await;
    process
        .until("it is ready", async |_| {
            (get(&format!("http://{probes}/readyz")).await == (200, "ok".into())).then_some(())
        })
        .await;
    assert_eq!(get(&format!("http://{probes}/healthz")).await, (200, "ok".into()));
    let lines = process.json();
    let detected = lines.iter().find(|line| line["msg"] == "cluster capabilities detected").unwrap();
    assert_eq!((&detected["isOpenShift"], &detected["logger"]), (&Value::Bool(false), &"setup".into()));

    let ours = registries(&cluster, "mr", ModelRegistry::api_resource());
    ours.create("reg", mysql()).await.unwrap();
    process.until("it makes the server", async |_| cluster.wrote(0, "deployments").then_some(())).await;
    let held = cluster.lease(LEASE).await.expect("the original's lease");
    assert_eq!(held.lease_duration_seconds, Some(15));
    assert!(process.terminate().await.0.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn scenario_23_wrong_namespace() {
    let (cluster, mut process) = installed().await;
    cluster.namespace("other").await;
    for resource in [ModelRegistry::api_resource(), v1alpha1::ModelRegistry::api_resource()] {
        let said = registries(&cluster, "other", resource).create("reg", mysql()).await.unwrap_err();
        let text = "admission webhook \"vmodelregistry.opendatahub.io\" denied the request: \
                    ModelRegistry.modelregistry.opendatahub.io \"reg\" is invalid: \
                    metadata.namespace: Invalid value: \"other\": namespace must be mr";
        assert_eq!(said, text);
    }
    registries(&cluster, "mr", ModelRegistry::api_resource()).create("reg", mysql()).await.unwrap();
    assert!(process.terminate().await.0.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn without_webhooks_none_is_served_and_the_status_says_what_is_wrong() {
    let cluster = Cluster::bare().await;
    let off = [("ENABLE_WEBHOOKS", "false")];
    let objects = cluster.install(&["--shape", "split", "--operators", "model-registry"], &off);
    let kinds: Vec<_> = objects.iter().filter_map(|o| o["kind"].as_str()).collect();
    assert!(!kinds.iter().any(|kind| kind.contains("WebhookConfiguration")), "{kinds:?}");
    let mut process = start(
        &cluster,
        "split",
        &[JSON, "-health-probe-bind-address=127.0.0.1:0", "-metrics-bind-address=0"],
        &off,
    );
    known(&mut process).await;
    let spec = serde_json::json!({"rest": {}, "mysql": {"host": "", "database": "d", "username": "u"}});
    registries(&cluster, "opendatahub", ModelRegistry::api_resource()).create("reg", spec).await.unwrap();
    let api: Api<ModelRegistry> = Api::namespaced(cluster.client.clone(), "opendatahub");
    let said = process.until("its status says so", async |_| {
        let status = api.get("reg").await.unwrap().status?;
        status.conditions.into_iter().find(|c| c.type_ == "Available").map(|c| c.message)
    });
    let said = said.await;
    assert!(said.contains("required one of `postgres` or `mysql` database"), "{said}");
    assert!(!process.log().join("\n").contains("serving webhooks"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_that_is_none_ends_the_process() {
    let cluster = Cluster::bare().await;
    let mark = cluster.plane.requests().mark();
    let mut process = start(&cluster, "split", &[JSON], &[("REGISTRIES_NAMESPACE", "Not_A_Name")]);
    let line = last_words(&mut process, 1).await;
    assert_eq!(line["level"], "error");
    assert!(line["error"].as_str().unwrap().starts_with("REGISTRIES_NAMESPACE=\"Not_A_Name\""), "{line}");
    assert!(cluster.plane.requests().since(mark).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_does_not_say_what_it_serves_ends_the_process() {
    let cluster = Cluster::bare().await;
    let mut process = start(&cluster, "guess", &[JSON], &[]);
    let line = last_words(&mut process, 1).await;
    assert_eq!(
        (&line["msg"], &line["logger"]),
        (&"error detecting cluster capabilities".into(), &"setup".into())
    );
    assert!(line["error"].as_str().unwrap().contains("Unauthorized"), "{line}");
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_are_for_those_who_may_and_a_certificate_that_is_named_must_be_there() {
    let cluster = Cluster::bare().await;
    cluster.install(&["--shape", "split", "--operators", "model-registry"], &[]);
    cluster.let_scraper_read().await;
    let flags = [JSON, "-metrics-bind-address=127.0.0.1:0", "--health-probe-bind-address=0"];
    let mut process = start(&cluster, "split", &flags, &[]);
    let address = process.address("Serving metrics server", Some(true)).await;
    let client = reqwest::Client::builder().tls_danger_accept_invalid_certs(true).build().unwrap();
    let url = format!("https://{address}/metrics");
    assert_eq!(read(client.get(&url)).await, (401, "Unauthorized\n".into()));
    assert_eq!(read(client.get(&url).bearer_auth("nobody")).await.0, 403);
    process
        .until("webhooks are counted", async |_| {
            let (code, text) = read(client.get(&url).bearer_auth("scraper")).await;
            assert_eq!(code, 200);
            text.contains("controller_runtime_webhook_requests_total{webhook=\"/convert\",code=\"200\"} 0")
                .then_some(())
        })
        .await;

    let missing = [JSON, "--metrics-cert-dir=/nowhere", "-metrics-bind-address=127.0.0.1:0"];
    let mut process = start(&cluster, "split", &missing, &[]);
    let line = last_words(&mut process, 1).await;
    assert_eq!(line["msg"], "problem running manager");
    assert!(line["error"].as_str().unwrap().contains("/nowhere/tls.crt"), "{line}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flag_that_the_original_lacks_is_refused_with_2() {
    let cluster = Cluster::bare().await;
    // The MLflow operator's, which is another.
    let mut process = start(&cluster, "split", &["--metrics-cert-path=x"], &[]);
    assert_eq!(process.ended().await.code(), Some(2));
}
