//! `quintet tree`: an object, its children and their conditions, and in words why something is not ready.

mod draw;
mod family;
mod health;
mod references;

pub use health::{Health, State, health};

use anyhow::Result;
use kube::Client;

use crate::client::catalogue::{Catalogue, Served};
use crate::client::connect::Server;
use crate::output::{self, Format, Paint};

const EXAMPLES: &str = "\
Examples:
  quintet tree mlflow mlflow
  quintet tree deployment mlflow -n opendatahub
  quintet tree mlflow mlflow -o json | jq '.children[].kind'";

/// Flags of `quintet tree`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Kind, plural or short name
    pub kind: String,
    /// Name
    pub name: String,
    /// Namespace
    #[arg(short, long)]
    pub namespace: Option<String>,
    /// For machines
    #[arg(short, long, value_enum)]
    pub output: Option<Format>,
}

/// Gathers the family and draws it.
pub async fn run(server: &Server, args: Args) -> Result<()> {
    let client = server.connect().await?;
    let catalogue = Catalogue::discover(&client).await?;
    let served = catalogue.find(&args.kind)?;
    let namespace = args.namespace.clone().unwrap_or_else(|| client.default_namespace().to_string());
    let root = served.api(&client, &namespace).get(&args.name).await?;
    let tree = family::gather(&client, &catalogue, served, root).await?;
    match args.output {
        Some(format) => output::print(&output::document(&tree, format)?),
        None => output::print(&draw::draw(&tree, Paint::detect())),
    }
}

/// Why an object is not ready: the reasons at the bottom of its family, each in a sentence.
pub async fn causes(client: &Client, served: &Served, namespace: &str, name: &str) -> Result<Vec<String>> {
    let catalogue = Catalogue::discover(client).await?;
    let root = served.api(client, namespace).get(name).await?;
    Ok(draw::causes(&family::gather(client, &catalogue, served, root).await?))
}
