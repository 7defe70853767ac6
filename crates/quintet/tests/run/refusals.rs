//! Wrong input to the commands that run: an exit code that scripts can tell, and what to do next.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output};

use super::cluster::Cluster;

fn quintet(folder: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_quintet"));
    command.current_dir(folder).env_clear().env("HOME", folder).envs(environment.iter().copied());
    command.args(arguments).output().unwrap()
}

/// Runs it, and expects this exit code and each of these words on standard error.
#[track_caller]
fn refuses(folder: &Path, arguments: &[&str], environment: &[(&str, &str)], code: i32, words: &[&str]) {
    let done = quintet(folder, arguments, environment);
    let said = String::from_utf8(done.stderr).unwrap();
    assert_eq!(done.status.code(), Some(code), "{arguments:?} {environment:?}: {said}");
    for word in words {
        assert!(said.contains(word), "{arguments:?}: no {word:?} in: {said}");
    }
    assert!(!said.contains("panicked"), "{said}");
}

const PORTS: [&str; 6] =
    ["--health-listen", "127.0.0.1:0", "--metrics-listen", "0", "--plain-metrics-listen", "0"];

fn run<'a>(flags: &[&'a str]) -> Vec<&'a str> {
    ["run"].iter().chain(flags).chain(&PORTS).copied().collect()
}

