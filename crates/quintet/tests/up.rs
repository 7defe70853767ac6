//! `quintet up` as a person or a script starts it: a process of its own, followed through its output.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use quintet_api::maas::MaaSSubscription;
use serde_json::{Value, json};
mod support;
use support::{Up, quintet};

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/mlflow/minimal.yaml");

#[test]
fn a_sample_becomes_children_and_goes_without_a_trace() {
    let up = Up::start(&[]);
    assert_eq!(up.line["kubeconfig"], ".quintet/kubeconfig");
    assert_eq!(up.line["gateway"], Value::Null);

    assert_eq!(up.prints(&["apply", "-f", EXAMPLE]), "mlflow.mlflow.opendatahub.io/mlflow created\n");
    assert_eq!(up.prints(&["apply", "-f", EXAMPLE]), "mlflow.mlflow.opendatahub.io/mlflow unchanged\n");
    // The operator works beside us: wait for its first word through a watch, then look at the family.
    let mut watch = quintet(up.folder.path());
    let mut watch =
        watch.args(["get", "deployments", "-n", "opendatahub", "-w"]).stdout(Stdio::piped()).spawn().unwrap();
    let rows = BufReader::new(watch.stdout.take().unwrap()).lines();
    assert!(rows.map_while(Result::ok).any(|row| row.starts_with("mlflow ")), "the watch ended");
    watch.kill().unwrap();
    watch.wait().unwrap();
    let tree: Value = serde_json::from_str(&up.prints(&["tree", "mlflow", "mlflow", "-o", "json"])).unwrap();
    let kinds: Vec<&str> =
        tree["children"].as_array().unwrap().iter().map(|c| c["kind"].as_str().unwrap()).collect();
    for kind in
        ["Deployment", "Service", "ServiceAccount", "PersistentVolumeClaim", "NetworkPolicy", "HTTPRoute"]
    {
        assert!(kinds.contains(&kind), "no {kind} among {kinds:?}");
    }

    assert_eq!(up.prints(&["delete", "mlflow", "mlflow"]), "mlflow.mlflow.opendatahub.io/mlflow deleted\n");
    up.refuses(4, &["get", "mlflow", "mlflow"]);
}

#[test]
fn a_sample_applied_at_the_start_is_followed_until_it_is_ready() {
    let folder = tempfile::tempdir().unwrap();
    let mut up = quintet(folder.path());
    let mut up = up.args(["up", "--apply", EXAMPLE]).stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(up.stdout.take().unwrap()).lines().map_while(Result::ok);
    let told: Vec<String> = lines
        .skip_while(|line| !line.ends_with("created"))
        .take_while(|line| !line.ends_with("  Available"))
        .collect();
    assert_eq!(told[0], "mlflow.mlflow.opendatahub.io/mlflow created");
    assert!(up.try_wait().unwrap().is_none(), "it goes on after {told:?}");
    let tree = quintet(folder.path()).args(["tree", "mlflow", "mlflow"]).output().unwrap();
    let tree = String::from_utf8(tree.stdout).unwrap();
    up.kill().unwrap();
    up.wait().unwrap();
    assert!(tree.starts_with("MLflow mlflow  Available\n"), "{tree}");
    assert!(tree.contains("Deployment opendatahub/mlflow  1/1 ready"), "{tree}");
}

#[test]
fn wrong_input_is_told_what_to_do_next() {
    let up = Up::start(&["--operators", "none"]);
    let said = up.refuses(4, &["get", "deploymnts"]);
    assert!(said.contains("try: deployments.apps"), "{said}");
    let said = up.refuses(4, &["apply", "-f", EXAMPLE]);
    assert!(said.contains("the server has no kind MLflow") && said.contains("quintet crds"), "{said}");
    let said = up.refuses(4, &["apply", "-f", "nowhere.yaml"]);
    assert!(said.contains("nowhere.yaml does not exist"), "{said}");
    let said = up.refuses(1, &["up"]);
    assert!(said.contains("already runs") && said.contains(up.line["apiserver"].as_str().unwrap()), "{said}");
    let said = up.refuses(2, &["dataflow", "mlfow"]);
    assert!(said.contains("one of mlflow"), "{said}");
}

