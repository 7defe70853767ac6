//! `quintet render`: the children that a custom resource would get, with no cluster.

mod admission;

use std::path::PathBuf;

use anyhow::{Context, Result};
use kube::api::DynamicObject;
use quintet_kit::run::{Observed, RenderError};
use quintet_kit::wiring::Edge;
use serde_json::Value;

use self::admission::Admission;
use crate::client::manifests::{self, Manifest};
use crate::errors::{Exit, Refusal};
use crate::output::{self, Format};
use crate::systems::{Systems, home_namespace};

const EXAMPLES: &str = "\
Examples:
  quintet render -f examples/mlflow/minimal.yaml
  quintet render -f mlflow.yaml --with bundle.yaml       # as if the cluster held that ConfigMap
  quintet render -f mlflow.yaml -o json | jq '.[].kind'";

/// Flags of `quintet render`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Custom resources: a manifest, a folder of manifests, or - for standard input. Other objects in them are taken to
    /// exist on the cluster
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
pub async fn run(args: &Args) -> Result<()> {
    output::print(&output::documents(&children(args).await?, args.output)?)
}

async fn children(args: &Args) -> Result<Vec<Value>> {
    let systems = Systems::offline()?;
    let is_reconciled = |m: &Manifest| systems.reconcile(group(m.api_version()), m.kind());
    let (resources, beside): (Vec<_>, Vec<_>) =
        manifests::read(&args.filename)?.into_iter().partition(is_reconciled);
    if resources.is_empty() {
        return Err(nothing_to_render(&systems, &beside).into());
    }
    let beside = beside.into_iter().chain(manifests::read(&args.with)?);
    let observed = Observed::new(beside.map(|m| object(at_home(m))).collect::<Result<_>>()?);
    let admission = Admission::new(&systems).await?;
    let mut children = vec![];
    for resource in resources {
        let origin = resource.origin.clone();
        let rendered = async {
            admission.check(&resource).await?;
            render(&systems, &object(resource)?, &observed)
        };
        children.extend(rendered.await.context(origin)?);
    }
    Ok(children)
}

fn render(systems: &Systems, object: &DynamicObject, observed: &Observed) -> Result<Vec<Value>> {
    for system in systems.iter() {
        match system.render(object, observed) {
            Ok(desired) => return Ok(desired.to_values()),
            Err(RenderError::NotOurs(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(nothing_to_render(systems, &[]).into())
}

fn nothing_to_render(systems: &Systems, found: &[Manifest]) -> Refusal {
    let what = match found {
        [] => "there is no object in it".to_string(),
        [one] => format!("{}: no system reconciles {}", one.origin, one.kind()),
        [first, ..] => {
            format!("none of {} objects is reconciled, {} to begin with", found.len(), first.kind())
        }
    };
    let watches = systems.rows().into_iter().flat_map(|rows| rows.controllers).flat_map(|c| c.watches);
    let kinds: Vec<String> = watches.filter(|w| w.edge == Edge::For).map(|w| w.kind.kind).collect();
    Refusal::new(Exit::Failed, what).next(format!("a manifest with one of {}", kinds.join(", ")))
}

fn group(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

/// An object that names no namespace is taken to be where the operators' own are.
fn at_home(mut manifest: Manifest) -> Manifest {
    if manifest.namespace().is_none() {
        manifest.object["metadata"]["namespace"] = home_namespace().into();
    }
    manifest
}

fn object(manifest: Manifest) -> Result<DynamicObject> {
    serde_json::from_value(manifest.object)
        .with_context(|| format!("{}: not a Kubernetes object", manifest.origin))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::errors::words;

    /// What is printed for this text: the kinds, or what went wrong.
    async fn rendered(text: &str) -> Result<Vec<String>, String> {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("in.yaml");
        std::fs::write(&file, text).unwrap();
        let args = Args { filename: vec![file], with: vec![], output: Format::Yaml };
        let children = children(&args).await.map_err(|error| words(&error))?;
        Ok(children.iter().map(|child| child["kind"].as_str().unwrap().to_owned()).collect())
    }

    fn mlflow(more: &str) -> String {
        let head = "apiVersion: mlflow.opendatahub.io/v1\nkind: MLflow\nmetadata: {name: mlflow}\nspec:\n";
        format!("{head}  backendStoreUri: postgresql://db/x\n  defaultArtifactRoot: s3://b\n{more}")
    }

    #[tokio::test]
    async fn what_an_api_server_would_refuse_is_refused_in_its_words() {
        for (more, expected) in [
            ("  replicas: 0\n", "spec.replicas in body should be greater than or equal to 1"),
            ("  replicas: three\n", "spec.replicas in body must be of type integer"),
            ("  replica: 3\n", "unknown field \"spec.replica\""),
            (
                "  serviceAccountName: a\n  registryStoreUri: sqlite:///x\n",
                "storage must be configured when using file-based registry store",
            ),
        ] {
            let refusal = rendered(&mlflow(more)).await.unwrap_err();
            assert!(refusal.contains(expected), "{refusal}\nshould say: {expected}");
            assert!(refusal.contains("in.yaml"), "{refusal}");
        }
        let other = mlflow("").replace("name: mlflow", "name: other");
        assert!(rendered(&other).await.unwrap_err().contains("MLflow resource name must be 'mlflow'"));
        let version = mlflow("").replace("io/v1", "io/v7");
        assert!(rendered(&version).await.unwrap_err().contains("is not served as mlflow.opendatahub.io/v7"));
    }

    #[tokio::test]
    async fn an_object_as_a_cluster_shows_it_can_be_rendered() {
        let exported = mlflow("status: {conditions: []}\n")
            .replace("{name: mlflow}", "{name: mlflow, uid: u, resourceVersion: '7', generation: 2}");
        assert_eq!(rendered(&exported).await.unwrap().len(), 6);
    }

    #[tokio::test]
    async fn what_else_is_in_the_file_is_taken_to_exist() {
        let bundle = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: mine}\n";
        let asks = mlflow("  caBundleConfigMap: {name: mine}\n");
        assert!(rendered(&asks).await.unwrap_err().contains("\"mine\" not found"));
        assert_eq!(rendered(&format!("{asks}{bundle}")).await.unwrap().len(), 6);
    }

    #[tokio::test]
    async fn nothing_to_render_says_what_could_be() {
        let refusal = rendered("apiVersion: v1\nkind: Pod\nmetadata: {name: x}\n").await.unwrap_err();
        assert!(refusal.ends_with("no system reconciles Pod"), "{refusal}");
        assert_eq!(rendered("# nothing\n").await.unwrap_err(), "there is no object in it");
        let refusal = nothing_to_render(&Systems::offline().unwrap(), &[]);
        assert_eq!(refusal.advice(), Some("a manifest with one of MLflow, ModelRegistry"));
    }
}
