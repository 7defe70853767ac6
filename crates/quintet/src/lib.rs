//! The Quintet command line: puts the systems, the plane and the services together.
//!
//! | module | what is there |
//! |---|---|
//! | [`cli`] | the commands and their flags, as one table |
//! | [`commands`] | one file per command |
//! | [`client`] | enough of a Kubernetes client to follow the README without kubectl |
//! | [`output`] | tables for eyes, JSON and YAML for machines |
//! | [`errors`] | what can go wrong, its exit code, and what to do next |
//! | [`multicall`] | the program under an original's name |
//! | [`systems`] | the systems that this build has |
//! | [`local`] | what a local cluster needs beside the plane and the operators |
//! | [`operate`] | the operators as a process on a cluster, with their leases |
//! | [`serve`] | health, readiness and metrics of the process |
//! | [`swap`] | `/manager` in the place of one original |
//! | [`telemetry`], [`signals`] | logs and traces; SIGTERM |

pub mod cli;
pub mod client;
pub mod commands;
pub mod deploy;
pub mod errors;
pub mod local;
pub mod multicall;
pub mod operate;
pub mod output;
pub mod serve;
pub mod signals;
pub mod swap;
pub mod systems;
pub mod telemetry;

use std::process::ExitCode;

use clap::Parser;

/// Parses the arguments, runs the command, reports what went wrong.
pub fn main() -> ExitCode {
    // Exactly one crypto provider must be chosen before any TLS is set up; a second call is a no-op.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let arguments: Vec<_> = std::env::args_os().collect();
    if let Some(code) = multicall::as_original(&arguments) {
        return code;
    }
    let cli = cli::Cli::parse_from(arguments);
    match commands::run(cli) {
        Ok(code) => code,
        Err(error) => errors::report(&error),
    }
}
