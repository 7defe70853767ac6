//! Manifests judged by both servers: each document, as it is and with each of its fields broken in turn, gets the same
//! verdict and the same words from the plane as from the real server, under strict validation.
//!
//! The manifests are those of `tests/samples`, or of the directory that `PLANE_SAMPLES` names: all YAML files below it,
//! definitions and resources of the kinds they define. What else lies there is passed over.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use futures::StreamExt as _;
use kube::Client;
use plane::Plane;
use quintet_harness::{kube::Cluster, or_skip};
use serde_json::{Value, json};

use crate::support::{Answer, get, request, send};

const NAMESPACE: &str = "samples";
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// A document and the file it stands in.
struct Document {
    file: String,
    value: Value,
}

#[tokio::test(flavor = "multi_thread")]
async fn samples_are_judged_as_the_real_server_judges_them() {
    let own = || Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples");
    let directory = std::env::var_os("PLANE_SAMPLES").map_or_else(own, PathBuf::from);
    let documents = read(&directory);
    let Some(cluster) = or_skip("samples on a real server", Cluster::shared().await) else { return };
    let real = cluster.client().await.expect("a client");
    let plane = Plane::new();
    let ours = plane.client();
    for server in [&real, &ours] {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
        send(server, request("POST", "/api/v1/namespaces", &namespace)).await;
    }
    let (definitions, samples): (Vec<Document>, Vec<Document>) =
        documents.into_iter().partition(|document| document.value["kind"] == "CustomResourceDefinition");
    let mut differences = Vec::new();
    for definition in &definitions {
        let (theirs, mine) =
            (install(&real, &definition.value).await, install(&ours, &definition.value).await);
        if theirs != mine {
            differences.push(format!("{}: installed as {theirs}, here {mine}", definition.file));
        }
    }
    let kinds = kinds(&definitions);
    let (mut accepted, mut refused, mut broken, mut named) = (Vec::new(), Vec::new(), 0, 0);
    for sample in &samples {
        let Some(path) = kinds.get(&group_version_kind(&sample.value)) else { continue };
        let what = format!("{} ({})", sample.file, text(&sample.value, "/metadata/name"));
        let theirs = verdict(&real, path, &sample.value).await;
        let mine = verdict(&ours, path, &sample.value).await;
        if theirs != mine {
            differences.push(format!("{what}\n  real:  {theirs}\n  plane: {mine}"));
        }
        if theirs.code != 201 {
            refused.push(format!("{what}: {}", theirs.message));
            continue;
        }
        accepted.push(what.clone());
        let all = breakings(&sample.value);
        let judged: Vec<(String, Verdict, Verdict)> = futures::stream::iter(all)
            .map(|(field, object)| {
                let (real, ours) = (&real, &ours);
                async move { (field, verdict(real, path, &object).await, verdict(ours, path, &object).await) }
            })
            .buffered(8)
            .collect()
            .await;
        broken += judged.len();
        for (field, theirs, mine) in &judged {
            if theirs != mine {
                differences.push(format!("{what} with {field} broken\n  real:  {theirs}\n  plane: {mine}"));
            }
        }
        let names_it = |(field, _, mine): &&(String, Verdict, Verdict)| {
            mine.code >= 400 && mine.message.contains(field.as_str())
        };
        let naming = judged.iter().filter(names_it).count();
        named += naming;
        if naming == 0 {
            differences.push(format!("{what}: no broken field is refused by its name"));
        }
    }
    println!("{} definitions, {} accepted, {} refused", definitions.len(), accepted.len(), refused.len());
    println!("{broken} broken fields, {named} refused by name; the others lie where anything may stand");
    println!("accepted:\n  {}\nrefused:\n  {}", accepted.join("\n  "), refused.join("\n  "));
    assert!(!accepted.is_empty(), "{} has no samples", directory.display());
    assert!(differences.is_empty(), "{} differences:\n{}", differences.len(), differences.join("\n"));
}

/// All documents below a directory, in order; the items of a List one by one.
fn read(directory: &Path) -> Vec<Document> {
    let mut found = Vec::new();
    let mut entries: Vec<PathBuf> = std::fs::read_dir(directory)
        .unwrap_or_else(|e| panic!("{}: {e}", directory.display()))
        .map(|entry| entry.expect("a readable directory").path())
        .collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            found.extend(read(&path));
        } else if path.extension().is_some_and(|extension| extension == "yaml") {
            let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            let values: Vec<Value> =
                serde_saphyr::from_multiple(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            for value in values {
                let items = value["items"].as_array().filter(|_| value["kind"] == "List").cloned();
                let file = path.display().to_string();
                let documents = items.unwrap_or_else(|| vec![value]).into_iter();
                found.extend(documents.map(|value| Document { file: file.clone(), value }));
            }
        }
    }
    found
}

