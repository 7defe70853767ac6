//! The original operator and ours on the same real API server, with the same resources: object by object, and status by
//! status. Then ours takes over from the original, as in a swap of images, and nothing may move.
//!
//! `hack/side-by-side/mlflow DIRECTORY` runs it; the directory is laid out as in the original's image. Differences that are
//! meant are named by their ids (docs/differences.md); any other fails.

#![expect(clippy::print_stdout, reason = "the run is long, and its figures are what it is run for")]

#[path = "../support/mod.rs"]
mod support;

mod inputs;
mod original;

use std::{collections::BTreeMap, time::Duration};

use inputs::{Input, inputs};
use kube::Client;
use original::Original;
use quintet_api::mlflow::MLflow;
use quintet_harness::faults::normalise;
use serde_json::{Value, json};
use support::{
    Objects, difference,
    server::{Server, install},
    stage::{Stage, create},
    stored,
};

/// Everything of the resource's that people and programs can see.
async fn seen(admin: &Client) -> Objects {
    let mut objects = stored::owned(admin).await;
    let mlflow = kube::Api::<MLflow>::all(admin.clone()).get("mlflow").await.expect("the MLflow");
    objects.insert("status".into(), serde_json::to_value(mlflow.status).expect("a status"));
    objects
}

/// What is there once nothing has changed for a while.
async fn settled(admin: &Client) -> Objects {
    let (mut before, mut calm) = (Objects::new(), 0);
    for _ in 0..240 {
        tokio::time::sleep(Duration::from_millis(250)).await;
        let now = seen(admin).await;
        calm = if now == before { calm + 1 } else { 0 };
        before = now;
        if calm >= 12 && !before["status"].is_null() {
            return before;
        }
    }
    panic!("it does not come to rest: {before:#?}");
}

fn comparable(objects: &Objects) -> Objects {
    let mut objects = objects.clone();
    objects.values_mut().for_each(normalise);
    objects
}

/// Differences line by line, those that are meant for this input taken out.
fn unmeant(input: &Input, before: &Objects, after: &Objects) -> Vec<String> {
    let lines = difference(before, after);
    let is_meant = |line: &str| input.meant.iter().any(|(_id, part)| line.contains(part));
    lines.lines().filter(|line| !is_meant(line)).map(str::to_owned).collect()
}

#[tokio::test(start_paused = true)]
async fn every_object_is_the_originals() {
    let directory = std::env::var("QUINTET_ORIGINAL").unwrap_or_else(|_| {
        panic!("QUINTET_ORIGINAL names the original's directory; hack/side-by-side/mlflow sets it")
    });
    // On one clock from here on; the stages below pause nothing.
    let mut report: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let (mut compared, mut met) = (0, BTreeMap::<&str, usize>::new());
    let only = std::env::var("ONLY").unwrap_or_default();
    let mut is_first = true;
    for input in inputs().iter().filter(|input| input.name.contains(&only)) {
        if !std::mem::take(&mut is_first) {
            tokio::time::pause(); // a new server makes it run again
        }
        let server = Server::new(input.serves).await;
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
        let original = Original::start(&directory, &server, &input.variables);
        let theirs = settled(&admin).await;
        drop(original);

        // Ours takes over.
        let stage = Stage::on(server, &input.variables).await;
        let taken_over = settled(&admin).await;
        let mut lines = unmeant(input, &comparable(&theirs), &comparable(&taken_over));
        lines.iter_mut().for_each(|line| line.insert_str(0, "after a swap: "));
        for (id, object) in &theirs {
            let generation = |object: &Value| object["metadata"]["generation"].clone();
            let now = taken_over.get(id).map_or(Value::Null, &generation);
            if generation(object) != now && !input.meant.iter().any(|(_, part)| *part == "generation") {
                lines.push(format!("the swap rewrites {id}: generation {} -> {now}", generation(object)));
            }
        }

        // Ours, from nothing.
        stage.delete_mlflow().await;
        stage.until("all is gone", async || stage.owned().await.is_empty().then_some(())).await;
        create(&admin, mlflow).await;
        let ours = settled(&admin).await;
        let (theirs, ours) = (comparable(&theirs), comparable(&ours));
        lines.extend(unmeant(input, &theirs, &ours));
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
