//! The original operator beside ours, on the same real control plane with the same resources.

use std::{path::Path, process::Command, time::Duration};

use quintet_harness::{Process, Scratch, Stop, faults::normalise};

use crate::{
    Server,
    objects::{Objects, difference},
};

/// The original as a process. It ends when this is dropped.
#[derive(Debug)]
pub struct Original {
    _process: Process,
    _scratch: Scratch,
}

impl Original {
    /// Starts the program `manager` of a directory, with every right (an original's own role may lack some that it gives
    /// away), listening nowhere.
    ///
    /// # Panics
    /// If the server is not a real one, or the program cannot be started.
    pub fn start(directory: &str, server: &Server, flags: &[&str], variables: &[(&str, &str)]) -> Self {
        let Server::Real(real) = server else { panic!("run it with QUINTET_SCENARIOS=real") };
        let scratch = Scratch::new("quintet-original-").expect("a directory");
        let directory = Path::new(directory);
        let mut command = Command::new(directory.join("manager"));
        command.current_dir(directory).env("KUBECONFIG", real.cluster.kubeconfig().expect("a kubeconfig"));
        command.args(["--metrics-bind-address=0", "--health-probe-bind-address=0"]).args(flags);
        command.envs(variables.iter().copied());
        let log = scratch.path().join("original.log");
        let process = Process::start(&command, &log, Stop::Kill).expect("it starts");
        Original { _process: process, _scratch: scratch }
    }
}

/// What is there once nothing has changed for three seconds, and `is_done`.
///
/// # Panics
/// If that does not happen within a minute and a half.
pub async fn calm(look: impl AsyncFn() -> Objects, is_done: impl Fn(&Objects) -> bool) -> Objects {
    let (mut before, mut calm) = (Objects::new(), 0);
    for _ in 0..360 {
        tokio::time::sleep(Duration::from_millis(250)).await;
        let now = look().await;
        calm = if now == before { calm + 1 } else { 0 };
        before = now;
        if calm >= 12 && is_done(&before) {
            return before;
        }
    }
    panic!("it does not come to rest: {before:#?}");
}

/// Objects without what differs from run to run.
#[must_use]
pub fn comparable(objects: &Objects) -> Objects {
    let mut objects = objects.clone();
    objects.values_mut().for_each(normalise);
    objects
}

/// Differences line by line, without those that contain a part that is `meant`. Each part comes with its id in
/// `docs/differences.md`.
#[must_use]
pub fn unmeant(meant: &[(&str, &str)], before: &Objects, after: &Objects) -> Vec<String> {
    let lines = difference(before, after);
    let is_meant = |line: &str| meant.iter().any(|(_id, part)| line.contains(part));
    lines.lines().filter(|line| !is_meant(line)).map(str::to_owned).collect()
}

/// Objects whose specification moved in a swap: their generation is another.
#[must_use]
pub fn rewritten(before: &Objects, after: &Objects) -> Vec<String> {
    let generation = |object: &serde_json::Value| object["metadata"]["generation"].clone();
    let mut lines = vec![];
    for (id, object) in before {
        let now = after.get(id).map(&generation).unwrap_or_default();
        if generation(object) != now {
            lines.push(format!("the swap rewrites {id}: generation {} -> {now}", generation(object)));
        }
    }
    lines
}
