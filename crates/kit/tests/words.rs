//! The kit serves any system, so it names none of those built on it.

use std::fs;
use std::path::Path;

const SYSTEMS: [&str; 8] = [
    "mlflow",
    "modelregistry",
    "model-registry",
    "model registry",
    "modelmesh",
    "trustyai",
    "maas",
    "models-as-a-service",
];

fn read(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            read(&path, found);
        } else if path != Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/words.rs") {
            let text = fs::read_to_string(&path).expect("text").to_lowercase();
            found.extend(
                SYSTEMS
                    .iter()
                    .filter(|name| text.contains(**name))
                    .map(|name| format!("{} says {name}", path.display())),
            );
        }
    }
}

#[test]
fn the_kit_has_no_word_about_any_system() {
    let (kit, mut found) = (Path::new(env!("CARGO_MANIFEST_DIR")), vec![]);
    read(kit, &mut found);
    assert_eq!(found, Vec::<String>::new());
}
