//! `quintet crds`: prints the CustomResourceDefinitions.

use anyhow::Result;

use crate::output::{self, Format};
use crate::systems::Systems;

const EXAMPLES: &str = "\
Examples:
  quintet crds | quintet apply -f -
  quintet crds mlflow > mlflow-crds.yaml";

/// Flags of `quintet crds`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Only these systems' definitions
    #[arg(value_name = "SYSTEM")]
    pub systems: Vec<String>,
    /// Format
    #[arg(short, long, value_enum, default_value = "yaml")]
    pub output: Format,
}

/// Prints them, sorted by name within a system.
pub fn run(args: &Args) -> Result<()> {
    let systems = Systems::offline()?.only(&args.systems)?;
    let definitions: Vec<_> = systems.iter().flat_map(|s| s.crds()).collect();
    output::print(&output::documents(&definitions, args.output)?)
}
