//! The scripts, run by the shell that pods run them with.

use super::{COMBINE_SCRIPT, WATCH_SCRIPT};
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// A pod's file system in small: the image's bundle, two mounted ConfigMaps, and the directory of the combined one.
struct Pod(tempfile::TempDir);

impl Pod {
    fn new() -> Self {
        let pod = Pod(tempfile::tempdir().unwrap());
        for dir in ["platform", "custom", "combined"] {
            fs::create_dir(pod.path(dir)).unwrap();
        }
        pod.write("system.crt", "-----BEGIN CERTIFICATE-----\nsystem\n");
        pod
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn combined(&self) -> String {
        fs::read_to_string(self.path("combined/ca-bundle.crt")).unwrap()
    }

    fn shell(&self, script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]).env("CA_BUNDLE_WATCH_INTERVAL", "0.05");
        command.env("CA_BUNDLE_FILE_PATHS", format!("{} /does/not/exist", self.path("system.crt").display()));
        let mounts =
            format!("{} {} /neither", self.path("platform").display(), self.path("custom").display());
        command.env("CA_BUNDLE_MOUNT_PATHS", mounts);
        command.env("CA_BUNDLE_OUTPUT", self.path("combined/ca-bundle.crt"));
        command
    }
}

#[test]
fn sources_are_combined_in_order_and_missing_ones_skipped() {
    let pod = Pod::new();
    pod.write("custom/b.crt", "custom b\n");
    pod.write("custom/a.pem", "custom a, no newline");
    pod.write("platform/z.crt", "-----BEGIN CERTIFICATE-----\nplatform\n");
    pod.write("platform/.hidden.crt", "hidden");
    pod.write("platform/notes.txt", "notes");
    pod.write("elsewhere", "linked\n");
    symlink(pod.path("elsewhere"), pod.path("custom/a b.crt")).unwrap();
    let output = pod.shell(COMBINE_SCRIPT).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let expected = "-----BEGIN CERTIFICATE-----\nsystem\n\n-----BEGIN CERTIFICATE-----\nplatform\n\nlinked\n\ncustom b\n\ncustom a, no newline\n";
    assert_eq!(pod.combined(), expected);
    let said = String::from_utf8(output.stdout).unwrap();
    let file = pod.path("combined/ca-bundle.crt");
    assert_eq!(said, format!("Combined 5 CA bundle sources into {}\nCertificate count: 2\n", file.display()));
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o644);
    assert!(!pod.path("combined/ca-bundle.crt.tmp").exists());
}

#[test]
fn no_source_at_all_is_an_empty_bundle() {
    let pod = Pod::new();
    fs::remove_file(pod.path("system.crt")).unwrap();
    assert!(pod.shell(COMBINE_SCRIPT).status().unwrap().success());
    assert_eq!(pod.combined(), "");
}

#[test]
fn a_failure_ends_the_init_container_and_leaves_the_old_bundle() {
    let pod = Pod::new();
    pod.write("combined/ca-bundle.crt", "old");
    fs::create_dir(pod.path("combined/ca-bundle.crt.tmp")).unwrap();
    assert!(!pod.shell(COMBINE_SCRIPT).stderr(Stdio::null()).status().unwrap().success());
    assert_eq!(pod.combined(), "old");
}

/// The watcher with its output as lines; stopped when dropped.
struct Watcher(Child, Box<dyn Iterator<Item = String>>);

impl Watcher {
    fn start(pod: &Pod) -> Self {
        let mut child = pod.shell(WATCH_SCRIPT).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        Watcher(child, Box::new(lines))
    }

    fn until(&mut self, start: &str) -> String {
        self.1.by_ref().find(|line| line.starts_with(start)).expect("the watcher goes on")
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_watcher_combines_when_a_source_changes() {
    let pod = Pod::new();
    assert!(pod.shell(COMBINE_SCRIPT).status().unwrap().success());
    let mut watcher = Watcher::start(&pod);
    watcher.until("CA bundle watcher started");
    watcher.until("Checksum: ");
    pod.write("custom/new.crt", "new\n");
    assert!(watcher.until("CA bundle change detected").contains("(checksum: "));
    watcher.until("Combined CA bundle updated successfully");
    assert!(pod.combined().ends_with("new\n\n"));
}

#[test]
fn the_watcher_catches_up_with_a_change_it_missed() {
    let pod = Pod::new();
    assert!(pod.shell(COMBINE_SCRIPT).status().unwrap().success());
    pod.write("custom/new.crt", "new\n");
    Watcher::start(&pod).until("Combined CA bundle updated successfully");
    assert!(pod.combined().ends_with("new\n\n"));
}

#[test]
fn the_watcher_tries_again_after_a_failure() {
    let pod = Pod::new();
    assert!(pod.shell(COMBINE_SCRIPT).status().unwrap().success());
    let mut watcher = Watcher::start(&pod);
    watcher.until("Checksum: ");
    fs::create_dir(pod.path("combined/ca-bundle.crt.tmp")).unwrap();
    pod.write("custom/new.crt", "new\n");
    watcher.until("ERROR: Failed to regenerate combined CA bundle");
    fs::remove_dir(pod.path("combined/ca-bundle.crt.tmp")).unwrap();
    watcher.until("Combined CA bundle updated successfully");
}
