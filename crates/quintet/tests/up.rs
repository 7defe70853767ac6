//! `quintet up` as a person or a script starts it: a process of its own, followed through its output.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use serde_json::Value;
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
