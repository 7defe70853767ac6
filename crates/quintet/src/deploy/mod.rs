//! The files under `deploy/`: a Helm chart and kustomize bases, from the same source as `quintet install`, and what watches
//! over them, from the metrics that the code has.

mod helm;
mod kustomize;
mod monitoring;
mod rights;

use std::collections::BTreeMap;

use anyhow::Result;

pub use monitoring::{Family, families, runbook_page};
pub use rights::page as rights_page;

/// Files by their path under `deploy/`.
pub type Files = BTreeMap<String, String>;

/// Where the originals' own manifests put them.
const NAMESPACE: &str = "opendatahub";

/// All of them.
pub fn files() -> Result<Files> {
    let mut files = kustomize::files()?;
    files.extend(helm::files()?);
    files.extend(monitoring::files()?);
    Ok(files)
}
