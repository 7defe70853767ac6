//! The files under `deploy/`: a Helm chart and kustomize bases, from the same source as `quintet install`.

mod helm;
mod kustomize;
mod rights;

use std::collections::BTreeMap;

use anyhow::Result;

pub use rights::page as rights_page;

/// Files by their path under `deploy/`.
pub type Files = BTreeMap<String, String>;

/// Where the originals' own manifests put them.
const NAMESPACE: &str = "opendatahub";

/// All of them.
pub fn files() -> Result<Files> {
    let mut files = kustomize::files()?;
    files.extend(helm::files()?);
    Ok(files)
}
