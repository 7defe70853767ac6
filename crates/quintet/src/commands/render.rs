//! `quintet render`: the children that a custom resource would get, with no cluster.

use std::path::PathBuf;

use anyhow::{Context, Result};
use kube::api::DynamicObject;
use quintet_kit::run::{Observed, RenderError};
use serde_json::Value;

use crate::client::manifests::{self, Manifest};
use crate::errors::{Exit, Refusal};
use crate::output::{self, Format};
use crate::systems::Systems;

const EXAMPLES: &str = "\
Examples:
  quintet render -f examples/mlflow/minimal.yaml
  quintet render -f mlflow.yaml --with secret.yaml       # as if the cluster held that Secret
  quintet render -f mlflow.yaml -o json | jq '.[].kind'";

/// Flags of `quintet render`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Custom resources: a manifest, a folder of manifests, or - for standard input
    #[arg(short, long = "filename", value_name = "PATH", required = true)]
    pub filename: Vec<PathBuf>,
    /// Objects taken to exist on the cluster
    #[arg(long, value_name = "PATH")]
    pub with: Vec<PathBuf>,
    /// Format
    #[arg(short, long, value_enum, default_value = "yaml")]
    pub output: Format,
}

/// Prints the children of every custom resource given.
pub fn run(args: &Args) -> Result<()> {
    let systems = Systems::offline()?;
    let resources = manifests::read(&args.filename)?;
    let observed = manifests::read(&args.with)?.into_iter().map(object).collect::<Result<Vec<_>>>()?;
    let observed = Observed::new(observed);
    let mut children = vec![];
    for resource in resources {
        children.extend(render(&systems, resource, &observed)?);
    }
    output::print(&output::documents(&children, args.output)?)
}

fn render(systems: &Systems, manifest: Manifest, observed: &Observed) -> Result<Vec<Value>> {
    let (origin, kind) = (manifest.origin.clone(), manifest.kind().to_string());
    let object = object(manifest)?;
    for system in systems.iter() {
        match system.render(&object, observed) {
            Ok(desired) => return Ok(desired.to_values()),
            Err(RenderError::NotOurs(_)) => {}
            Err(error) => return Err(error).context(origin),
        }
    }
    let known: Vec<String> =
        systems.rows().iter().flat_map(|r| r.crds.iter().map(|c| c.kind.clone())).collect();
    Err(Refusal::new(Exit::Failed, format!("{origin}: no system reconciles {kind}"))
        .next(format!("one of {}", known.join(", ")))
        .into())
}

fn object(manifest: Manifest) -> Result<DynamicObject> {
    serde_json::from_value(manifest.object)
        .with_context(|| format!("{}: not a Kubernetes object", manifest.origin))
}
