use std::{path::PathBuf, process::Command};

use crate::{Error, Missing, workspace_dir};

/// A program that `hack/tools/build` has made, such as `helm`.
///
/// # Errors
/// [`Missing`] when it was not built yet.
pub fn tool(name: &str) -> Result<PathBuf, Error> {
    let script = workspace_dir().join("hack/tools/build");
    let output = Command::new(&script)
        .args([name, "--where"])
        .output()
        .map_err(Error::io(format!("run {}", script.display())))?;
    let program = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    if program.is_file() {
        return Ok(program);
    }
    Err(Missing { tool: name.into(), remedy: format!("run hack/tools/build {name}, which needs Go") }.into())
}
