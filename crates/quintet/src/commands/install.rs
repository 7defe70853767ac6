//! `quintet install`: prints what a cluster needs.

use anyhow::Result;
use clap::ValueEnum;
use quintet_kit::install::{Installed, Operator, Process, Site, deletion_order, fused, rights_only, split};
use quintet_kit::wiring::SystemRows;
use serde_json::{Value, json};

use crate::errors::{Exit, Refusal};
use crate::local::standins::Platform;
use crate::output::{self, Format};
use crate::systems::{Systems, home_namespace};

const EXAMPLES: &str = "\
Examples:
  quintet install | kubectl apply --server-side -f -                # one process for all systems, two replicas
  quintet install --shape split --operators mlflow                  # in place of the originals' Deployments
  quintet install --rbac --shape split                              # rights only: when just images are replaced
  MLFLOW_URL=https://gw.example.com quintet install                 # settings of this shell are carried over
  quintet install --delete | kubectl delete --ignore-not-found -f - # and every custom resource with it";

/// The image that a release is published as.
pub const IMAGE: &str = concat!("ghcr.io/quintet-dev/quintet:", env!("CARGO_PKG_VERSION"));

/// Flags of `quintet install`.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// One Deployment for all systems, or one for each under the original's names
    #[arg(long, value_enum, default_value = "fused")]
    pub shape: Shape,
    /// Only these systems
    #[arg(long, value_delimiter = ',', value_name = "SYSTEM,…")]
    pub operators: Vec<String>,
    /// The operators' own namespace
    #[arg(short, long, default_value_t = home_namespace(), value_name = "NAME")]
    pub namespace: String,
    /// The managers' image
    #[arg(long, default_value = IMAGE, value_name = "IMAGE")]
    pub image: String,
    /// On OpenShift, certificates come from its service CA and metrics go to its Prometheus
    #[arg(long, value_enum, default_value = "kubernetes")]
    pub platform: Platform,
    /// Only accounts, roles and their bindings
    #[arg(long)]
    pub rbac: bool,
    /// In the order in which to delete them
    #[arg(long)]
    pub delete: bool,
    /// Format
    #[arg(short, long, value_enum, default_value = "yaml")]
    pub output: Format,
}

/// How many processes run on the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shape {
    /// One Deployment runs all systems, with one cache
    Fused,
    /// Each system has its own Deployment, account and rights
    Split,
}

/// Prints the objects.
pub fn run(args: &Args) -> Result<()> {
    output::print(&output::documents(&objects(args)?, args.output)?)
}

/// The objects in the order in which they should be made, or deleted.
pub fn objects(args: &Args) -> Result<Vec<Value>> {
    let systems = Systems::new(&args.namespace)?.only(&args.operators)?;
    let site =
        Site { namespace: args.namespace.clone(), image: args.image.clone(), platform: args.platform.into() };
    let operators = operators(&systems, &site)?;
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": args.namespace}});
    let mut objects = vec![namespace];
    objects.extend(definitions(&systems)?);
    let installed: Vec<Installed<'_>> = operators.iter().map(|(operator, rows)| (operator, rows)).collect();
    match args.shape {
        Shape::Split => objects.extend(installed.iter().flat_map(|one| split(&site, *one))),
        Shape::Fused => {
            let names: Vec<_> = installed.iter().map(|(operator, _)| operator.system).collect();
            objects.extend(fused(&site, &process(&names.join(",")), &installed));
        }
    }
    if args.rbac {
        objects = rights_only(objects);
    }
    Ok(if args.delete { deletion_order(objects) } else { objects })
}

/// The definitions of all kinds that these systems bring.
pub fn definitions(systems: &Systems) -> Result<Vec<Value>> {
    let definitions = systems.iter().flat_map(|system| system.crds());
    definitions.map(|definition| Ok(serde_json::to_value(definition)?)).collect()
}

/// How each system is installed, and what it does.
pub fn operators(systems: &Systems, site: &Site) -> Result<Vec<(Operator, SystemRows)>> {
    let operators = systems.iter().map(|system| match system.install(site) {
        Some(operator) => Ok((operator, system.rows())),
        None => Err(Refusal::new(Exit::Usage, format!("{} cannot be installed yet", system.name()))
            .next("leave it out with --operators")
            .into()),
    });
    operators.collect()
}

/// The one process of the fused shape, with these systems, parted by commas.
pub fn process(operators: &str) -> Process<'static> {
    Process {
        name: "quintet",
        args: vec!["run".into(), format!("--operators={operators}")],
        variable: crate::systems::variable,
        replicas: 2,
    }
}
