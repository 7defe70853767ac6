//! The program under an original's name: an existing Deployment goes on when only its image is replaced.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

/// Runs as the original whose program's name we were started under; `None` under our own name.
pub fn as_original(arguments: &[OsString]) -> Option<ExitCode> {
    let name = Path::new(arguments.first()?).file_name()?.to_str()?;
    match name {
        "bbr" => Some(quintet_payload::cli::main(arguments.iter().cloned())),
        _ => None,
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
        assert!(started_as("/bbr").is_some(), "the original's flags are read, and this one is refused");
    }
}
