//! `quintet up`: how long until it is ready, and what it holds in memory when nothing happens.
//!
//! ```text
//! cargo bench -p quintet --bench up
//! ```
#![allow(clippy::print_stdout)] // what a benchmark is for

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How often each is started.
const ROUNDS: usize = 9;

/// How long it is left alone before its memory is read.
const REST: Duration = Duration::from_secs(5);

fn main() {
    if std::env::args().any(|argument| argument == "--test") {
        return; // `cargo test --benches` only wants to know that it builds
    }
    println!(
        "| what runs | ready after, median | ready after, slowest | resident at rest | processor time at rest |"
    );
    println!("|---|---|---|---|---|");
    for (what, flags) in [
        ("all operators and maas-api", [].as_slice()),
        ("the same, as on OpenShift", ["--platform", "openshift"].as_slice()),
        ("the bare API server", ["--operators", "none"].as_slice()),
    ] {
        let mut times: Vec<Duration> = (0..ROUNDS).map(|_| Up::start(flags).ready_after).collect();
        times.sort();
        let up = Up::start(flags);
        std::thread::sleep(REST);
        let before = up.processor_ticks();
        std::thread::sleep(REST);
        println!(
            "| {what} | {:.0?} | {:.0?} | {:.1} MiB | {:.1} % |",
            times[ROUNDS / 2],
            times[ROUNDS - 1],
            up.resident_kib() / 1024.0,
            (up.processor_ticks() - before) / REST.as_secs_f64(),
        );
    }
}

struct Up {
    process: Child,
    ready_after: Duration,
    _folder: tempfile::TempDir,
}

impl Up {
    fn start(flags: &[&str]) -> Up {
        let folder = tempfile::tempdir().expect("a folder");
        let started = Instant::now();
        let mut process = Command::new(env!("CARGO_BIN_EXE_quintet"))
            .args(["up", "-o", "json"])
            .args(flags)
            .current_dir(folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program");
        let mut line = String::new();
        BufReader::new(process.stdout.take().expect("piped")).read_line(&mut line).expect("a line");
        assert!(line.starts_with('{'), "it ended before it was ready");
        Up { process, ready_after: started.elapsed(), _folder: folder }
    }

    fn proc(&self, file: &str) -> String {
        std::fs::read_to_string(format!("/proc/{}/{file}", self.process.id())).expect("a running process")
    }

    fn resident_kib(&self) -> f64 {
        let status = self.proc("status");
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("VmRSS");
        line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).expect("a number")
    }

    /// Hundredths of a second, in user and system mode.
    fn processor_ticks(&self) -> f64 {
        let stat = self.proc("stat");
        let fields: Vec<&str> = stat.rsplit_once(')').expect("a name").1.split_whitespace().collect();
        fields[11].parse::<f64>().expect("a number") + fields[12].parse::<f64>().expect("a number")
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
