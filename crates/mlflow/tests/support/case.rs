//! The four worked cases of the specification: resources, and the objects that the original makes of them.

use std::{fs, path::Path};

use serde_json::Value;

use super::{Objects, UID, id};

fn file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

pub fn resource(case: &str) -> Value {
    serde_saphyr::from_str(&file(&format!("{case}.cr.yaml"))).expect("an MLflow")
}

/// The objects, owned by the resource of this identity.
pub fn objects(case: &str, uid: &str) -> Objects {
    let text = file(&format!("{case}.objects.yaml")).replace(UID, uid);
    let objects: Vec<Value> = serde_saphyr::from_multiple(&text).expect("objects");
    objects.into_iter().map(|object| (id(&object), object)).collect()
}
