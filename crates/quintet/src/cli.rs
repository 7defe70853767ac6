//! The commands and their flags.

use clap::{Parser, Subcommand};

use crate::client::connect::Server;
use crate::commands::{apply, completions, crds, dataflow, delete, get, install, render, run, tree, up};

const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  failed; the message says why
  2  wrong usage
  3  no API server could be reached
  4  an object or kind that was named does not exist
  5  what was asked to become ready did not";

const MAAS_API_EXAMPLES: &str = "\
Examples:
  quintet maas-api --secure=false --address 127.0.0.1:8080
  quintet maas-api --help                                     # every flag";

const PAYLOAD_EXAMPLES: &str = "\
Examples:
  quintet payload-processing --streaming
  quintet payload-processing --secure-serving=false --metrics-endpoint-auth=false   # on a laptop, beside an Envoy";

/// One control plane for an AI platform: MLflow, model registry, ModelMesh, TrustyAI and Models-as-a-Service.
#[derive(Parser, Debug)]
#[command(name = "quintet", version, after_help = EXIT_CODES, arg_required_else_help = true, max_term_width = 110)]
pub struct Cli {
    /// Which API server to talk to.
    #[command(flatten)]
    pub server: Server,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Run a working platform on this machine, with no cluster
    Up(up::Args),
    /// Run the operators on a cluster
    Run(run::Args),
    /// Print the children that a custom resource would get, with no cluster
    Render(render::Args),
    /// Print what each system watches, writes, serves and is configured by
    Dataflow(dataflow::Args),
    /// Print the CustomResourceDefinitions
    Crds(crds::Args),
    /// Print everything that a cluster needs to run the operators
    Install(install::Args),
    /// Create or change objects from manifests
    Apply(apply::Args),
    /// Show objects
    Get(get::Args),
    /// Draw an object, its children and their conditions, and say why something is not ready
    Tree(tree::Args),
    /// Delete objects
    Delete(delete::Args),
    /// Serve API keys, subscriptions and models over HTTP
    #[command(after_help = MAAS_API_EXAMPLES, disable_help_flag = true)]
    MaasApi {
        /// The original's flags; --help lists them
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "FLAGS")]
        flags: Vec<String>,
    },
    /// Process requests and responses between a gateway and model providers (Envoy ext_proc)
    #[command(after_help = PAYLOAD_EXAMPLES)]
    PayloadProcessing(quintet_payload::config::Flags),
    /// Print a completion script for a shell
    Completions(completions::Args),
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_shows_examples() {
        for command in Cli::command().get_subcommands() {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.starts_with("Examples:"), "quintet {} --help has no examples", command.get_name());
        }
    }
}
