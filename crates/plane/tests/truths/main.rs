//! The recorded truths: what a real kube-apiserver answered in the delicate places, and whether the plane says the same.
//!
//! A scenario is a YAML file that we wrote (`<topic>/<name>.yaml`, see `scenario.rs` for its form): requests in order, in
//! a namespace of its own. Beside it lies what the real server answered (`<name>.json`), with ids, times, versions and
//! other chance replaced by placeholders (`normalise.rs`).
//!
//! - `cargo test -p plane --test truths` replays them against the plane. `disagreements.yaml` lists the steps known to
//!   differ, each with a reason; a step that differs and is not listed fails the test, and so (with `CI` set) does one that
//!   is listed and agrees, so that the list can only shrink. `TRUTHS_LIST=1` writes the list anew. `TRUTHS_ONLY=apply/,crd/`
//!   narrows the run.
//! - `PLANE_CONFORMANCE=real` replays them against the real server, where nothing may differ.
//! - `hack/record-truths` records them anew.

#[path = "../support/mod.rs"]
#[allow(dead_code, reason = "shared with the conformance suite, which uses the rest")]
mod support;

#[path = "../support/tls.rs"]
mod tls;

mod disagreements;
mod normalise;
mod play;
mod scenario;
mod webhook;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use disagreements::Disagreements;
use futures::StreamExt as _;
use scenario::{Scenario, Truth};

/// Where the scenarios are.
fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/truths")
}

#[tokio::test(flavor = "multi_thread")]
async fn every_recorded_truth_holds() {
    let record = std::env::var_os("TRUTHS_RECORD").is_some();
    let only = std::env::var("TRUTHS_ONLY").unwrap_or_default();
    let chosen = |scenario: &Scenario| only.split(',').any(|part| scenario.name.contains(part));
    let scenarios: Vec<Arc<Scenario>> =
        Scenario::all(&directory()).into_iter().filter(chosen).map(Arc::new).collect();
    assert!(!scenarios.is_empty(), "no scenario's name contains {only:?}");

    let webhook = Arc::new(webhook::Webhook::start().await);
    let played: Vec<(Arc<Scenario>, Vec<Truth>, bool)> = futures::stream::iter(scenarios)
        .map(|scenario| play_one(scenario, webhook.clone()))
        .buffered(8)
        .collect()
        .await;
    let mut report = disagreements::Report::default();
    for (scenario, answers, is_plane) in &played {
        if record {
            assert!(!is_plane, "truths are recorded from the real server only: hack/record-truths");
            scenario.write_answers(answers);
        } else {
            report.add(scenario, answers, &scenario.answers(), *is_plane);
        }
    }
    if !record {
        report.settle(&Disagreements::read(&directory()), only.is_empty());
    }
}

/// Plays one scenario, on a plane of its own so that they cannot lean on one another; the real server is shared.
async fn play_one(
    scenario: Arc<Scenario>,
    webhook: Arc<webhook::Webhook>,
) -> (Arc<Scenario>, Vec<Truth>, bool) {
    let server = support::chosen().await;
    let (is_plane, playing) = (server.is_plane, scenario.clone());
    let answers = tokio::spawn(async move {
        // The plane's controllers act at once; those of a real cluster take turns with everything else on the machine.
        let patience = Duration::from_secs(if server.is_plane { 2 } else { 60 });
        play::play(&server.client, &playing, &webhook, patience).await
    });
    // A panic, ours or the plane's, is one disagreement among others.
    let answers =
        answers.await.unwrap_or_else(|error| play::unreached(&scenario, Vec::new(), &error.to_string()));
    (scenario, answers, is_plane)
}

#[test]
fn there_are_enough_of_them() {
    let steps: usize = Scenario::all(&directory()).iter().map(|scenario| scenario.recorded().count()).sum();
    assert!(steps >= 150, "{steps} request/answer pairs are recorded; the issue asks for 150");
}

#[test]
fn every_disagreement_is_documented() {
    Disagreements::read(&directory()).are_documented();
}
