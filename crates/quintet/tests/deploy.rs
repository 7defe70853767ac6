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

/// Holds a page against what the code makes of it.
#[track_caller]
fn assert_fresh(page: &str, fresh: &str) {
    let path = folder().join("../docs").join(page);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, fresh).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == fresh, "docs/{page} is stale: UPDATE=1 cargo test --workspace --test deploy");
}

#[test]
fn every_right_that_differs_from_the_originals_is_explained() {
    assert_fresh("rights.md", &quintet::deploy::rights_page().unwrap());
}

#[test]
fn the_runbook_explains_every_metric_and_alert() {
    let page = quintet::deploy::runbook_page().unwrap();
    assert_fresh("runbook.md", &page);
    for family in quintet::deploy::families().unwrap() {
        let name = family.described.name;
        assert!(page.contains(&format!("| `{name}` |")), "{name} is not in the runbook");
    }
}

/// Words in the sources below that look like a reason and are none.
const NO_REASONS: &[&str] = &[
    "Accepted",
    "Admitted",
    "Completed",
    "ConfigMaps",
    "ConsoleLink",
    "ContainerCreating",
    "Created",
    "False",
    "Group",
    "HTTPRoute",
    "Migrate",
    "ModelRegistry",
    "PersistentVolumeClaims",
    "ReadWriteOnce",
    "Ready",
    "Reconcile",
    "ReplicaFailure",
    "ResolvedRefs",
    "RoleBinding",
    "Secrets",
    "Status",
    "True",
    "Unknown",
    "Updated",
];

/// Of the kit, where reasons come from; of a system, everything but these.
const IN_THE_KIT: [&str; 5] =
    ["error.rs", "finalizer.rs", "apply/error.rs", "status/writer.rs", "run/controller.rs"];
const ABOUT_CHILDREN: [&str; 8] = [
    "/desired/",
    "/install/",
    "wiring.rs",
    "/webhook/",
    "names.rs",
    "config.rs",
    "/parts/",
    "/migration/by_",
];

/// Texts in a source that read like a reason or a condition: `DeploymentNotReady`.
fn reasons(source: &str) -> Vec<String> {
    let code = source.split("#[cfg(test)]").next().unwrap_or_default();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let texts = lines.flat_map(|line| line.split('"').skip(1).step_by(2));
    let reads_like_one = |text: &&str| {
        text.len() > 3
            && text.starts_with(|c: char| c.is_ascii_uppercase())
            && text.chars().all(|c| c.is_ascii_alphabetic())
            && text.chars().any(|c| c.is_ascii_lowercase())
    };
    texts.filter(reads_like_one).map(Into::into).collect()
}

#[test]
fn the_runbook_explains_every_condition_and_reason_that_the_code_gives() {
    let page = quintet::deploy::runbook_page().unwrap();
    let crates = folder().join("../crates");
    let mut sources: Vec<PathBuf> = IN_THE_KIT.map(|file| crates.join("kit/src").join(file)).into();
    for system in quintet::systems::NAMES {
        let within = crates.join(system).join("src");
        let ours = found(&within, &within).into_iter().map(|file| within.join(file));
        sources.extend(ours.filter(|path| {
            let path = path.to_string_lossy();
            path.ends_with(".rs") && !ABOUT_CHILDREN.iter().any(|part| path.contains(part))
        }));
    }
    let mut unexplained = vec![];
    let mut seen = 0;
    for source in sources {
        for reason in reasons(&std::fs::read_to_string(&source).unwrap()) {
            seen += 1;
            if !NO_REASONS.contains(&reason.as_str()) && !page.contains(&format!("`{reason}`")) {
                unexplained.push(format!("{reason} ({})", source.display()));
            }
        }
    }
    assert!(seen > 50, "the sources were not found");
    assert!(
        unexplained.is_empty(),
        "not in crates/quintet/src/deploy/monitoring/runbook.md: {unexplained:#?}"
    );
}

/// No container runtime is needed to see that the Dockerfile speaks of things that there are.
#[test]
fn the_dockerfile_builds_what_this_workspace_is() {
    let root = folder().join("..");
    let dockerfile = std::fs::read_to_string(root.join("Dockerfile")).unwrap();
    let manifest = std::fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let version =
        manifest.lines().find_map(|line| line.strip_prefix("rust-version = ")).unwrap().trim_matches('"');
    assert!(
        dockerfile.contains(&format!("FROM rust:{version}-alpine AS build")),
        "another Rust than {version}"
    );
    let names = dockerfile.lines().find_map(|line| line.trim().strip_prefix("&& for name in ")).unwrap();
    let mut names: Vec<&str> = names.split(';').next().unwrap().split(' ').collect();
    names.sort_unstable();
    let mut originals = quintet::multicall::NAMES;
    originals.sort_unstable();
    assert_eq!(names, originals, "the originals' programs");
    let last = dockerfile.split("\nFROM ").last().unwrap();
    assert!(
        last.starts_with("scratch\n") && last.contains("\nUSER 1001:1001\n"),
        "not root, and nothing else: {last}"
    );
    assert!(
        last.contains("ENTRYPOINT [\"/usr/bin/quintet\"]") && dockerfile.contains(" /image/usr/bin/quintet ")
    );
    assert!(dockerfile.contains("hack/sbom >") && root.join("hack/sbom").is_file(), "the list of parts");
    let ignored = std::fs::read_to_string(root.join(".dockerignore")).unwrap();
    assert!(ignored.lines().all(|line| !["crates", "hack", "Cargo.lock"].contains(&line)), "{ignored}");
}
