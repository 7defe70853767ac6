//! Reading manifests: files, folders and standard input, YAML or JSON, several documents each.

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::errors::{Exit, Refusal};

/// One object as somebody wrote it, and where.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    /// Where it was read, for messages: `mlflow.yaml` or `mlflow.yaml (2nd document)`.
    pub origin: String,
    /// The object.
    pub object: Value,
}

impl Manifest {
    /// The object's `apiVersion`.
    pub fn api_version(&self) -> &str {
        self.object["apiVersion"].as_str().unwrap_or_default()
    }

    /// The object's `kind`.
    pub fn kind(&self) -> &str {
        self.object["kind"].as_str().unwrap_or_default()
    }

    /// The object's name, empty if it has none.
    pub fn name(&self) -> &str {
        self.object["metadata"]["name"].as_str().unwrap_or_default()
    }

    /// The object's namespace, if it names one.
    pub fn namespace(&self) -> Option<&str> {
        self.object["metadata"]["namespace"].as_str()
    }
}

/// Reads every object in these files and folders; `-` is standard input. Lists are flattened.
pub fn read(paths: &[PathBuf]) -> Result<Vec<Manifest>> {
    let mut all = vec![];
    for path in paths {
        if path == Path::new("-") {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).context("reading standard input")?;
            parse(&text, "standard input", &mut all)?;
            continue;
        }
        for file in files(path)? {
            let text =
                std::fs::read_to_string(&file).with_context(|| format!("reading {}", file.display()))?;
            parse(&text, &file.display().to_string(), &mut all)?;
        }
    }
    Ok(all)
}

/// The path itself, or the manifests in it, in order of their names.
fn files(path: &Path) -> Result<Vec<PathBuf>> {
    if !path.exists() {
        return Err(Refusal::new(Exit::NotFound, format!("{} does not exist", path.display()))
            .next("a YAML file, a folder of them, or - for standard input")
            .into());
    }
    if !path.is_dir() {
        return Ok(vec![path.to_path_buf()]);
    }
    let mut found = vec![];
    for entry in std::fs::read_dir(path).with_context(|| format!("reading {}", path.display()))? {
        let file = entry?.path();
        let manifest =
            file.extension().is_some_and(|e| ["yaml", "yml", "json"].iter().any(|known| e == *known));
        if file.is_file() && manifest && file.file_stem().is_some_and(|s| s != "kustomization") {
            found.push(file);
        }
    }
    if found.is_empty() {
        bail!("{} holds no .yaml, .yml or .json file", path.display());
    }
    found.sort();
    Ok(found)
}

fn parse(text: &str, origin: &str, all: &mut Vec<Manifest>) -> Result<()> {
    let documents: Vec<Value> = serde_saphyr::from_multiple(text).map_err(|error| {
        Refusal::new(Exit::Failed, format!("{origin} is not YAML: {error}"))
            .next("check the line named above: indentation, and brackets or quotes left open")
    })?;
    let several = documents.len() > 1;
    for (index, document) in documents.into_iter().enumerate() {
        if document.is_null() {
            continue; // only comments between two separators
        }
        let origin = if several { format!("{origin} (document {})", index + 1) } else { origin.to_string() };
        flatten(Manifest { origin, object: document }, all)?;
    }
    Ok(())
}

fn flatten(manifest: Manifest, all: &mut Vec<Manifest>) -> Result<()> {
    let Manifest { origin, object } = manifest;
    let Some(fields) = object.as_object() else {
        return Err(incomplete(&origin, "a manifest is a mapping with apiVersion, kind and metadata"));
    };
    for required in ["apiVersion", "kind"] {
        if !fields.get(required).is_some_and(Value::is_string) {
            return Err(incomplete(&origin, &format!("{required} is missing")));
        }
    }
    match object["items"].as_array() {
        Some(items) if object["kind"].as_str().is_some_and(|k| k.ends_with("List")) => {
            for item in items.clone() {
                flatten(Manifest { origin: origin.clone(), object: item }, all)?;
            }
        }
        _ => all.push(Manifest { origin, object }),
    }
    Ok(())
}

fn incomplete(origin: &str, what: &str) -> anyhow::Error {
    Refusal::new(Exit::Failed, format!("{origin}: {what}"))
        .next("the manifests in examples/ begin as they must; `quintet get KIND NAME -o yaml` prints a whole one")
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Vec<Manifest>> {
        let mut all = vec![];
        parse(text, "x.yaml", &mut all).map(|()| all)
    }

    #[test]
    fn documents_and_lists_become_objects() {
        let text = "# a comment\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\n---\napiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Secret, metadata: {name: b, namespace: team}}\n";
        let all = parsed(text).unwrap();
        let seen: Vec<_> = all.iter().map(|m| (m.kind(), m.name(), m.namespace())).collect();
        assert_eq!(seen, [("ConfigMap", "a", None), ("Secret", "b", Some("team"))]);
    }

    #[test]
    fn what_is_missing_is_named_with_its_place() {
        let error =
            parsed("apiVersion: v1\nkind: A\n---\napiVersion: v1\nmetadata: {name: b}\n").unwrap_err();
        assert_eq!(error.to_string(), "x.yaml (document 2): kind is missing");
        let error = parsed("just text\n").unwrap_err();
        assert!(error.to_string().contains("a manifest is a mapping"), "{error}");
    }

    #[test]
    fn wrong_yaml_names_the_file() {
        let error = parsed("a: [1\n").unwrap_err();
        assert!(error.to_string().starts_with("x.yaml is not YAML: "), "{error}");
    }
}
