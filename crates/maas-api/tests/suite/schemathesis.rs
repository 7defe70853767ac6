//! The published description against a running server: schemathesis makes up requests from it, good and bad, and holds
//! every answer against it. `hack/tiers/maas-api` installs the tool.

use std::process::Command;

use crate::common::service::Service;
use quintet_harness::{Error, Missing, cache_dir, or_skip};
use quintet_maas_api::{models::Model, server::Listener};
use tokio_util::sync::CancellationToken;

fn schemathesis() -> Result<std::path::PathBuf, Error> {
    let tool = cache_dir().join("schemathesis/bin/schemathesis");
    match tool.is_file() {
        true => Ok(tool),
        false => Err(Missing {
            tool: "schemathesis".into(),
            remedy: "run hack/tiers/maas-api, which installs it".into(),
        }
        .into()),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_answer_is_as_described() {
    let Some(tool) = or_skip("every_answer_is_as_described", schemathesis()) else { return };
    let service = Service::new(crate::common::sqlite().await);
    let external =
        Model { name: "m".into(), kind: "ExternalModel".into(), ready: true, ..Default::default() };
    service.cluster.set_models([external]);
    let listener = Listener::bind("127.0.0.1:0").await.expect("a port");
    let base = format!("http://{}", listener.address().expect("an address"));
    let stop = CancellationToken::new();
    let server = tokio::spawn(listener.serve(service.router.clone(), stop.clone()));
    let run = tokio::task::spawn_blocking(move || {
        let scratch = tempfile::tempdir().expect("a directory"); // it leaves notes where it runs
        let mut command = Command::new(tool);
        command.current_dir(scratch.path());
        command.args([
            "run",
            &format!("{base}/openapi.json"),
            "--url",
            &base,
            "--max-examples",
            "40",
            "--seed",
            "1",
        ]);
        // The gateway's part: it says who asks.
        command.args(["-H", "X-MaaS-Username: alice", "-H", "X-MaaS-Group: [\"g1\"]", "--no-color"]);
        command.args([
            "--workers",
            "1",
            "--phases",
            "examples,coverage,fuzzing",
            "--suppress-health-check",
            "all",
        ]);
        // They contradict the original; docs/systems/maas-api.md says each with its reason.
        let checks =
            "unsupported_method,allow_header_conformance,negative_data_rejection,positive_data_acceptance";
        command.args(["--exclude-checks", checks]);
        command.output().expect("schemathesis runs")
    });
    let output = run.await.expect("no panic");
    stop.cancel();
    server.await.expect("no panic").expect("a clean end");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("14 "), "all 14 operations are tested: {text}");
}
