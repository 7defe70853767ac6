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

fn example(name: &str) -> String {
    format!("{}/../../examples/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn a_manifest_that_cannot_be_read_is_told_before_anything_starts() {
    let folder = tempfile::tempdir().unwrap();
    let told = quintet(folder.path()).args(["up", "--apply", "nowhere.yaml"]).output().unwrap();
    assert_eq!(told.status.code(), Some(4));
    assert!(told.stdout.is_empty(), "{}", String::from_utf8_lossy(&told.stdout));
    assert!(String::from_utf8_lossy(&told.stderr).contains("nowhere.yaml does not exist"));
    assert!(!folder.path().join(".quintet").exists(), "nothing is left behind");
}

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
    let mut lines = BufReader::new(up.stdout.take().unwrap()).lines().map_while(Result::ok);
    let told: Vec<String> = lines
        .by_ref()
        .skip_while(|line| !line.ends_with("created"))
        .take_while(|line| !line.starts_with("All of it is ready, after "))
        .collect();
    assert_eq!(told[0], "mlflow.mlflow.opendatahub.io/mlflow created");
    assert!(told.iter().any(|line| line.ends_with("  Available")), "{told:?}");
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
fn ctrl_c_stops_it_too_and_a_script_has_read_one_line() {
    use std::io::Read;
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let mut up = quintet(folder.path())
        .args(["up", "-o", "json", "--operators", "none", "--kubeconfig", "here/config", "--apply"])
        .arg(example("local/web.yaml"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(up.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    let facts: Value = serde_json::from_str(&line).unwrap();
    let keys: Vec<&str> = facts.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["apiserver", "gateway", "kubeconfig", "maasApi", "pid"]);
    assert_eq!((&facts["pid"], &facts["kubeconfig"]), (&up.id().into(), &"here/config".into()));
    assert!(facts["apiserver"].as_str().unwrap().starts_with("https://127.0.0.1:"), "{facts}");
    let mode = std::fs::metadata(folder.path().join("here/config")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(Command::new("kill").args(["-INT", &up.id().to_string()]).status().unwrap().success());
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "", "nothing but the line");
    let mut told = String::new();
    up.stderr.take().unwrap().read_to_string(&mut told).unwrap();
    assert!(told.contains("deployment.apps/web created") && told.contains("2/2 ready"), "{told}");
    assert!(up.wait().unwrap().success());
}

#[test]
fn a_platform_has_the_kinds_of_that_platform() {
    let plain = Up::start(&["--operators", "none"]);
    assert!(plain.prints(&["get", "httproutes", "-A"]).starts_with("no httproutes"));
    plain.refuses(4, &["get", "consolelinks"]);
    drop(plain);
    let openshift = Up::start(&["--platform", "openshift"]);
    assert!(openshift.prints(&["get", "routes", "-A"]).starts_with("no routes"));
    openshift.prints(&["apply", "-f", EXAMPLE]);
    // On OpenShift the operator also makes a link for the console.
    let mut watch = quintet(openshift.folder.path());
    let mut watch = watch.args(["get", "consolelinks", "-w"]).stdout(Stdio::piped()).spawn().unwrap();
    let rows = BufReader::new(watch.stdout.take().unwrap()).lines();
    assert!(rows.map_while(Result::ok).any(|row| row.starts_with("mlflow")), "the watch ended");
    watch.kill().unwrap();
    watch.wait().unwrap();
}

#[test]
fn a_port_that_is_taken_is_told_with_a_way_out() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let folder = tempfile::tempdir().unwrap();
    let done =
        quintet(folder.path()).args(["up", "--operators", "none", "--listen", &address]).output().unwrap();
    let said = String::from_utf8(done.stderr).unwrap();
    assert_eq!(done.status.code(), Some(1), "{said}");
    assert!(said.contains(&address) && said.contains("--listen 127.0.0.1:0"), "{said}");
}

#[test]
fn what_never_becomes_ready_is_explained_in_one_screen() {
    let folder = tempfile::tempdir().unwrap();
    let mut up = quintet(folder.path())
        .args(["up", "--timeout", "6", "--apply"])
        .args([example("mlflow/not-ready.yaml"), example("local/broken.yaml")])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut told = vec![];
    for line in BufReader::new(up.stdout.take().unwrap()).lines().map_while(Result::ok) {
        told.push(line);
        if told.last().unwrap().ends_with("quintet tree deployment no-secret -n default") {
            break;
        }
    }
    let account = told.join("\n");
    for reason in [
        "Not ready after 6 s:",
        r#"it needs Secret "mlflow-db-credentials", which opendatahub does not have"#,
        "container app: CrashLoopBackOff",
        "container app: ImagePullBackOff",
        "its readiness probe has not succeeded yet",
        r#"it needs Secret "database", which default does not have"#,
        "to look closer: quintet tree mlflow mlflow",
    ] {
        assert!(account.contains(reason), "no {reason:?} in:\n{account}");
    }
    assert!(up.try_wait().unwrap().is_none(), "it goes on, so that one can look");
    let tree = quintet(folder.path()).args(["tree", "mlflow", "mlflow"]).output().unwrap();
    let tree = String::from_utf8(tree.stdout).unwrap();
    assert!(tree.lines().count() <= 40, "more than a screen:\n{tree}");
    let end = tree.rsplit_once("mlflow is not ready because\n").expect(&tree).1;
    assert!(
        end.contains(r#"it needs Secret "mlflow-db-credentials", which opendatahub does not have"#),
        "{tree}"
    );
    assert!(Command::new("kill").args(["-TERM", &up.id().to_string()]).status().unwrap().success());
    assert_eq!(up.wait().unwrap().code(), Some(5));
}

/// A kubelet stumbles over the first; whoever has to make them is told of all, once for both servers.
#[test]
fn every_secret_that_an_example_waits_for_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let mut up = quintet(folder.path())
        .args([
            "up",
            "--operators",
            "mlflow",
            "--timeout",
            "6",
            "--apply",
            &example("mlflow/remote-storage.yaml"),
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(up.stdout.take().unwrap()).lines().map_while(Result::ok);
    let told: Vec<String> = lines.take_while(|line| !line.contains("to look closer")).collect();
    up.kill().unwrap();
    up.wait().unwrap();
    let causes: Vec<&String> = told.iter().filter(|line| line.starts_with("  because ")).collect();
    let needs = r#" and 1 more: it needs Secret "aws-credentials" and Secret "mlflow-db-credentials", which opendatahub "#;
    assert!(causes.len() == 1 && causes[0].contains(needs), "{told:#?}");
}

/// The operator runs in the process of `up`, and is paused as every operator is.
#[tokio::test]
async fn an_operator_is_paused_by_scaling_its_deployment_to_zero() {
    use k8s_openapi::api::apps::v1::Deployment;
    use kube::api::{Api, Patch, PatchParams};
    use kube::config::{KubeConfigOptions, Kubeconfig};
    let _ = rustls::crypto::ring::default_provider().install_default();
    let up = Up::start(&[]);
    let kubeconfig = Kubeconfig::read_from(up.folder.path().join(".quintet/kubeconfig")).unwrap();
    let config =
        kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    let client = kube::Client::try_from(config).unwrap();
    let deployments: Api<Deployment> = Api::namespaced(client, "opendatahub");
    let pods = async |wanted: i32| {
        let scale = Patch::Merge(serde_json::json!({"spec": {"replicas": wanted}}));
        deployments.patch_scale("quintet-mlflow", &PatchParams::default(), &scale).await.unwrap();
        let there = move |d: Option<&Deployment>| {
            d.and_then(|d| d.status.as_ref()).is_some_and(|s| {
                s.observed_generation == d.and_then(|d| d.metadata.generation)
                    && s.ready_replicas.unwrap_or(0) == wanted
                    && s.replicas.unwrap_or(0) == wanted
            })
        };
        kube::runtime::wait::await_condition(deployments.clone(), "quintet-mlflow", there).await.unwrap();
    };
    pods(0).await;
    up.prints(&["apply", "-f", EXAMPLE]);
    // An hour of nothing cannot be waited for; a second is many times what the operator needs.
    let made =
        kube::runtime::wait::await_condition(deployments.clone(), "mlflow", |d: Option<&Deployment>| {
            d.is_some()
        });
    assert!(tokio::time::timeout(std::time::Duration::from_secs(1), made).await.is_err(), "it was paused");
    pods(1).await;
    let made =
        kube::runtime::wait::await_condition(deployments, "mlflow", |d: Option<&Deployment>| d.is_some());
    tokio::time::timeout(std::time::Duration::from_secs(30), made).await.expect("it went on").unwrap();
}

#[test]
fn every_example_is_taken_by_the_server() {
    let up = Up::start(&["--platform", "openshift", "--allow-processes"]);
    for namespace in ["opendatahub", "data-science"] {
        let manifest = format!(
            "{{\"apiVersion\": \"v1\", \"kind\": \"Namespace\", \"metadata\": {{\"name\": \"{namespace}\"}}}}"
        );
        std::fs::write(up.folder.path().join("namespace.json"), manifest).unwrap();
        up.prints(&["apply", "--force", "-f", "namespace.json"]);
    }
    let mut seen = 0;
    for folder in ["local", "mlflow", "model-registry"] {
        for file in std::fs::read_dir(example(folder)).unwrap() {
            let path = file.unwrap().path();
            if path.extension().is_some_and(|ending| ending == "yaml") {
                let text = std::fs::read_to_string(&path).unwrap();
                assert!(text.starts_with("# "), "{} does not say what it shows", path.display());
                up.prints(&["apply", "--dry-run", "--force", "-f", path.to_str().unwrap()]);
                seen += 1;
            }
        }
    }
    assert!(seen >= 13, "only {seen} examples");
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
