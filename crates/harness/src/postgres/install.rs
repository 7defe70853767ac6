//! Where PostgreSQL is on this machine, and who may run it.

use std::{
    ffi::OsString,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    process::Command,
};

use super::has_server;
use crate::{Error, Missing};

/// A directory with PostgreSQL's programs.
#[derive(Debug)]
pub(super) struct Install(PathBuf);

impl Install {
    /// The newest in the places where distributions put it, else whatever is on the path.
    pub(super) fn find() -> Result<Self, Missing> {
        let versioned = ["/usr/lib/postgresql", "/usr/lib64/pgsql", "/usr/libexec/postgresql"];
        let mut found: Vec<PathBuf> = versioned
            .iter()
            .filter_map(|root| std::fs::read_dir(root).ok())
            .flatten()
            .filter_map(|entry| Some(entry.ok()?.path().join("bin")))
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()))
            .filter(|directory| has_server(directory))
            .collect();
        // Directories with a version number sort by it; those without one come last.
        let version = |path: &PathBuf| {
            path.components().filter_map(|part| part.as_os_str().to_str()?.parse::<u32>().ok()).next_back()
        };
        found.sort_by_key(|path| std::cmp::Reverse(version(path)));
        found.into_iter().next().map(Self).ok_or_else(|| Missing {
            tool: "PostgreSQL".into(),
            remedy: "install the server from the distribution's packages (Debian, Ubuntu: apt-get install postgresql; \
                     Fedora: dnf install postgresql-server), so that initdb and postgres are in \
                     /usr/lib/postgresql/<version>/bin or on the PATH"
                .into(),
        })
    }

    pub(super) fn program(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

/// An account without privileges: PostgreSQL refuses to run as root.
#[derive(Debug)]
pub(super) struct Account {
    user: u32,
    group: u32,
}

impl Account {
    /// Needed by root only. The server's own account if there is one, else nobody's.
    pub(super) fn unprivileged() -> Result<Option<Self>, Error> {
        let me = std::fs::metadata("/proc/self").map_err(Error::io("ask who I am"))?.uid();
        if me != 0 {
            return Ok(None);
        }
        let accounts = std::fs::read_to_string("/etc/passwd").map_err(Error::io("read /etc/passwd"))?;
        let account = |name: &str| {
            accounts.lines().map(|line| line.split(':').collect::<Vec<_>>()).find_map(|fields| {
                match fields[..] {
                    [found, _, user, group, ..] if found == name => {
                        Some(Self { user: user.parse().ok()?, group: group.parse().ok()? })
                    }
                    _ => None,
                }
            })
        };
        match account("postgres").or_else(|| account("nobody")) {
            Some(account) => Ok(Some(account)),
            None => Err(Error::Missing(Missing {
                tool: "an account to run PostgreSQL".into(),
                remedy: "run the tests as a user other than root, or add the user postgres".into(),
            })),
        }
    }

    /// Makes the account own a file.
    pub(super) fn give(&self, path: &Path) -> Result<(), Error> {
        std::os::unix::fs::chown(path, Some(self.user), Some(self.group))
            .map_err(Error::io(format!("give {} away", path.display())))
    }

    /// A command run by the account. The process stays the same, so that signals reach it.
    pub(super) fn run(&self, program: &Path) -> Command {
        let argument = |name: &str, id: u32| OsString::from(format!("--{name}={id}"));
        let mut command = Command::new("setpriv");
        command
            .arg(argument("reuid", self.user))
            .arg(argument("regid", self.group))
            .arg("--clear-groups")
            .arg(program);
        command
    }
}
