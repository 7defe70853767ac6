//! How the tests of a program tell one of them what was asked.

use std::{
    collections::BTreeSet,
    fs::OpenOptions,
    io::Write as _,
    path::PathBuf,
    process::{Command, Stdio},
};

use super::Use;

/// Names the folder into which tests note what was asked. Not set, they note nothing.
const FOLDER: &str = "QUINTET_RIGHTS_USED";

/// Whether anybody wants to know.
pub(super) fn are_taken() -> bool {
    std::env::var_os(FOLDER).is_some()
}

/// Notes what was asked, if anybody wants to know.
///
/// # Panics
/// If it cannot be written down: a use that got lost would look like a right that nobody needs.
pub(super) fn take(uses: impl IntoIterator<Item = Use>) {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let path = PathBuf::from(folder).join(format!("{:?}", std::thread::current().id()));
    let uses: BTreeSet<Use> = uses.into_iter().collect();
    let lines: String =
        uses.iter().map(|one| serde_json::to_string(one).expect("plain text") + "\n").collect();
    let mut file = OpenOptions::new().create(true).append(true).open(path).expect("the folder is there");
    file.write_all(lines.as_bytes()).expect("the disk has room");
}

/// Runs all tests of this program but those whose names contain one of `except`, and gives what they noted.
///
/// # Panics
/// If one of them fails.
pub(super) fn of_all_others(except: &[&str]) -> BTreeSet<Use> {
    let folder = tempfile::tempdir().expect("a folder");
    let done = Command::new(std::env::current_exe().expect("a test program"))
        .args(except.iter().flat_map(|name| ["--skip", name]))
        .env(FOLDER, folder.path())
        .env_remove("QUINTET_SCENARIOS") // on a plane, which knows who asked for what
        .stdin(Stdio::null())
        .output()
        .expect("it ran before");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
    let files = std::fs::read_dir(folder.path()).expect("the folder");
    let texts = files.map(|file| std::fs::read_to_string(file.expect("a file").path()).expect("text"));
    let uses = texts.flat_map(|text| {
        text.lines().map(|line| serde_json::from_str(line).expect("a use")).collect::<Vec<Use>>()
    });
    uses.collect()
}
