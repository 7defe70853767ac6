//! `/manager` in the place of the MLflow operator: the process-level scenarios of its specification, with only the
//! image replaced.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::LEASE;
use super::cluster::Cluster;
use super::process::{Process, get, read};

/// The program under the original's name.
pub(crate) fn manager(folder: &Path) -> PathBuf {
    let path = folder.join("manager");
    if !path.exists() {
        symlink(env!("CARGO_BIN_EXE_quintet"), &path).unwrap();
    }
    path
}

fn start(cluster: &Cluster, flags: &[&str]) -> Process {
    let mut command = Command::new(manager(cluster.folder.path()));
    command.args(["-kubeconfig", cluster.kubeconfig().to_str().unwrap()]).args(flags);
    Process::start(&mut command, &[("QUINTET_SYSTEM", "mlflow")])
}

/// Scenario 35: started with `--namespace=`, exit code 1 and an error log; nothing is applied.
#[tokio::test(flavor = "multi_thread")]
async fn scenario_35_an_empty_namespace_ends_the_process() {
    let cluster = Cluster::with_mlflow().await;
    cluster.create_mlflow().await;
    let mark = cluster.plane.requests().mark();
    let mut process = start(&cluster, &["--namespace="]);
    assert_eq!(process.ended().await.code(), Some(1));
    let lines = process.until_logged().await;
    let line = lines.last().unwrap();
    assert_eq!(line["level"], "error");
    assert!(line["error"].as_str().unwrap().starts_with("namespace must be specified"), "{line}");
    assert!(cluster.plane.requests().since(mark).is_empty());
}

/// Scenario 36: `/metrics` over HTTPS: 401 without a token, 200 over HTTP/1.1 with one that may, 403 with one that may not.
#[tokio::test(flavor = "multi_thread")]
async fn scenario_36_metrics_ask_who_reads_them() {
    let cluster = Cluster::with_mlflow().await;
    cluster.let_scraper_read().await;
    let mut process =
        start(&cluster, &["-metrics-bind-address=127.0.0.1:0", "--health-probe-bind-address=0"]);
    let address = process.address("Serving metrics server", Some(true)).await;
    let client = reqwest::Client::builder().tls_danger_accept_invalid_certs(true).build().unwrap();
    let url = format!("https://{address}/metrics");
    assert_eq!(read(client.get(&url)).await, (401, "Unauthorized\n".into()));
    let answer = client.get(&url).bearer_auth("scraper").send().await.unwrap();
    assert_eq!((answer.status().as_u16(), answer.version()), (200, reqwest::Version::HTTP_11));
    assert_eq!(read(client.get(&url).bearer_auth("nobody")).await.0, 403);
    assert_eq!(read(client.get(format!("https://{address}/other"))).await.0, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_deployments_own_arguments_make_it_work() {
    let cluster = Cluster::with_mlflow().await;
    cluster.create_mlflow().await;
    let mut process = start(
        &cluster,
        &[
            "--leader-elect",
            "--health-probe-bind-address=127.0.0.1:0",
            "--metrics-bind-address=127.0.0.1:0",
            "--metrics-cert-path=/etc/metrics-certs",
            "--namespace=opendatahub",
        ],
    );
    let probes = process.address("serving health", None).await;
    assert_eq!(get(&format!("http://{probes}/healthz")).await, (200, "ok".into()));
    assert_eq!(get(&format!("http://{probes}/readyz")).await, (200, "ok".into()));
    assert_eq!(
        get(&format!("http://{probes}/readyz?verbose")).await,
        (200, "[+]readyz ok\nreadyz check passed\n".into())
    );
    assert_eq!(get(&format!("http://{probes}/elsewhere")).await.0, 404);
    process.until("it makes the server", async |_| cluster.wrote(0, "deployments").then_some(())).await;
    assert!(cluster.lease(LEASE).await.is_some());
    for line in process.json() {
        assert!(line["level"].is_string() && line["ts"].is_string() && line["msg"].is_string(), "{line}");
    }
    assert!(process.terminate().await.0.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flag_that_the_original_lacks_is_refused_with_2() {
    let cluster = Cluster::bare().await;
    let mut process = start(&cluster, &["--mode=x"]);
    assert_eq!(process.ended().await.code(), Some(2));
}

#[test]
fn without_a_name_it_says_which_it_could_be() {
    let folder = tempfile::tempdir().unwrap();
    let done = Command::new(manager(folder.path())).env_clear().output().unwrap();
    let said = String::from_utf8(done.stderr).unwrap();
    assert_eq!(done.status.code(), Some(1));
    assert!(said.contains("QUINTET_SYSTEM is not set") && said.contains("mlflow"), "{said}");
}
