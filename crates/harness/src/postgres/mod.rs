//! A real PostgreSQL on loopback, from the distribution's packages.

mod install;

use std::{
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, Instant},
};

use crate::{Error, Process, Scratch, Stop, free_port};
use install::{Account, Install};

/// The superuser's name, and its password: the server is reachable by whoever is on this machine.
const USER: &str = "maas";
const PASSWORD: &str = "only-for-tests";
/// It takes a second or two; a busy machine may need more.
const PATIENCE: Duration = Duration::from_secs(60);
/// What it says while processes of a server that crashed still use its memory.
const CHILDREN_LEFT: &str = "pre-existing shared memory block";

/// A running server with its own empty data directory. It ends, and its data goes, when this is dropped.
#[derive(Debug)]
pub struct Postgres {
    install: Install,
    account: Option<Account>,
    scratch: Scratch,
    port: u16,
    settings: Vec<String>,
    process: Option<Process>,
    databases: AtomicU32,
}

impl Postgres {
    /// Makes a server and waits until it answers. It writes to the operating system's cache only (`fsync=off`): killing
    /// the process loses nothing, and no disk is waited for.
    ///
    /// # Errors
    /// When PostgreSQL is not installed, or does not start.
    pub fn start() -> Result<Self, Error> {
        Self::start_with(&[])
    }

    /// The same with more settings, such as `max_connections=200`.
    ///
    /// # Errors
    /// When PostgreSQL is not installed, or does not start.
    pub fn start_with(settings: &[&str]) -> Result<Self, Error> {
        let install = Install::find()?;
        let account = Account::unprivileged()?;
        let scratch = Scratch::new("quintet-pg-")?;
        let mut server = Self {
            install,
            account,
            scratch,
            port: free_port(),
            settings: settings.iter().map(|s| (*s).to_owned()).collect(),
            process: None,
            databases: AtomicU32::new(0),
        };
        server.init()?;
        server.resume()?;
        Ok(server)
    }

    fn init(&self) -> Result<(), Error> {
        let directory = self.scratch.path();
        let password = directory.join("password");
        std::fs::write(&password, PASSWORD).map_err(Error::io("write a password file"))?;
        if let Some(account) = &self.account {
            account.give(directory)?;
            account.give(&password)?;
        }
        let mut command = self.command("initdb");
        command.arg("-D").arg(self.data()).args([
            "-U",
            USER,
            "-A",
            "scram-sha-256",
            "-E",
            "UTF8",
            "--no-sync",
        ]);
        command.args(["--locale=C", "--pwfile"]).arg(&password).current_dir(directory);
        let output = command.output().map_err(Error::io("start initdb"))?;
        succeeded("initdb", output).map(drop)
    }

    /// Starts the server again on the same data and port, and waits until it answers.
    ///
    /// # Errors
    /// When it does not start.
    pub fn resume(&mut self) -> Result<(), Error> {
        let begun = Instant::now();
        loop {
            match self.launch() {
                // After a crash its children go on until each notices; the successor shares no memory with them.
                Err(Error::Start { log, .. })
                    if log.contains(CHILDREN_LEFT) && begun.elapsed() < PATIENCE =>
                {
                    std::thread::sleep(Duration::from_millis(50));
                }
                done => return done,
            }
        }
    }

    fn launch(&mut self) -> Result<(), Error> {
        let directory = self.scratch.path().to_path_buf();
        let mut command = self.command("postgres");
        command.arg("-D").arg(self.data()).arg("-k").arg(&directory).current_dir(&directory);
        command.args(["-p", &self.port.to_string(), "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"]);
        for setting in &self.settings {
            command.args(["-c", setting]);
        }
        let mut process = Process::start(&command, &directory.join("postgres.log"), Stop::Interrupt)?;
        let (ready, port) = (self.install.program("pg_isready"), self.port.to_string());
        process.until(PATIENCE, || {
            // Cheaper than a process, and enough to know that it is too early to ask.
            TcpStream::connect(("127.0.0.1", self.port)).is_ok()
                && Command::new(&ready)
                    .args(["-q", "-h", "127.0.0.1", "-p", &port])
                    .status()
                    .is_ok_and(|s| s.success())
        })?;
        self.process = Some(process);
        Ok(())
    }

    /// Ends the server at once, as a crash would; its data stays. [`resume`](Self::resume) brings it back.
    pub fn crash(&mut self) {
        if let Some(mut process) = self.process.take() {
            // Its first line is the process id of the server, which the guard's is not.
            let pid = std::fs::read_to_string(self.data().join("postmaster.pid")).ok();
            if let Some(pid) = pid.as_deref().and_then(|text| text.lines().next()) {
                let _ = Command::new("kill").args(["-s", "KILL", pid]).status();
            }
            process.stop();
        }
    }

    /// Shuts the server down in order; its data stays.
    pub fn stop(&mut self) {
        self.process.take();
    }

    /// Makes an empty database and returns its URL.
    ///
    /// # Errors
    /// When the server refuses.
    pub fn database(&self) -> Result<String, Error> {
        let name = format!("test{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.psql("postgres", &format!("CREATE DATABASE {name}"))?;
        Ok(self.url(&name))
    }

    /// The URL of a database.
    pub fn url(&self, database: &str) -> String {
        format!("postgresql://{USER}:{PASSWORD}@127.0.0.1:{}/{database}?sslmode=disable", self.port)
    }

    /// Runs SQL in the database of that URL with the command-line client, and returns what it prints: rows as lines,
    /// columns separated by `|`.
    ///
    /// # Errors
    /// When the server refuses.
    pub fn psql(&self, database: &str, sql: &str) -> Result<String, Error> {
        let url = if database.contains("://") { database.to_owned() } else { self.url(database) };
        let mut command = Command::new(self.install.program("psql"));
        command.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", &url, "-c", sql]);
        let output = command.output().map_err(Error::io("start psql"))?;
        Ok(succeeded("psql", output)?.trim_end().to_owned())
    }

    /// A program of this installation, to be run as whoever runs the test: `pgbench`, `pg_dump`.
    pub fn program(&self, name: &str) -> PathBuf {
        self.install.program(name)
    }

    fn data(&self) -> PathBuf {
        self.scratch.path().join("data")
    }

    /// A server program, run by somebody PostgreSQL accepts.
    fn command(&self, name: &str) -> Command {
        let program = self.install.program(name);
        match &self.account {
            Some(account) => account.run(&program),
            None => Command::new(program),
        }
    }
}

fn succeeded(program: &str, output: Output) -> Result<String, Error> {
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(Error::Start {
        program: program.to_owned(),
        reason: format!("it ended with {}", output.status),
        log: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

/// Whether a directory has a server's programs in it.
fn has_server(directory: &Path) -> bool {
    ["initdb", "postgres", "pg_isready", "psql"].iter().all(|name| directory.join(name).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::or_skip;

    #[test]
    fn it_answers_survives_a_crash_and_keeps_databases_apart() {
        let Some(mut server) = or_skip("PostgreSQL of the harness", Postgres::start()) else { return };
        let (one, other) = (server.database().expect("a database"), server.database().expect("a database"));
        server.psql(&one, "CREATE TABLE t (n int); INSERT INTO t VALUES (42)").expect("written");
        server.crash();
        assert!(server.psql(&one, "SELECT 1").is_err(), "it is gone");
        server.resume().expect("it comes back");
        assert_eq!(server.psql(&one, "SELECT n FROM t").expect("read"), "42");
        assert!(server.psql(&other, "SELECT n FROM t").is_err());
    }
}
