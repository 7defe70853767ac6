use std::{path::PathBuf, process::Command};

use crate::{Error, Missing, workspace_dir};

/// The built programs of a control plane.
#[derive(Clone, Debug)]
pub struct Tools {
    directory: PathBuf,
}

impl Tools {
    /// The programs `hack/kube/build` has made for the pinned version.
    ///
    /// # Errors
    /// [`Missing`] when they were not built yet.
    pub fn find() -> Result<Tools, Error> {
        let script = workspace_dir().join("hack/kube/build");
        let output = Command::new(&script)
            .arg("--where")
            .output()
            .map_err(Error::io(format!("run {}", script.display())))?;
        let directory = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
        if directory.join("complete").is_file() {
            return Ok(Tools { directory });
        }
        Err(Error::Missing(Missing {
            tool: "a built Kubernetes control plane".into(),
            remedy: "run hack/kube/build once (it needs Go and a few minutes)".into(),
        }))
    }

    /// The path of one program: `kube-apiserver`, `kubectl`, ….
    pub fn program(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Which Kubernetes these are, as in `v1.36.3`.
    pub fn version(&self) -> String {
        let name = self.directory.file_name().unwrap_or_default().to_string_lossy();
        name.rsplit_once('-').map_or_else(|| name.to_string(), |(version, _)| version.to_owned())
    }
}
