//! kubectl, for one cluster.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

pub(crate) struct Kubectl {
    program: PathBuf,
    kubeconfig: PathBuf,
    cache: TempDir,
}

impl Kubectl {
    pub(crate) fn new(program: PathBuf, kubeconfig: PathBuf) -> Self {
        Kubectl { program, kubeconfig, cache: tempfile::tempdir().unwrap() }
    }

    /// Runs a command; its words are parted by spaces.
    pub(crate) fn run(&self, arguments: &str, input: &str) -> Output {
        self.run_with(arguments, input, "false")
    }

    fn run_with(&self, arguments: &str, input: &str, editor: &str) -> Output {
        let mut child = Command::new(&self.program)
            .arg("--kubeconfig")
            .arg(&self.kubeconfig)
            .arg("--cache-dir")
            .arg(self.cache.path())
            .args(arguments.split(' '))
            .env("KUBE_EDITOR", editor)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes()); // it may not read any
        child.wait_with_output().unwrap()
    }

    /// Runs a command that must succeed: what it printed, and what it warned of.
    #[track_caller]
    pub(crate) fn ok(&self, arguments: &str, input: &str) -> (String, String) {
        succeeded(arguments, &self.run(arguments, input))
    }

    /// The same for one that the operator, which writes too, may come in between of.
    #[track_caller]
    pub(crate) fn ok_at_last(&self, arguments: &str, input: &str) {
        let mut done = self.run(arguments, input);
        for _ in 0..20 {
            if !String::from_utf8_lossy(&done.stderr).contains("(Conflict)") {
                break;
            }
            done = self.run(arguments, input);
        }
        succeeded(arguments, &done);
    }

    /// `kubectl edit`, by somebody who replaces one text by another.
    #[track_caller]
    pub(crate) fn edit(&self, arguments: &str, from: &str, to: &str) {
        let arguments = format!("edit {arguments}");
        let done = self.run_with(&arguments, "", &format!("sed -i s/{from}/{to}/"));
        let (out, _) = succeeded(&arguments, &done);
        assert!(out.ends_with(" edited\n"), "{out}");
    }

    /// Runs a command that must be refused: what it said.
    #[track_caller]
    pub(crate) fn refused(&self, arguments: &str, input: &str) -> String {
        let done = self.run(arguments, input);
        let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
        assert!(!done.status.success(), "kubectl {arguments} was let in\n{out}");
        err.into_owned()
    }

    #[track_caller]
    pub(crate) fn json(&self, arguments: &str) -> Value {
        serde_json::from_str(&self.ok(&format!("{arguments} -o json"), "").0).unwrap()
    }
}

#[track_caller]
fn succeeded(arguments: &str, done: &Output) -> (String, String) {
    let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success(), "kubectl {arguments}\n{out}{err}");
    (out.into_owned(), err.into_owned())
}
