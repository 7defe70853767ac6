use std::{
    fs::File,
    io::{Read as _, Seek as _, SeekFrom},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    time::{Duration, Instant},
};

use crate::Error;

/// How a process is ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stop {
    /// At once: for servers whose data goes with them.
    #[default]
    Kill,
    /// Asked first (SIGTERM), killed after five seconds: for servers with children of their own.
    Terminate,
    /// Asked by SIGINT, killed after five seconds: PostgreSQL's fast shutdown.
    Interrupt,
}

/// A child process that ends when this value is dropped, and also when the whole test process ends without dropping
/// anything: a server kept in a `static`, a panic that aborts, a kill from outside.
///
/// A small shell stands between: it holds the read end of a pipe whose write end is here, and when that closes, for
/// whatever reason, it ends the program. (`PR_SET_PDEATHSIG` would do the same with unsafe code, and would fire when the
/// test *thread* ends.)
#[derive(Debug)]
pub struct Process {
    program: String,
    log: PathBuf,
    guard: Child,
    /// Closing it is the signal to end; `None` once that is done.
    leash: Option<ChildStdin>,
}

/// `$1` is the signal, the rest the command. The watcher subshell waits for the leash to be let go.
const GUARD: &str = r#"
signal=$1; shift
exec 3<&0
"$@" 3<&- </dev/null & child=$!
(
  read -r _ <&3
  kill -s "$signal" $child 2>/dev/null || exit
  tries=0
  while [ $tries -lt 50 ] && kill -0 $child 2>/dev/null; do sleep 0.1; tries=$((tries + 1)); done
  kill -s KILL $child 2>/dev/null
) & watcher=$!
wait $child; code=$?
kill $watcher 2>/dev/null
exit $code
"#;

impl Process {
    /// Starts `command` with its output going to `log`. Arguments, environment and working directory are taken from
    /// `command`; its standard streams are not.
    ///
    /// # Errors
    /// When the log cannot be made or no shell can be started. A program that cannot be executed shows up as one that
    /// exited: see [`Process::until`].
    pub fn start(command: &Command, log: &Path, stop: Stop) -> Result<Process, Error> {
        let program = command.get_program().to_string_lossy().into_owned();
        let output = File::create(log).map_err(Error::io(format!("make {}", log.display())))?;
        let errors = output.try_clone().map_err(Error::io("share a log file"))?;
        let signal = match stop {
            Stop::Kill => "KILL",
            Stop::Terminate => "TERM",
            Stop::Interrupt => "INT",
        };
        let mut guard = Command::new("sh");
        guard.args(["-c", GUARD, "guard", signal]).arg(command.get_program()).args(command.get_args());
        guard.stdin(Stdio::piped()).stdout(output).stderr(errors);
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => guard.env(name, value),
                None => guard.env_remove(name),
            };
        }
        if let Some(directory) = command.get_current_dir() {
            guard.current_dir(directory);
        }
        let mut guard = guard.spawn().map_err(Error::io(format!("start {program}")))?;
        let leash = guard.stdin.take();
        Ok(Process { program, log: log.to_path_buf(), guard, leash })
    }

    /// Waits until `ready` says so, looking every 20 ms; the error carries the end of the log.
    ///
    /// # Errors
    /// When the process ends first or `limit` passes.
    pub fn until(&mut self, limit: Duration, mut ready: impl FnMut() -> bool) -> Result<(), Error> {
        let start = Instant::now();
        loop {
            if ready() {
                return Ok(());
            }
            if let Some(status) = self.guard.try_wait().map_err(Error::io("ask after a child"))? {
                return Err(self.failed(format!("it ended with {status}")));
            }
            if start.elapsed() > limit {
                return Err(self.failed(format!("not ready after {} s", limit.as_secs())));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// An error about this process with the end of its log.
    pub fn failed(&self, reason: impl Into<String>) -> Error {
        Error::Start { program: self.program.clone(), reason: reason.into(), log: self.log_tail() }
    }

    /// The last few kilobytes the process wrote.
    pub fn log_tail(&self) -> String {
        let read = || -> std::io::Result<String> {
            let mut file = File::open(&self.log)?;
            let length = file.metadata()?.len();
            file.seek(SeekFrom::Start(length.saturating_sub(4096)))?;
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        };
        read().unwrap_or_default()
    }

    /// Ends the process and waits until it is gone.
    pub fn stop(&mut self) {
        if self.leash.take().is_some() {
            let _ = self.guard.wait();
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.stop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alive(pid: &str) -> bool {
        Command::new("kill").args(["-0", pid]).stderr(Stdio::null()).status().is_ok_and(|s| s.success())
    }

    fn started(script: &str, stop: Stop) -> (Process, String, tempfile::TempDir) {
        let scratch = tempfile::tempdir().expect("a directory");
        let mut command = Command::new("sh");
        command.args(["-c", &format!("echo $$; {script}")]);
        let log = scratch.path().join("log");
        let mut process = Process::start(&command, &log, stop).expect("a shell");
        let pid =
            || std::fs::read_to_string(&log).unwrap_or_default().lines().next().unwrap_or("").to_owned();
        process.until(Duration::from_secs(10), || !pid().is_empty()).expect("it starts");
        let pid = pid();
        (process, pid, scratch)
    }

    #[test]
    fn dropping_the_guard_ends_the_program() {
        for stop in [Stop::Kill, Stop::Terminate] {
            let (process, pid, _scratch) = started("exec sleep 600", stop);
            assert!(alive(&pid));
            drop(process);
            assert!(!alive(&pid), "{stop:?}");
        }
    }

    #[test]
    fn a_program_that_ends_early_is_reported_with_what_it_wrote() {
        let scratch = tempfile::tempdir().expect("a directory");
        let mut command = Command::new("sh");
        command.args(["-c", "echo no such flag >&2; exit 3"]);
        let mut process = Process::start(&command, &scratch.path().join("log"), Stop::Kill).expect("a shell");
        let error = process.until(Duration::from_secs(10), || false).expect_err("it ended").to_string();
        assert!(error.contains("exit status: 3") && error.contains("no such flag"), "{error}");
    }
}
