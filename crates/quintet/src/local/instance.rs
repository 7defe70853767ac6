//! One local cluster per kubeconfig path.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::errors::{Exit, Refusal};

/// Holds the place of a local cluster until dropped. The lock falls with the process, however it ends.
#[derive(Debug)]
pub struct Instance {
    lock: File,
    path: PathBuf,
}

impl Instance {
    /// Takes the place beside this kubeconfig, or says who has it.
    pub fn claim(kubeconfig: &Path) -> Result<Self> {
        let path = kubeconfig.with_extension("lock");
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
        }
        let mut lock = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .with_context(|| format!("opening {}", path.display()))?;
        match lock.try_lock() {
            Ok(()) => Ok(Instance { lock, path }),
            Err(TryLockError::WouldBlock) => {
                let mut who = String::new();
                lock.read_to_string(&mut who).ok();
                let who = if who.trim().is_empty() { "a process that is just starting".into() } else { who };
                let what =
                    format!("a local cluster already runs on {}: {}", kubeconfig.display(), who.trim());
                Err(Refusal::new(Exit::Failed, what)
                    .next("use it, stop it with Ctrl-C, or start another one with --kubeconfig PATH")
                    .into())
            }
            Err(TryLockError::Error(error)) => {
                Err(error).with_context(|| format!("locking {}", path.display()))
            }
        }
    }

    /// Tells a second `up` what runs here.
    pub fn announce(&mut self, server: &str) -> Result<()> {
        self.lock.set_len(0)?;
        self.lock.rewind()?;
        write!(self.lock, "process {} serves {server}", std::process::id())?;
        Ok(self.lock.flush()?)
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // A leftover file does no harm: the lock is what counts.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_cluster_on_the_same_path_is_told_of_the_first() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kubeconfig");
        let mut first = Instance::claim(&path).unwrap();
        first.announce("https://127.0.0.1:1234").unwrap();
        let error = Instance::claim(&path).unwrap_err().to_string();
        assert!(error.contains("https://127.0.0.1:1234"), "{error}");
        drop(first);
        Instance::claim(&path).unwrap();
    }
}