#[test]
fn strangers_are_not_let_in() {
    let up = Up::start(&["--operators", "none"]);
    let path = up.folder.path().join(".quintet/kubeconfig");
    let own = std::fs::read_to_string(&path).unwrap();
    let forged: String = own
        .lines()
        .map(|l| if l.contains("token:") { "    token: guess\n".into() } else { format!("{l}\n") })
        .collect();
    std::fs::write(up.folder.path().join("forged"), forged).unwrap();
    let said = up.refuses(1, &["get", "secrets", "-A", "--kubeconfig", "forged"]);
    assert!(said.contains("Unauthorized"), "{said}");
}

#[test]
fn a_stop_is_clean_and_leaves_no_kubeconfig_behind() {
    let mut up = Up::start(&[]);
    let pid = up.process.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    assert!(up.process.wait().unwrap().success());
    assert!(!up.folder.path().join(".quintet/kubeconfig").exists());
    let said = up.refuses(3, &["get", "pods"]);
    assert!(said.contains("quintet up"), "{said}");
}

#[test]
fn render_needs_no_cluster() {
    let folder = tempfile::tempdir().unwrap();
    let out = quintet(folder.path()).args(["render", "-f", EXAMPLE, "-o", "json"]).output().unwrap();
    let children: Vec<Value> = serde_json::from_slice(&out.stdout).unwrap();
    assert!(
        children.iter().any(|c| c["kind"] == "Deployment" && c["metadata"]["name"] == "mlflow"),
        "{children:?}"
    );
}

/// One request, one answer: status and JSON.
fn http(base: &str, method: &str, path: &str, body: &Value) -> (u16, Value) {
    let address = base.strip_prefix("http://").unwrap();
    let (body, mut stream) = (body.to_string(), TcpStream::connect(address).unwrap());
    let identity = "x-maas-username: alice\r\nx-maas-group: [\"g1\"]\r\n";
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nhost: x\r\n{identity}connection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, serde_json::from_str(body).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_made_and_validated() {
    let mut up = Up::start(&[]);
    let base = up.line["maasApi"].as_str().expect("where maas-api answers").to_owned();
    assert_eq!(http(&base, "GET", "/readyz", &Value::Null), (200, json!({"status": "ready"})));

    rustls::crypto::ring::default_provider().install_default().unwrap();
    let file = kube::config::Kubeconfig::read_from(up.folder.path().join(".quintet/kubeconfig")).unwrap();
    let config = kube::Config::from_custom_kubeconfig(file, &Default::default()).await.unwrap();
    let client = kube::Client::try_from(config).unwrap();
    let subscriptions = kube::Api::<MaaSSubscription>::namespaced(client, "models-as-a-service");
    let gold = json!({
        "apiVersion": "maas.opendatahub.io/v1alpha1", "kind": "MaaSSubscription", "metadata": {"name": "gold"},
        "spec": {
            "owner": {"groups": [{"name": "g1"}]},
            "modelRefs": [{"name": "m", "namespace": "llm", "tokenRateLimits": [{"limit": 1, "window": "1m"}]}],
        },
    });
    subscriptions.create(&Default::default(), &serde_json::from_value(gold).unwrap()).await.unwrap();
    // The controller's part.
    let active = kube::api::Patch::Merge(json!({"status": {"phase": "Active"}}));
    subscriptions.patch_status("gold", &Default::default(), &active).await.unwrap();
    let seen = Instant::now();
    while http(&base, "GET", "/v1/subscriptions", &Value::Null).1.as_array().is_none_or(Vec::is_empty) {
        assert!(seen.elapsed() < Duration::from_secs(30), "the subscription is never seen");
        tokio::task::yield_now().await;
    }

    let (status, made) = http(&base, "POST", "/v1/api-keys", &json!({"name": "k"}));
    assert_eq!((status, &made["subscription"]), (201, &json!("gold")), "{made}");
    let (status, verdict) =
        http(&base, "POST", "/internal/v1/api-keys/validate", &json!({"key": made["key"]}));
    assert_eq!((status, &verdict["valid"], &verdict["keyId"]), (200, &json!(true), &made["id"]), "{verdict}");

    let keys = up.folder.path().join(".quintet/maas-api.db");
    assert!(keys.exists());
    assert!(Command::new("kill").args(["-TERM", &up.process.id().to_string()]).status().unwrap().success());
    assert!(up.process.wait().unwrap().success());
    assert!(!keys.exists(), "nothing is kept");
}

#[test]
fn a_bare_api_has_no_maas_api() {
    let up = Up::start(&["--operators", "none"]);
    assert_eq!(up.line["maasApi"], Value::Null);
    up.refuses(4, &["get", "maassubscriptions", "-A"]);
}
