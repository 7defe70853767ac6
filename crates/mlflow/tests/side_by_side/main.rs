//! The original operator and ours on the same real API server, with the same resources: object by object, and status by
//! status. Then ours takes over from the original, as in a swap of images, and nothing may move.
//!
//! `hack/side-by-side/mlflow DIRECTORY` runs it; the directory is laid out as in the original's image. Differences that are
//! meant are named by their ids (docs/differences.md); any other fails.

#![expect(clippy::print_stdout, reason = "the run is long, and its figures are what it is run for")]

#[path = "../support/mod.rs"]
mod support;

mod inputs;

use std::{collections::BTreeMap, time::Duration};

use inputs::inputs;
use kube::Client;
use quintet_api::mlflow::MLflow;
use quintet_stage::{
    Server,
    original::{Original, calm, comparable, rewritten, unmeant},
};
use serde_json::json;
use support::{
    Objects, difference,
    server::{install, server},
    stage::{Stage, create, owned},
};

/// Everything of the resource's that people and programs can see.
async fn seen(admin: &Client) -> Objects {
    let mut objects = owned(admin).await;
    let mlflow = kube::Api::<MLflow>::all(admin.clone()).get("mlflow").await.expect("the MLflow");
    objects.insert("status".into(), serde_json::to_value(mlflow.status).expect("a status"));
    objects
}

async fn settled(admin: &Client) -> Objects {
    calm(async || seen(admin).await, |objects| !objects["status"].is_null()).await
}

fn start(directory: &str, server: &Server, variables: &[(&str, &str)]) -> Original {
    const OWN: [&str; 4] = ["MLFLOW_IMAGE", "GATEWAY_NAME", "MLFLOW_URL", "SECTION_TITLE"];
    assert!(OWN.iter().all(|name| std::env::var_os(name).is_none()), "the environment must not set {OWN:?}");
    Original::start(directory, server, &["--namespace=opendatahub"], variables)
}

#[tokio::test(start_paused = true)]
async fn every_object_is_the_originals() {
    let directory = std::env::var("QUINTET_ORIGINAL").unwrap_or_else(|_| {
        panic!("QUINTET_ORIGINAL names the original's directory; hack/side-by-side/mlflow sets it")
    });
    let mut report: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let (mut compared, mut met) = (0, BTreeMap::<&str, usize>::new());
    let only = std::env::var("ONLY").unwrap_or_default();
    for input in inputs().iter().filter(|input| input.name.contains(&only)) {
        let server = server(input.serves).await;
        let admin = server.admin();
        for name in &input.config_maps {
            let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name } });
            create(&admin, map).await;
        }
        if input.before_the_rules {
            for definition in support::without_rules() {
                install(&admin, definition).await;
            }
            tokio::time::sleep(Duration::from_secs(2)).await;
        }
        let mlflow = json!({ "apiVersion": "mlflow.opendatahub.io/v1", "kind": "MLflow",
            "metadata": { "name": "mlflow" }, "spec": input.spec });

        // Theirs, from nothing.
        create(&admin, mlflow.clone()).await;
        let original = start(&directory, &server, &input.variables);
        let theirs = settled(&admin).await;
        drop(original);

        // Ours takes over.
        let stage = Stage::on(server, &input.variables).await;
        let taken_over = settled(&admin).await;
        let mut lines = unmeant(&input.meant, &comparable(&theirs), &comparable(&taken_over));
        lines.iter_mut().for_each(|line| line.insert_str(0, "after a swap: "));
        if !input.meant.iter().any(|(_, part)| *part == "generation") {
            lines.extend(rewritten(&theirs, &taken_over));
        }

        // Ours, from nothing.
        stage.delete_subject().await;
        stage.until("all is gone", async || stage.owned().await.is_empty().then_some(())).await;
        create(&admin, mlflow).await;
        let ours = settled(&admin).await;
        let (theirs, ours) = (comparable(&theirs), comparable(&ours));
        lines.extend(unmeant(&input.meant, &theirs, &ours));
        let all = difference(&theirs, &ours);
        for (id, part) in &input.meant {
            *met.entry(id).or_default() += all.lines().filter(|line| line.contains(part)).count();
        }
        compared += theirs.len();
        println!("{}: {} objects and statuses, {} differences", input.name, theirs.len(), lines.len());
        if !lines.is_empty() {
            report.insert(input.name, lines);
        }
    }
    println!("{compared} objects and statuses compared; differences that are meant: {met:?}");
    assert!(report.is_empty(), "{report:#?}");
}
