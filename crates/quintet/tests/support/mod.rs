//! A local cluster and the program, as processes.

#![allow(dead_code, unreachable_pub)] // each test target uses some of it

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

const QUINTET: &str = env!("CARGO_BIN_EXE_quintet");

/// A local cluster in a folder of its own; killed if a test fails before it stops it.
pub struct Up {
    /// Where it and its commands run.
    pub folder: TempDir,
    /// The running `quintet up`.
    pub process: Child,
    /// What it printed once it was ready.
    pub line: Value,
}

impl Up {
    /// Starts it, and waits until it is ready.
    pub fn start(flags: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut process = quintet(folder.path())
            .args(["up", "-o", "json"])
            .args(flags)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        if line.is_empty() {
            let told = process.wait_with_output().unwrap();
            panic!("ended before it was ready: {}", String::from_utf8_lossy(&told.stderr));
        }
        Up { folder, process, line: serde_json::from_str(&line).unwrap() }
    }

    /// Runs a command beside it.
    pub fn run(&self, arguments: &[&str]) -> Output {
        quintet(self.folder.path()).args(arguments).output().unwrap()
    }

    /// Runs a command that must succeed, and gives what it printed.
    pub fn prints(&self, arguments: &[&str]) -> String {
        let done = self.run(arguments);
        assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    }

    /// Runs a command that must fail with this exit code, and gives what it said.
    pub fn refuses(&self, code: i32, arguments: &[&str]) -> String {
        let done = self.run(arguments);
        let said = String::from_utf8(done.stderr).unwrap();
        assert_eq!(done.status.code(), Some(code), "{arguments:?}: {said}");
        said
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The program, in a folder that is also its home, with nothing set.
pub fn quintet(folder: &Path) -> Command {
    let mut command = Command::new(QUINTET);
    command.current_dir(folder).env_clear().env("PATH", "").env("HOME", folder);
    command
}
