//! `quintet completions`: a completion script for a shell.

use anyhow::Result;
use clap::CommandFactory;
use clap_complete::Shell;

use crate::cli::Cli;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  quintet completions bash > ~/.local/share/bash-completion/completions/quintet
  quintet completions zsh > \"${fpath[1]}/_quintet\"";

/// Flags of `quintet completions`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The shell
    shell: Shell,
}

/// Prints the script.
pub fn run(args: &Args) -> Result<()> {
    let mut script = vec![];
    clap_complete::generate(args.shell, &mut Cli::command(), "quintet", &mut script);
    output::print(&String::from_utf8_lossy(&script))
}
