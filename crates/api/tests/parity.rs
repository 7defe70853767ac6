//! Every CustomResourceDefinition we write from Rust types equals the original's, fact by fact.

use std::{collections::BTreeMap, fs, path::Path};

use kube::ResourceExt;
use quintet_api::crd::facts;

/// Recorded facts by the name of the definition they are of.
fn recorded() -> BTreeMap<String, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("facts");
    fs::read_dir(folder)
        .expect("the facts folder")
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| path.extension().is_some_and(|e| e == "facts"))
        .map(|path| {
            let name = path.file_stem().expect("a file name").to_string_lossy().into_owned();
            (name, fs::read_to_string(path).expect("a readable file"))
        })
        .collect()
}

#[test]
fn every_definition_has_the_originals_facts() {
    let recorded = recorded();
    let mut differences = Vec::new();
    for crd in quintet_api::crds() {
        let name = crd.name_any();
        let json = serde_json::to_value(&crd).expect("serializable");
        match recorded.get(&name) {
            Some(facts) => {
                differences.extend(facts::difference(&json, facts).iter().map(|d| format!("{name}: {d}")));
            }
            None => differences.push(format!("{name}: no facts/{name}.facts")),
        }
    }
    assert!(differences.is_empty(), "{} differences:\n{}", differences.len(), differences.join("\n"));
}

#[test]
fn every_recorded_definition_is_ours() {
    let ours: Vec<String> = quintet_api::crds().iter().map(ResourceExt::name_any).collect();
    let unknown: Vec<String> = recorded().into_keys().filter(|name| !ours.contains(name)).collect();
    assert!(unknown.is_empty(), "facts of no definition: {unknown:?}");
}

#[test]
fn a_difference_is_found() {
    let crd = serde_json::to_value(&quintet_api::crds()[0]).expect("serializable");
    let mut facts: Vec<String> = facts::facts(&crd).into_iter().collect();
    assert_eq!(facts::difference(&crd, &facts.join("\n")), Vec::<String>::new());
    let lost = facts.remove(3);
    assert_eq!(facts::difference(&crd, &facts.join("\n")), [format!("+ {lost}")]);
}