#[test]
fn a_server_that_is_not_there_is_told_apart_from_wrong_usage() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    refuses(path, &run(&[]), &[], 3, &["no API server is configured", "try: `quintet up`"]);
    refuses(
        path,
        &run(&["--kubeconfig", "nowhere"]),
        &[],
        3,
        &["kubeconfig nowhere does not exist", "--kubeconfig"],
    );
    std::fs::write(path.join("rubbish"), "clusters: [").unwrap();
    refuses(path, &run(&["--kubeconfig", "rubbish"]), &[], 3, &["kubeconfig rubbish cannot be used", "try:"]);
    // A port that nobody listens on: taken, then given back.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    quintet::local::kubeconfig::write(&path.join("gone"), &format!("http://127.0.0.1:{port}"), "", "x")
        .unwrap();
    for command in [&run(&["--kubeconfig", "gone"])[..], &["get", "pods", "--kubeconfig", "gone"]] {
        refuses(path, command, &[], 3, &["error: ", "try: `quintet up`"]);
    }
    refuses(
        path,
        &run(&["--kubeconfig", "gone", "--context", "prod"]),
        &[],
        3,
        &["no context \"prod\"", "one of quintet"],
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_is_not_accepted_is_told_at_once() {
    let cluster = Cluster::bare().await;
    let own = std::fs::read_to_string(cluster.kubeconfig()).unwrap();
    std::fs::write(cluster.folder.path().join("forged"), own.replace("admin-token", "guess")).unwrap();
    let folder = cluster.folder.path().to_owned();
    let done = tokio::task::spawn_blocking(move || {
        refuses(&folder, &run(&["--kubeconfig", "forged"]), &[], 1, &["Unauthorized", "try:"]);
    });
    done.await.unwrap();
}

#[test]
fn wrong_settings_are_refused_before_anything_is_done() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let misspelt = [("QUINTET_MLFLOW_MLFLOW_IMGE", "x")];
    refuses(path, &run(&[]), &misspelt, 2, &["did you mean QUINTET_MLFLOW_MLFLOW_IMAGE", "quintet dataflow"]);
    refuses(path, &run(&["--operators", "mlfow"]), &[], 2, &["no system called \"mlfow\"", "one of mlflow"]);
    refuses(path, &run(&["--worker", "1"]), &[], 2, &["--worker", "--workers"]);
    refuses(path, &run(&["--workers", "many"]), &[], 2, &["many", "--workers"]);
    refuses(path, &run(&["--log", "a=b=c"]), &[], 2, &["--log", "info,quintet_kit=debug"]);
    refuses(path, &run(&["--namespace", ""]), &[], 2, &["namespace must be specified"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_port_that_is_taken_is_named() {
    let cluster = Cluster::bare().await;
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let (folder, kubeconfig) = (cluster.folder.path().to_owned(), cluster.kubeconfig().display().to_string());
    let done = tokio::task::spawn_blocking(move || {
        for flag in ["--health-listen", "--metrics-listen", "--plain-metrics-listen"] {
            let mut command = vec!["run", "--kubeconfig", &kubeconfig, flag, &address];
            for port in ["--health-listen", "--metrics-listen", "--plain-metrics-listen"] {
                if port != flag {
                    command.extend([port, "0"]);
                }
            }
            refuses(&folder, &command, &[], 1, &[&address, "try: ", "another"]);
        }
        let folderless = [
            "run",
            "--kubeconfig",
            &kubeconfig,
            "--metrics-cert-dir",
            "nowhere",
            "--metrics-listen",
            "127.0.0.1:0",
        ];
        let quiet = ["--health-listen", "0", "--plain-metrics-listen", "0"];
        refuses(&folder, &[&folderless[..], &quiet[..]].concat(), &[], 1, &["nowhere/tls.crt", "try:"]);
    });
    done.await.unwrap();
}

#[test]
fn manifests_that_cannot_be_used_are_named_with_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let write = |name: &str, text: &str| std::fs::write(path.join(name), text).unwrap();
    write("broken.yaml", "a: [");
    write("kindless.yaml", "metadata: {name: x}");
    write("pod.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: x}");
    write(
        "invalid.yaml",
        "apiVersion: mlflow.opendatahub.io/v1\nkind: MLflow\nmetadata: {name: mlflow}\nspec: {replicas: many}",
    );
    write("empty.yaml", "# nothing\n");
    let render =
        |file: &str, code: i32, words: &[&str]| refuses(path, &["render", "-f", file], &[], code, words);
    render("nowhere.yaml", 4, &["nowhere.yaml does not exist", "try: a YAML file"]);
    render("broken.yaml", 1, &["broken.yaml", "try:"]);
    render("kindless.yaml", 1, &["kindless.yaml", "kind"]);
    render("pod.yaml", 1, &["pod.yaml: no system reconciles Pod", "one of MLflow"]);
    render("invalid.yaml", 1, &["invalid.yaml", "replicas"]);
    render("empty.yaml", 1, &["there is no object in it", "one of MLflow"]);
    refuses(path, &["render"], &[], 2, &["--filename"]);
    refuses(path, &["render", "-f", "pod.yaml", "-o", "xml"], &[], 2, &["xml", "json", "yaml"]);
    refuses(path, &["crds", "mlfow"], &[], 2, &["no system called \"mlfow\"", "one of mlflow"]);
    refuses(path, &["dataflow", "mlflow", "-o", "html"], &[], 2, &["html", "mermaid"]);
    refuses(path, &["completions", "cmd"], &[], 2, &["cmd", "bash"]);
    refuses(path, &["rendr"], &[], 2, &["rendr", "render"]);
    refuses(path, &["maas-api", "--no-such-flag"], &[], 2, &["no-such-flag"]);
    refuses(path, &["payload-processing", "--no-such-flag"], &[], 2, &["no-such-flag"]);
}

#[test]
fn help_tells_the_exit_codes_and_completions_know_the_commands() {
    let folder = tempfile::tempdir().unwrap();
    let prints = |arguments: &[&str]| {
        let done = quintet(folder.path(), arguments, &[]);
        assert!(done.status.success(), "{arguments:?}");
        String::from_utf8(done.stdout).unwrap()
    };
    let help = prints(&["--help"]);
    for code in [
        "0  done",
        "1  failed",
        "2  wrong usage",
        "3  no API server",
        "4  an object or kind",
        "5  what was asked",
    ] {
        assert!(help.contains(code), "no {code:?} in {help}");
    }
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = prints(&["completions", shell]);
        for command in ["run", "render", "dataflow", "crds", "apply", "get", "tree", "delete"] {
            assert!(script.contains(command), "{shell} does not complete {command}");
        }
    }
}
