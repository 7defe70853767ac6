//! The files under `deploy/` are what `quintet install` would print now.

use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../deploy")
}

/// Every file below, by its path from there.
fn found(folder: &Path, within: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return vec![] };
    let paths = entries.map(|entry| entry.unwrap().path());
    let files = paths.flat_map(|path| match path.is_dir() {
        true => found(&path, within),
        false => vec![path.strip_prefix(within).unwrap().to_string_lossy().into_owned()],
    });
    files.collect()
}

#[test]
fn the_committed_files_are_up_to_date() {
    let (folder, files) = (folder(), quintet::deploy::files().unwrap());
    if std::env::var_os("UPDATE").is_some() {
        for (path, text) in &files {
            let path = folder.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
    }
    let mut committed = found(&folder, &folder);
    committed.sort();
    assert_eq!(committed, files.keys().cloned().collect::<Vec<_>>(), "files under deploy/");
    for (path, fresh) in &files {
        let text = std::fs::read_to_string(folder.join(path)).unwrap();
        assert!(&text == fresh, "deploy/{path} is stale: UPDATE=1 cargo test --workspace --test deploy");
    }
}

#[test]
fn every_right_that_differs_from_the_originals_is_explained() {
    let path = folder().join("../docs/rights.md");
    let fresh = quintet::deploy::rights_page().unwrap();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &fresh).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == fresh, "docs/rights.md is stale: UPDATE=1 cargo test --workspace --test deploy");
}
