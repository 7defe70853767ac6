use std::{
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
};

use crate::Error;

/// A temporary directory that goes away with the test process, even when that ends without dropping anything (see
/// [`crate::Process`], whose trick this shares).
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    janitor: Child,
    leash: Option<ChildStdin>,
}

/// Processes that still write there are being ended at the same moment, hence the second try.
const JANITOR: &str = r#"read -r _; rm -rf -- "$1" 2>/dev/null || { sleep 1; rm -rf -- "$1"; }"#;

impl Scratch {
    /// A new directory whose name begins with `prefix`.
    ///
    /// # Errors
    /// When the directory cannot be made.
    pub fn new(prefix: &str) -> Result<Scratch, Error> {
        let path = tempfile::Builder::new()
            .prefix(prefix)
            .tempdir()
            .map_err(Error::io("make a temporary directory"))?
            .keep();
        let mut janitor = Command::new("sh")
            .args(["-c", JANITOR, "janitor"])
            .arg(&path)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(Error::io("start a shell"))?;
        let leash = janitor.stdin.take();
        Ok(Scratch { path, janitor, leash })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(self.leash.take());
        let _ = self.janitor.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_goes_with_the_guard() {
        let scratch = Scratch::new("quintet-test-").expect("a directory");
        let path = scratch.path().to_path_buf();
        std::fs::write(path.join("file"), "x").expect("writable");
        drop(scratch);
        assert!(!path.exists());
    }
}
