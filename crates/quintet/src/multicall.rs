//! The program under an original's name: an existing Deployment goes on when only its image is replaced.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

/// The originals' programs that this one stands in for.
pub const NAMES: [&str; 3] = ["manager", "bbr", "maas-api"];

/// Runs as the original whose program's name we were started under; `None` under our own name.
pub fn as_original(arguments: &[OsString]) -> Option<ExitCode> {
    let name = Path::new(arguments.first()?).file_name()?.to_str()?;
    match name {
        "maas-api" => Some(maas_api(&arguments[1..])),
        "manager" => Some(crate::swap::manager(arguments)),
        "bbr" => Some(quintet_payload::cli::main(arguments.iter().cloned())),
        _ => None,
    }
}

fn maas_api(flags: &[OsString]) -> ExitCode {
    let flags: Vec<String> = flags.iter().map(|flag| flag.to_string_lossy().into_owned()).collect();
    match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime.block_on(quintet_maas_api::cli::run(&flags)),
        Err(error) => crate::errors::report(&anyhow::Error::new(error).context("starting the runtime")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn started_as(name: &str) -> Option<ExitCode> {
        as_original(&[name.into(), "--no-such-flag".into()])
    }

    #[test]
    fn the_programs_name_decides_wherever_it_lies() {
        assert!(started_as("/usr/bin/quintet").is_none());
        for original in NAMES.iter().flat_map(|name| [format!("/{name}"), format!("/usr/local/bin/{name}")]) {
            assert!(
                started_as(&original).is_some(),
                "{original} reads the original's flags, and refuses this one"
            );
        }
    }
}
