//! One file per command.

pub mod apply;
pub mod completions;
pub mod crds;
pub mod dataflow;
pub mod delete;
pub mod get;
pub mod install;
pub mod render;
pub mod run;
pub mod tree;
pub mod up;

use std::process::ExitCode;

use anyhow::{Context, Result};

use crate::cli::{Cli, Command};

/// Runs the command.
pub fn run(cli: Cli) -> Result<ExitCode> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().context("starting the runtime")?;
    let server = cli.server;
    runtime.block_on(async move {
        match cli.command {
            Command::Up(args) => up::run(&server, args).await?,
            Command::Run(args) => run::run(&server, args).await?,
            Command::Render(args) => render::run(&args).await?,
            Command::Dataflow(args) => dataflow::run(&args)?,
            Command::Crds(args) => crds::run(&args)?,
            Command::Install(args) => install::run(&args)?,
            Command::PayloadProcessing(flags) => {
                // A service of its own, with a runtime of its own.
                return Ok(tokio::task::block_in_place(|| quintet_payload::cli::run(flags)));
            }
            Command::MaasApi { flags } => return Ok(quintet_maas_api::cli::run(&flags).await),
            Command::Apply(args) => apply::run(&server, args).await?,
            Command::Get(args) => get::run(&server, args).await?,
            Command::Tree(args) => tree::run(&server, args).await?,
            Command::Delete(args) => delete::run(&server, args).await?,
            Command::Completions(args) => completions::run(&args)?,
        }
        Ok(ExitCode::SUCCESS)
    })
}
