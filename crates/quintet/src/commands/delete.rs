//! `quintet delete`: deletes objects by name or by manifest, and waits until they are gone.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, anyhow};
use clap::ValueEnum;
use either::Either;
use kube::Client;
use kube::api::DeleteParams;
use kube::runtime::wait::{await_condition, conditions};

use crate::client::catalogue::{Catalogue, Served};
use crate::client::connect::Server;
use crate::client::manifests;
use crate::errors::{Exit, Refusal};
use crate::output;

const EXAMPLES: &str = "\
Examples:
  quintet delete mlflow mlflow
  quintet delete deployment a b -n team --cascade foreground
  quintet delete -f examples/mlflow/minimal.yaml --ignore-not-found
  quintet install --delete | quintet delete --in-order -f -";

/// Flags of `quintet delete`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Kind, plural or short name
    #[arg(required_unless_present = "filename", conflicts_with = "filename")]
    pub kind: Option<String>,
    /// Names
    #[arg(requires = "kind")]
    pub names: Vec<String>,
    /// A manifest, a folder of manifests, or - for standard input
    #[arg(short, long = "filename", value_name = "PATH")]
    pub filename: Vec<PathBuf>,
    /// Namespace
    #[arg(short, long)]
    pub namespace: Option<String>,
    /// What becomes of the children
    #[arg(long, value_enum, default_value_t = Cascade::Background)]
    pub cascade: Cascade,
    /// An object that is already gone is no failure
    #[arg(long)]
    pub ignore_not_found: bool,
    /// Delete manifests in the order given, not the last first
    #[arg(long, requires = "filename")]
    pub in_order: bool,
    /// Return at once instead of waiting until the objects are gone
    #[arg(long)]
    pub no_wait: bool,
    /// How long to wait, in seconds
    #[arg(long, default_value_t = 60)]
    pub timeout: u64,
}

/// What becomes of an object's children.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Cascade {
    /// The object goes first, its children after it
    Background,
    /// The children go first
    Foreground,
    /// The children stay
    Orphan,
}

/// Deletes in reverse order of the manifests, so that children of one another go before what they need; unless told to
/// keep their order.
pub async fn run(server: &Server, args: Args) -> Result<()> {
    let client = server.connect().await?;
    let catalogue = Catalogue::discover(&client).await?;
    let default = args.namespace.clone().unwrap_or_else(|| client.default_namespace().to_string());
    for (served, namespace, name) in targets(&catalogue, &args, &default)? {
        delete(&client, served, &namespace, &name, &args).await?;
    }
    Ok(())
}

fn targets<'a>(
    catalogue: &'a Catalogue,
    args: &Args,
    default: &str,
) -> Result<Vec<(&'a Served, String, String)>> {
    if let Some(kind) = &args.kind {
        let served = catalogue.find(kind)?;
        if args.names.is_empty() {
            return Err(Refusal::new(Exit::Usage, format!("which {kind}?"))
                .next(format!("`quintet get {kind}` lists them; `quintet delete {kind} NAME` deletes one"))
                .into());
        }
        return Ok(args.names.iter().map(|n| (served, default.to_string(), n.clone())).collect());
    }
    let manifests = manifests::read(&args.filename)?;
    let target = |m: &manifests::Manifest| {
        let served = catalogue.of(m.api_version(), m.kind())?;
        Ok((served, m.namespace().unwrap_or(default).to_string(), m.name().to_string()))
    };
    let mut targets = manifests.iter().map(target).collect::<Result<Vec<_>>>()?;
    if !args.in_order {
        targets.reverse();
    }
    Ok(targets)
}

async fn delete(client: &Client, served: &Served, namespace: &str, name: &str, args: &Args) -> Result<()> {
    let params = match args.cascade {
        Cascade::Background => DeleteParams::background(),
        Cascade::Foreground => DeleteParams::foreground(),
        Cascade::Orphan => DeleteParams::orphan(),
    };
    let api = served.api(client, namespace);
    let object = served.object(name);
    match api.delete(name, &params).await {
        Err(kube::Error::Api(status)) if status.is_not_found() && args.ignore_not_found => return Ok(()),
        Err(error) => return Err(error.into()),
        Ok(Either::Right(_)) => {} // gone at once
        Ok(Either::Left(leaving)) if !args.no_wait => {
            let uid = leaving.metadata.uid.unwrap_or_default();
            let gone = await_condition(api, name, conditions::is_deleted(&uid));
            tokio::time::timeout(Duration::from_secs(args.timeout), gone).await.map_err(|_| {
                let held = leaving.metadata.finalizers.unwrap_or_default().join(", ");
                anyhow!(
                    Refusal::new(
                        Exit::NotReady,
                        format!("{object} is still there after {} s; finalizers: [{held}]", args.timeout)
                    )
                    .next("`quintet tree` shows what it waits for")
                )
            })??;
        }
        Ok(Either::Left(_)) => {}
    }
    output::print(&format!("{object} deleted\n"))
}