/// Applies a definition and waits until it is served, or tells why it is not.
async fn install(server: &Client, definition: &Value) -> String {
    let name = text(definition, "/metadata/name");
    let path = format!("{DEFINITIONS}/{name}?fieldManager=samples&force=true&fieldValidation=Strict");
    let mut apply = request("PATCH", &path, definition);
    apply.headers_mut().insert("content-type", "application/apply-patch+yaml".parse().expect("a type"));
    let made = send(server, apply).await;
    if made.code >= 400 {
        return format!("{} {}", made.code, made.text("/message"));
    }
    let established = |answer: &Answer| {
        let conditions = answer.at("/status/conditions").as_array().cloned().unwrap_or_default();
        conditions.iter().any(|c| c["type"] == "Established" && c["status"] == "True")
    };
    for _ in 0..600 {
        if established(&get(server, &format!("{DEFINITIONS}/{name}")).await) {
            return "established".into();
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    "never established".into()
}

/// The path of the objects of each served kind.
fn kinds(definitions: &[Document]) -> BTreeMap<(String, String), String> {
    let mut kinds = BTreeMap::new();
    for definition in definitions {
        let spec = &definition.value["spec"];
        let (group, plural) = (text(spec, "/group"), text(spec, "/names/plural"));
        for version in spec["versions"].as_array().into_iter().flatten().filter(|v| v["served"] == true) {
            let api_version = format!("{group}/{}", text(version, "/name"));
            let namespace = if spec["scope"] == "Namespaced" {
                format!("namespaces/{NAMESPACE}/")
            } else {
                String::new()
            };
            let path = format!("/apis/{api_version}/{namespace}{plural}?dryRun=All&fieldValidation=Strict");
            kinds.insert((api_version, text(spec, "/names/kind")), path);
        }
    }
    kinds
}

fn group_version_kind(object: &Value) -> (String, String) {
    (text(object, "/apiVersion"), text(object, "/kind"))
}

/// What a server says about creating an object: its words, or the object as it would be stored.
struct Verdict {
    code: u16,
    message: String,
    warnings: Vec<String>,
    object: Value,
}

impl PartialEq for Verdict {
    fn eq(&self, other: &Verdict) -> bool {
        // The real server walks some maps in no order, so the parts of a message have none here either.
        let parts = |verdict: &Verdict| {
            let mut parts: Vec<String> =
                verdict.message.split([',', '[', ']']).map(|part| part.trim().to_owned()).collect();
            parts.sort_unstable();
            parts
        };
        (self.code, &self.warnings, &self.object) == (other.code, &other.warnings, &other.object)
            && parts(self) == parts(other)
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Verdict { code, message, warnings, object } = self;
        write!(f, "{code} {message} {warnings:?} {object}")
    }
}

async fn verdict(server: &Client, path: &str, object: &Value) -> Verdict {
    let mut object = object.clone();
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.remove("namespace");
    }
    // A definition that was just established may take a moment to be served everywhere.
    let mut tries = 0;
    let answer = loop {
        let answer = send(server, request("POST", path, &object)).await;
        tries += 1;
        if answer.code != 404 || tries == 100 {
            break answer;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    };
    let mut verdict = Verdict {
        code: answer.code,
        message: answer.text("/message").to_owned(),
        warnings: answer.warnings(),
        object: Value::Null,
    };
    if answer.code < 400 {
        verdict.object = answer.body.clone();
        if let Some(metadata) = verdict.object["metadata"].as_object_mut() {
            for chance in ["uid", "creationTimestamp", "managedFields", "name"] {
                metadata.remove(chance);
            }
        }
    }
    verdict
}

/// The object with each scalar and each empty value of its `spec` replaced by something of another type, by path.
fn breakings(object: &Value) -> Vec<(String, Value)> {
    let mut places = Vec::new();
    leaves(&object["spec"], "spec".into(), "/spec".into(), &mut places);
    let breaking = |(field, pointer): (String, String)| {
        let mut object = object.clone();
        let place = object.pointer_mut(&pointer).expect("a place just found");
        *place = if place.is_object() || place.is_array() { json!("broken") } else { json!(["broken"]) };
        (field, object)
    };
    places.into_iter().map(breaking).collect()
}

fn leaves(value: &Value, field: String, pointer: String, places: &mut Vec<(String, String)>) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (name, value) in fields {
                let escaped = name.replace('~', "~0").replace('/', "~1");
                leaves(value, format!("{field}.{name}"), format!("{pointer}/{escaped}"), places);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (index, value) in items.iter().enumerate() {
                leaves(value, format!("{field}[{index}]"), format!("{pointer}/{index}"), places);
            }
        }
        _ => places.push((field, pointer)),
    }
}

fn text(value: &Value, pointer: &str) -> String {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}
