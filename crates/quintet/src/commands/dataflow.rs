//! `quintet dataflow`: what each system watches, writes, serves and is configured by.

use anyhow::Result;
use clap::ValueEnum;
use quintet_kit::dataflow;

use crate::output::{self, Format};
use crate::systems::Systems;

const EXAMPLES: &str = "\
Examples:
  quintet dataflow mlflow
  quintet dataflow -o json | jq '.[].watches[] | select(.type == \"For\").kind'
  quintet dataflow mlflow -o mermaid > mlflow.mmd";

/// Flags of `quintet dataflow`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Only these systems
    #[arg(value_name = "SYSTEM")]
    pub systems: Vec<String>,
    /// Format
    #[arg(short, long, value_enum, default_value = "markdown")]
    pub output: Page,
}

/// How the page is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Page {
    /// A page for people
    Markdown,
    /// A stable list for scripts
    Json,
    /// A sequence diagram
    Mermaid,
}

/// Prints the pages.
pub fn run(args: &Args) -> Result<()> {
    let rows = Systems::offline()?.only(&args.systems)?.rows();
    let text = match args.output {
        Page::Markdown => rows.iter().map(dataflow::markdown).collect::<Vec<_>>().join("\n"),
        Page::Mermaid => rows.iter().map(dataflow::mermaid).collect::<Vec<_>>().join("\n"),
        Page::Json => output::document(&dataflow::documents(&rows), Format::Json)?,
    };
    output::print(&text)
}
