//! The recorded truths: what a real kube-apiserver answered in the delicate places, and whether the plane says the same.
//!
//! A scenario is a YAML file that we wrote (`<topic>/<name>.yaml`, see `scenario.rs` for its form): requests in order, in
//! a namespace of its own. Beside it lies what the real server answered (`<name>.json`), with ids, times, versions and
//! other chance replaced by placeholders (`normalise.rs`).
//!
//! - `cargo test -p plane --test truths` replays them against the plane. `disagreements.yaml` lists the steps known to
//!   differ, each with a reason; a step that differs and is not listed fails the test, and so does one that is listed and
//!   agrees, so that the list can only shrink. `TRUTHS_PRUNE=1` removes those from the list. `TRUTHS_ONLY=apply/`
//!   narrows the run.
//! - `PLANE_CONFORMANCE=real` replays them against the real server, where nothing may differ.
//! - `hack/record-truths` records them anew.

#[path = "../support/mod.rs"]
#[allow(dead_code, reason = "shared with the conformance suite, which uses the rest")]
mod support;

mod disagreements;
mod normalise;
mod play;
mod scenario;
mod webhook;

use std::path::{Path, PathBuf};

use disagreements::Disagreements;
use scenario::Scenario;

/// Where the scenarios are.
fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/truths")
}

#[tokio::test(flavor = "multi_thread")]
async fn every_recorded_truth_holds() {
    let record = std::env::var_os("TRUTHS_RECORD").is_some();
    let only = std::env::var("TRUTHS_ONLY").unwrap_or_default();
    let scenarios: Vec<Scenario> =
        Scenario::all(&directory()).into_iter().filter(|scenario| scenario.name.contains(&only)).collect();
    assert!(!scenarios.is_empty(), "no scenario's name contains {only:?}");

    let webhook = webhook::Webhook::start().await;
    let mut report = disagreements::Report::default();
    for scenario in &scenarios {
        // A plane of its own for each, so that they cannot lean on one another; the real server is shared.
        let Some(server) = support::chosen().await else { return };
        assert!(
            !(record && server.is_plane),
            "truths are recorded from the real server only: hack/record-truths"
        );
        let answers = play::play(&server.client, scenario, &webhook).await;
        if record {
            scenario.write_answers(&answers);
            continue;
        }
        report.add(scenario, &answers, &scenario.answers(), server.is_plane);
    }
    if !record {
        let listed = Disagreements::read(&directory());
        report.settle(&listed, only.is_empty());
    }
}

#[test]
fn there_are_enough_of_them() {
    let steps: usize = Scenario::all(&directory()).iter().map(|scenario| scenario.recorded().count()).sum();
    assert!(steps >= 150, "{steps} request/answer pairs are recorded; the issue asks for 150");
}
