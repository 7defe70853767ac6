//! `quintet dataflow`: what each system watches, writes, serves and is configured by.

use anyhow::Result;
use clap::ValueEnum;
use quintet_kit::dataflow;
use quintet_kit::wiring::SystemRows;
use quintet_payload::config::PluginSpec;
use quintet_payload::watch::Needs;

use crate::errors::{Exit, Refusal};
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

/// The rows of these systems, of all if none is named: their operators', and those of services that run beside.
fn pages(names: &[String]) -> Result<Vec<SystemRows>> {
    let payload = quintet_payload::rows::rows(Needs::of(&PluginSpec::maas()));
    let mut all = Systems::offline()?.rows();
    all.push(SystemRows { system: "maas".into(), ..payload });
    let known: Vec<String> = all.iter().map(|rows| rows.system.clone()).collect();
    if let Some(unknown) = names.iter().find(|name| !known.contains(name)) {
        return Err(Refusal::new(Exit::Usage, format!("there is no system called {unknown:?}"))
            .next(format!("one of {}", known.join(", ")))
            .into());
    }
    all.retain(|rows| names.is_empty() || names.contains(&rows.system));
    Ok(all)
}

/// Prints the pages.
pub fn run(args: &Args) -> Result<()> {
    let rows = pages(&args.systems)?;
    let text = match args.output {
        Page::Markdown => rows.iter().map(dataflow::markdown).collect::<Vec<_>>().join("\n"),
        Page::Mermaid => rows.iter().map(dataflow::mermaid).collect::<Vec<_>>().join("\n"),
        Page::Json => output::document(&dataflow::documents(&rows), Format::Json)?,
    };
    output::print(&text)
}
