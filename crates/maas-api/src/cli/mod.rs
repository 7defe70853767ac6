//! The program `maas-api`, from start to stop.

mod logging;
mod start;

use std::{collections::HashMap, io::Write as _, process::ExitCode};

use tokio_util::sync::CancellationToken;

use crate::config::{FlagError, Settings, USAGE};

pub use start::{StartError, run_until, run_with};

/// Runs the service with the process' environment until SIGINT or SIGTERM. `arguments` are those after the program's
/// name. Logs to stdout as JSON, or for people with `--debug`.
///
/// | exit code | why |
/// |---|---|
/// | 0 | stopped by a signal, and everything ended in time; or help was asked for |
/// | 1 | it could not start, or was stopped and requests did not end in time; stderr says `error: …` |
/// | 2 | a flag that cannot be used; stderr says which, and lists all |
pub async fn run(arguments: &[String]) -> ExitCode {
    let environment: HashMap<String, String> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    let settings = match Settings::read(&environment, arguments) {
        Ok(settings) => settings,
        Err(FlagError::Help) => {
            let _ = write!(std::io::stderr(), "{}", *USAGE);
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            let _ = write!(std::io::stderr(), "{error}\n{}", *USAGE);
            return ExitCode::from(2);
        }
    };
    logging::start(settings.debug);
    if settings.port_flag {
        tracing::warn!(
            "WARNING: --port is deprecated, use --address with --secure=false to serve insecure HTTP traffic"
        );
    }
    let stop = CancellationToken::new();
    match run_until(settings, stop).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "error: {error}");
            ExitCode::FAILURE
        }
    }
}
