//! The original operator and ours on the same real API server, with the same resources: object by object, and status by
//! status. Then ours takes over from the original, as in a swap of images, and nothing may move.
//!
//! `hack/side-by-side/model-registry DIRECTORY` runs it; the directory has the original's program, `manager`. Differences
//! that are meant are named by their ids (docs/differences.md); any other fails.

#![expect(clippy::print_stdout, reason = "the run is long, and its figures are what it is run for")]

#[allow(dead_code, unused_imports, reason = "the scenarios use the rest")]
#[path = "../model-registry/support/mod.rs"]
mod support;

mod inputs;

use std::collections::BTreeMap;

use inputs::{Input, inputs};
use kube::{Client, ResourceExt};
use quintet_stage::{
    Play, Server, Stage,
    objects::{Objects, difference, id},
    original::{Original, calm, comparable, rewritten, unmeant},
    stage::{create, everything},
};
use serde_json::{Value, json};
use support::stage::{NAMESPACE, play, registry};

/// The original's copy of what it sent last, which is not in ours.
const LAST_APPLIED: &str = "banzaicloud.com/last-applied";

/// Everything of the operator's that people and programs can see. Passwords are random.
async fn seen(admin: &Client, play: &Play) -> Objects {
    let mut found = Objects::new();
    for object in everything(admin, play).await {
        let is_ours = object.labels().get("app.kubernetes.io/created-by").is_some()
            || object.owner_references().iter().any(|owner| owner.kind == "ModelRegistry");
        if !is_ours {
            continue;
        }
        let mut value = json!(object);
        let fields = value.as_object_mut().expect("an object");
        fields.remove("status");
        fields.entry("data").and_modify(|data| {
            if object.types.as_ref().is_some_and(|types| types.kind == "Secret") {
                data.as_object_mut().into_iter().flatten().for_each(|(_, value)| *value = json!("random"));
            }
        });
        let metadata = value["metadata"].as_object_mut().expect("metadata");
        ["managedFields", "resourceVersion"].iter().for_each(|field| drop(metadata.remove(*field)));
        if let Some(Value::Object(annotations)) = metadata.get_mut("annotations") {
            annotations.remove(LAST_APPLIED);
            if annotations.is_empty() {
                metadata.remove("annotations");
            }
        }
        found.insert(id(&value), value);
    }
    let subjects: kube::Api<kube::api::DynamicObject> =
        kube::Api::namespaced_with(admin.clone(), NAMESPACE, &play.subject.resource);
    if let Some(subject) = subjects.get_opt("reg").await.expect("an answer") {
        found.insert("spec".into(), subject.data["spec"].clone());
        // In the original their order depends on what its cache showed first.
        let mut status = subject.data["status"].clone();
        if let Some(Value::Array(conditions)) = status.get_mut("conditions") {
            conditions.sort_by_key(|condition| condition["type"].to_string());
        }
        found.insert("status".into(), status);
    }
    found
}

/// What is there once all is said: of a registry, once its server is up.
async fn settled(admin: &Client, play: &Play, input: &Input) -> Objects {
    let is_said = |objects: &Objects| match &input.spec {
        Some(_) => objects["status"]["conditions"].as_array().into_iter().flatten().any(|condition| {
            let waits = ["DeploymentCooldown", "DeploymentUnavailable"];
            condition["type"] == "Available" && !waits.iter().any(|reason| condition["reason"] == *reason)
        }),
        None => objects.contains_key("ClusterRoleBinding/model-catalog-auth-delegator"),
    };
    calm(async || seen(admin, play).await, is_said).await
}

fn subject(input: &Input) -> Option<Value> {
    let mut object = registry("reg", input.spec.clone()?);
    object["metadata"]["annotations"] =
        json!({ "openshift.io/display-name": "A", "openshift.io/description": "B" });
    Some(object)
}

#[tokio::test(start_paused = true)]
async fn every_object_is_the_originals() {
    let directory = std::env::var("QUINTET_ORIGINAL").unwrap_or_else(|_| {
        panic!("QUINTET_ORIGINAL names the original's directory; hack/side-by-side/model-registry sets it")
    });
    let mut report: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let (mut compared, mut met) = (0, BTreeMap::<&str, usize>::new());
    let only = std::env::var("ONLY").unwrap_or_default();
    for input in inputs().iter().filter(|input| input.name.contains(&only)) {
        let play = play(input.serves, &input.variables);
        let server = Server::new(&play).await;
        let admin = server.admin();
        let Server::Real(real) = &server else { panic!("run it with QUINTET_SCENARIOS=real") };
        real.cluster.schedule_pods(true).await.expect("nodes");
        for object in &input.beside {
            create(&admin, NAMESPACE, object.clone()).await.expect("it is accepted");
        }

        // Theirs, from nothing.
        if let Some(subject) = subject(input) {
            create(&admin, NAMESPACE, subject).await.expect("it is accepted");
        }
        let mut variables = input.variables.clone();
        variables.push(("ENABLE_WEBHOOKS", "false"));
        let original = Original::start(&directory, &server, &[], &variables);
        let theirs = settled(&admin, &play, input).await;
        drop(original);

        // Ours takes over.
        let mut stage = Stage::on(server, play.clone()).await;
        let taken_over = settled(&admin, &play, input).await;
        let mut lines = unmeant(&input.meant, &comparable(&theirs), &comparable(&taken_over));
        let moved = rewritten(&theirs, &taken_over);
        lines.extend(
            moved.into_iter().filter(|line| !input.meant.iter().any(|(_, part)| line.contains(part))),
        );
        lines.iter_mut().for_each(|line| line.insert_str(0, "after a swap: "));

        // Ours, from nothing.
        stage.stop();
        quintet_stage::server::clear(&admin, &play).await;
        quintet_stage::server::prepare(&admin, &play).await;
        for object in input.beside.iter().cloned().chain(subject(input)) {
            create(&admin, NAMESPACE, object).await.expect("it is accepted");
        }
        stage.start().await;
        let ours = settled(&admin, &play, input).await;
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
