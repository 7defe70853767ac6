//! The Python client, unchanged, against the real server and against the plane: `session.py` must end well on both.

use std::path::{Path, PathBuf};
use std::process::Command;

use quintet_harness::{Error, Missing, Scratch, kube::Cluster, or_skip};

use super::kubectl;

/// The interpreter of an environment that has the client.
fn python() -> Result<PathBuf, Error> {
    let missing = || Missing {
        tool: "the Python client of Kubernetes".into(),
        remedy: "set PLANE_PYTHON to what hack/kube/python-client prints".into(),
    };
    std::env::var_os("PLANE_PYTHON").map(PathBuf::from).ok_or_else(|| missing().into())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_real_server_serves_the_python_client() {
    let Some(python) = or_skip("the Python client against a real server", python()) else { return };
    let cluster = Cluster::shared().await;
    let Some(cluster) = or_skip("the Python client against a real server", cluster) else { return };
    session(&python, &cluster.kubeconfig().expect("a kubeconfig")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_plane_serves_the_python_client() {
    let Some(python) = or_skip("the Python client against the plane", python()) else { return };
    let scratch = Scratch::new("quintet-python-").expect("a directory");
    let (_plane, kubeconfig) = kubectl::served(&scratch).await;
    session(&python, &kubeconfig).await;
}

async fn session(python: &Path, kubeconfig: &Path) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/real/session.py");
    let mut command = Command::new(python);
    command.arg(script).env("KUBECONFIG", kubeconfig);
    let output =
        tokio::task::spawn_blocking(move || command.output()).await.expect("no panic").expect("python");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}{err}");
}
