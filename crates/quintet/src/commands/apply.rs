//! `quintet apply`: creates or changes objects from manifests, by server-side apply.

use std::path::PathBuf;

use anyhow::{Context, Result, anyhow};
use http::{Request, header};
use kube::Client;
use serde_json::Value;

use crate::client::catalogue::{Catalogue, Served};
use crate::client::connect::Server;
use crate::client::manifests::{self, Manifest};
use crate::client::raw;
use crate::{errors, output};

/// Who we are in `managedFields`.
const MANAGER: &str = "quintet-cli";

const EXAMPLES: &str = "\
Examples:
  quintet apply -f examples/mlflow/minimal.yaml
  quintet apply -f examples/mlflow -n opendatahub     # every manifest in the folder
  quintet crds | quintet apply -f -                   # what a command prints
  quintet apply -f mlflow.yaml --dry-run              # ask the server, change nothing";

/// Flags of `quintet apply`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// A manifest, a folder of manifests, or - for standard input; can be repeated
    #[arg(short, long = "filename", value_name = "PATH", required = true)]
    pub filename: Vec<PathBuf>,
    /// Namespace for objects that name none
    #[arg(short, long)]
    pub namespace: Option<String>,
    /// Let the server check everything and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Take fields over from whoever manages them
    #[arg(long)]
    pub force: bool,
}

/// How manifests are applied.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Namespace for objects that name none.
    pub namespace: String,
    /// Change nothing.
    pub dry_run: bool,
    /// Take fields over from whoever manages them.
    pub force: bool,
}

/// An object that the server took.
#[derive(Clone, Debug)]
pub struct Applied {
    /// Its kind.
    pub served: Served,
    /// Its namespace; without meaning for a cluster-scoped kind.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// Applies what the flags name.
pub async fn run(server: &Server, args: Args) -> Result<()> {
    let client = server.connect().await?;
    let namespace = args.namespace.unwrap_or_else(|| client.default_namespace().to_string());
    let options = Options { namespace, dry_run: args.dry_run, force: args.force };
    apply_all(&client, &manifests::read(&args.filename)?, &options, output::print).await.map(drop)
}

/// Applies every manifest and tells a line for each; one refusal does not keep the others from being applied.
pub async fn apply_all(
    client: &Client,
    manifests: &[Manifest],
    options: &Options,
    progress: output::Progress,
) -> Result<Vec<Applied>> {
    let mut catalogue = Catalogue::discover(client).await?;
    let (mut applied, mut failed) = (vec![], vec![]);
    for manifest in manifests {
        match apply(client, &mut catalogue, manifest, options).await {
            Ok((object, line)) => {
                progress(&line)?;
                applied.push(object);
            }
            Err(error) => {
                let place = format!("{}: {} {:?}", manifest.origin, manifest.kind(), manifest.name());
                failed.push(error.context(place));
            }
        }
    }
    match failed.len() {
        0 => Ok(applied),
        1 => Err(failed.remove(0)),
        refused => {
            let texts: Vec<String> = failed.iter().map(|e| format!("  {}", errors::words(e))).collect();
            Err(anyhow!("{refused} of {} objects were refused:\n{}", manifests.len(), texts.join("\n")))
        }
    }
}

async fn apply(
    client: &Client,
    catalogue: &mut Catalogue,
    manifest: &Manifest,
    options: &Options,
) -> Result<(Applied, String)> {
    if catalogue.of(manifest.api_version(), manifest.kind()).is_err() {
        // A CustomResourceDefinition earlier in the same files may have brought the kind.
        *catalogue = Catalogue::discover(client).await?;
    }
    let served = catalogue.of(manifest.api_version(), manifest.kind())?;
    let name = match manifest.name() {
        "" => return Err(anyhow!("metadata.name is missing; apply needs one")),
        name => name,
    };
    let namespace = manifest.namespace().unwrap_or(&options.namespace);
    let before =
        served.api(client, namespace).get_metadata_opt(name).await?.and_then(|o| o.metadata.resource_version);
    let mut query = format!("fieldManager={MANAGER}&fieldValidation=Strict");
    if options.force {
        query.push_str("&force=true");
    }
    if options.dry_run {
        query.push_str("&dryRun=All");
    }
    let request = Request::patch(format!("{}/{name}?{query}", served.path(Some(namespace))))
        .header(header::CONTENT_TYPE, "application/apply-patch+yaml")
        .header(header::ACCEPT, "application/json")
        .body(serde_json::to_vec(&manifest.object)?)
        .context("the object's name does not fit into a URL")?;
    let answer = raw::send::<Value>(client, request).await?;
    let after = answer.body["metadata"]["resourceVersion"].as_str();
    let verdict = match (answer.code, before.as_deref()) {
        (201, _) => "created",
        (_, before) if before == after => "unchanged",
        _ => "configured",
    };
    let mut text: String = answer.warnings.iter().map(|w| format!("warning: {w}\n")).collect();
    text.push_str(&format!(
        "{} {verdict}{}\n",
        served.object(name),
        if options.dry_run { " (dry run)" } else { "" }
    ));
    Ok((Applied { served: served.clone(), namespace: namespace.into(), name: name.into() }, text))
}
