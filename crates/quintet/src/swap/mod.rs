//! `/manager`: this program in the place of one original, with that original's flags, ports and exit codes, so that its
//! Deployment keeps running when only the image is replaced. The image's `QUINTET_SYSTEM` says which one.
//!
//! | module | what is there |
//! |---|---|
//! | [`go`] | flags as Go programs read them |
//! | [`flags`] | the flags that all originals share |
//! | [`zap`] | the `--zap-*` flags, and log lines as that library writes them |
//! | [`mlflow`] | the MLflow operator's flags |
//! | [`model_registry`] | the model registry operator's flags |

pub mod flags;
pub mod go;
pub mod mlflow;
pub mod model_registry;
pub mod zap;

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::Result;

use crate::errors::{self, Exit, Refusal};
use crate::operate::Operators;
use crate::signals;
use zap::Zap;

/// The variable that says whose place this is.
pub const WHICH: &str = "QUINTET_SYSTEM";

/// The operators whose place this build can take.
const REPLACED: [&str; 2] = ["mlflow", "model-registry"];

/// Runs as the manager that [`WHICH`] names.
pub fn manager(arguments: &[OsString]) -> ExitCode {
    let system = std::env::var(WHICH).unwrap_or_default();
    match system.as_str() {
        "mlflow" => mlflow::main(arguments),
        "model-registry" => model_registry::main(arguments),
        _ => errors::report(&which(&system).into()),
    }
}

fn which(named: &str) -> Refusal {
    let what = if named.is_empty() {
        format!("{WHICH} is not set: /manager does not know which operator it replaces")
    } else {
        format!("{WHICH}={named:?} is no operator of this build")
    };
    Refusal::new(Exit::Failed, what).next(format!("{WHICH} with one of {}", REPLACED.join(", ")))
}

/// Runs operators with an original's logs. Exit code 0 after an orderly stop; 1, and an error in the log, otherwise.
fn run(zap: &Zap, operators: impl AsyncFnOnce() -> Result<Operators>) -> ExitCode {
    zap.start();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return fatal(&error.into()),
    };
    let ended = runtime.block_on(async {
        let stop = signals::stop_token()?;
        operators().await?.run(stop).await
    });
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fatal(&error),
    }
}

/// What failed before anything ran, in the original's words; the cause is told beside it.
#[derive(Clone, Copy, Debug)]
struct Setup(&'static str);

impl std::fmt::Display for Setup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

fn fatal(error: &anyhow::Error) -> ExitCode {
    match error.downcast_ref::<Setup>() {
        Some(Setup(what)) => {
            // The words are the line's own; only what lies below them is the error.
            let cause = error.chain().skip(1).map(ToString::to_string).collect::<Vec<_>>().join(": ");
            tracing::error!(logger = "setup", error = cause, "{what}");
        }
        None => tracing::error!(logger = "setup", error = errors::words(error), "problem running manager"),
    }
    ExitCode::FAILURE
}

/// The host that the API server calls webhooks by, where it does not go through a Service.
fn webhook_host() -> Vec<String> {
    std::env::var("QUINTET_WEBHOOK_HOST").ok().filter(|host| !host.is_empty()).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_system_is_told_the_known_ones() {
        for (named, said) in [("", "is not set"), ("mlfow", "\"mlfow\" is no operator")] {
            let refusal = which(named);
            assert!(refusal.to_string().contains(said), "{refusal}");
            assert!(refusal.advice().unwrap().contains("mlflow"), "{refusal:?}");
        }
    }
}
