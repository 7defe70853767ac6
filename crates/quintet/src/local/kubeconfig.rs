//! Writing the kubeconfig of a local cluster.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

/// Writes it, readable by its owner alone: it holds an administrator's token. A reader sees the old file or the whole
/// new one.
pub fn write(path: &Path, server: &str, authority: &str, token: &str) -> Result<()> {
    let content = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "quintet",
        "clusters": [{"name": "quintet", "cluster": {
            "server": server,
            "certificate-authority-data": STANDARD.encode(authority),
        }}],
        "users": [{"name": "quintet", "user": {"token": token}}],
        "contexts": [{"name": "quintet", "context": {"cluster": "quintet", "user": "quintet", "namespace": "default"}}],
    });
    let fresh = path.with_extension("new");
    let _ = fs::remove_file(&fresh);
    let write = || -> Result<()> {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh)?;
        file.write_all(serde_saphyr::to_string(&content)?.as_bytes())?;
        file.sync_all()?;
        fs::rename(&fresh, path)?;
        Ok(())
    };
    write().with_context(|| format!("writing kubeconfig {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn only_the_owner_can_read_it_and_kube_understands_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kubeconfig");
        fs::write(&path, "old").unwrap();
        write(&path, "https://127.0.0.1:1", "PEM", "secret").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let read = kube::config::Kubeconfig::read_from(&path).unwrap();
        assert_eq!(read.current_context.as_deref(), Some("quintet"));
        assert_eq!(read.clusters[0].cluster.as_ref().unwrap().server.as_deref(), Some("https://127.0.0.1:1"));
    }
}
