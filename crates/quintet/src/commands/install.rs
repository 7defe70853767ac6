//! `quintet install`: prints what a cluster needs.

use anyhow::Result;
use clap::ValueEnum;
use http::uri::Authority;
use quintet_kit::install::{
    Installed, Operator, Process, Site, converted, deletion_order, fused, keeps_certificates, outlasting,
    rights_only, split,
};
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
  quintet install --webhook-url https://10.0.0.5:9443               # where the API server cannot reach Services
  quintet crds | kubectl delete --ignore-not-found -f -             # every custom resource; the manager cleans up
  quintet install --delete | kubectl delete --ignore-not-found -f - # then all the rest";

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
    /// Where the API server calls webhooks, if not through a Service: `https://HOST[:PORT]`
    #[arg(long, value_parser = webhook_url, value_name = "URL")]
    pub webhook_url: Option<String>,
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
    let systems = Systems::to_install(&args.namespace)?.only(&args.operators)?;
    let site = Site {
        namespace: args.namespace.clone(),
        image: args.image.clone(),
        platform: args.platform.into(),
        webhook_url: args.webhook_url.clone(),
    };
    let operators = operators(&systems, &site)?;
    let installed: Vec<Installed<'_>> = operators.iter().map(|(operator, rows)| (operator, rows)).collect();
    let all = process(&installed.iter().map(|(operator, _)| operator.system).collect::<Vec<_>>().join(","));
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": args.namespace}});
    let mut objects = vec![namespace];
    if args.delete {
        // After the rights to make it again, and before the namespace.
        objects.extend(installed.iter().flat_map(|(_, rows)| outlasting(&site, rows)));
    }
    for (shape, secret) in processes(args.shape, &all, &installed) {
        objects.extend(definitions(&systems, &site, shape)?);
        // Nobody installs it, but it is there to be deleted.
        if args.delete && keeps_certificates(&site, shape) {
            objects.push(kept(&site, &secret));
        }
    }
    match args.shape {
        Shape::Split => objects.extend(installed.iter().flat_map(|one| split(&site, *one))),
        Shape::Fused => objects.extend(fused(&site, &all, &installed)),
    }
    if args.rbac {
        objects = rights_only(objects);
    }
    Ok(if args.delete { deletion_order(objects) } else { objects })
}

/// The systems of each process, and the Secret that it keeps certificates in.
fn processes<'a>(
    shape: Shape,
    all: &Process<'_>,
    installed: &'a [Installed<'a>],
) -> Vec<(&'a [Installed<'a>], String)> {
    match shape {
        Shape::Fused => vec![(installed, all.webhook_secret())],
        Shape::Split => installed.chunks(1).map(|one| (one, one[0].0.hook_secret())).collect(),
    }
}

/// A Secret that a process made.
fn kept(site: &Site, name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": site.namespace}})
}

/// The definitions of all kinds that the systems of a process bring, with how it converts them.
pub fn definitions(systems: &Systems, site: &Site, process: &[Installed<'_>]) -> Result<Vec<Value>> {
    let runs = |name: &str| process.iter().any(|(operator, _)| operator.system == name);
    let definitions = systems.iter().filter(|system| runs(system.name())).flat_map(|system| system.crds());
    definitions.map(|definition| Ok(converted(site, process, serde_json::to_value(definition)?))).collect()
}

/// An address that the API server would call.
fn webhook_url(text: &str) -> Result<String, String> {
    let place = text.strip_prefix("https://").map(|rest| rest.trim_end_matches('/'));
    let place = place.and_then(|place| place.parse::<Authority>().ok());
    // Nothing but a host, or a host and the number of a port.
    let is_plain = |place: &Authority| match place.port_u16() {
        Some(port) => *place == *format!("{}:{port}", place.host()),
        None => *place == *place.host(),
    };
    match place.filter(|place| !place.host().is_empty() && is_plain(place)) {
        Some(place) => Ok(format!("https://{place}")),
        None => Err("give https://HOST or https://HOST:PORT, without a path".into()),
    }
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
