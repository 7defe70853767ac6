use std::io::Write as _;

/// A tool that a test needs and this machine lacks.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{tool} is missing: {remedy}")]
pub struct Missing {
    /// What is missing, as one would say it: `kube-apiserver`, `postgres`.
    pub tool: String,
    /// What to do about it, as a command or a sentence.
    pub remedy: String,
}

/// Why a server could not be started.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A program is not there.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// A program is there, but did not come up.
    #[error("{program} did not start: {reason}\n{log}")]
    Start {
        /// The program.
        program: String,
        /// What happened, or did not.
        reason: String,
        /// The end of what it wrote.
        log: String,
    },
    /// The operating system refused something.
    #[error("{what}: {source}")]
    Io {
        /// What was attempted.
        what: String,
        /// The refusal.
        source: std::io::Error,
    },
    /// A key or a certificate could not be made.
    #[error("certificate: {0}")]
    Certificate(#[from] rcgen::Error),
    /// The started server does not answer as it should.
    #[error("kubernetes: {0}")]
    Kube(#[from] ::kube::Error),
}

impl Error {
    /// For `map_err`: says what was being done when the operating system refused.
    pub fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Error {
        let what = what.into();
        move |source| Error::Io { what, source }
    }
}

/// What a test does with a server it may not get: `let Some(server) = or_skip("maas-api on PostgreSQL", found) else { return };`
///
/// Where a tool is missing the test is not run and says so on stderr, past the test runner's capture, so that nobody takes
/// the green line for more than it is. With `CI=true` a missing tool fails the test: there, everything is installed. Any
/// other failure to start fails the test everywhere.
///
/// # Panics
/// As said: with `CI=true`, or when the server is there but does not start.
#[track_caller]
pub fn or_skip<T>(test: &str, found: Result<T, Error>) -> Option<T> {
    match found {
        Ok(server) => Some(server),
        Err(Error::Missing(missing)) if !in_ci() => {
            // Written to the stream itself: the macros' output is captured while a test passes.
            let _ = writeln!(std::io::stderr(), "NOT RUN: {test}: {missing}");
            None
        }
        Err(error) => panic!("{test}: {error}"),
    }
}

fn in_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| value == "true" || value == "1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_names_the_tool_and_what_to_do() {
        let missing = Missing { tool: "kube-apiserver".into(), remedy: "run hack/kube/build".into() };
        assert_eq!(missing.to_string(), "kube-apiserver is missing: run hack/kube/build");
    }

    #[test]
    #[should_panic(expected = "did not start")]
    fn a_server_that_is_there_and_fails_is_never_skipped() {
        let failed =
            Error::Start { program: "etcd".into(), reason: "exit status 1".into(), log: String::new() };
        or_skip::<()>("t", Err(failed));
    }
}
