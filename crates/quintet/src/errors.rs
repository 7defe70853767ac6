//! What can go wrong, its exit code, and what to do next.

use std::fmt;
use std::process::ExitCode;

use crate::output;

/// The program's exit codes. They are part of the interface: scripts branch on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// The command failed; the message says why.
    Failed = 1,
    /// The command line is wrong.
    Usage = 2,
    /// No API server could be reached.
    Unreachable = 3,
    /// An object or kind that was named does not exist.
    NotFound = 4,
    /// What was asked to become ready did not.
    NotReady = 5,
}

/// A failure that knows its exit code and what the reader can do about it.
#[derive(Debug)]
pub struct Refusal {
    exit: Exit,
    what: String,
    next: Option<String>,
}

impl Refusal {
    /// A refusal with its exit code.
    pub fn new(exit: Exit, what: impl Into<String>) -> Self {
        Refusal { exit, what: what.into(), next: None }
    }

    /// Adds what to do next, a full sentence.
    pub fn next(mut self, step: impl Into<String>) -> Self {
        self.next = Some(step.into());
        self
    }

    /// What the reader can do about it.
    pub fn advice(&self) -> Option<&str> {
        self.next.as_deref()
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Refusal {}

/// Prints an error to standard error and gives the exit code that belongs to it. If nobody listens there, only the code.
pub fn report(error: &anyhow::Error) -> ExitCode {
    if is_broken_pipe(error) {
        return ExitCode::SUCCESS; // `quintet get … | head`: the reader has what it wanted
    }
    let (exit, next) = judge(error);
    let next = next.map_or_else(String::new, |next| format!("  try: {next}\n"));
    let _ = output::tell(&format!("error: {}\n{next}", words(error)));
    ExitCode::from(exit as u8)
}

/// The error and what led to it, in one line. Of a server's refusal only its message is told: the rest repeats it.
pub fn words(error: &anyhow::Error) -> String {
    let mut parts: Vec<String> = vec![];
    for cause in error.chain() {
        if let Some(kube::Error::Api(status)) = cause.downcast_ref::<kube::Error>() {
            parts.push(status.message.clone());
            break;
        }
        let text = cause.to_string();
        if !parts.iter().any(|told| told.contains(&text)) {
            parts.push(text);
        }
    }
    parts.join(": ")
}

fn judge(error: &anyhow::Error) -> (Exit, Option<String>) {
    if let Some(refusal) = error.downcast_ref::<Refusal>() {
        return (refusal.exit, refusal.next.clone());
    }
    match error.chain().find_map(|e| e.downcast_ref::<kube::Error>()) {
        Some(kube::Error::Api(status)) if status.is_not_found() => (Exit::NotFound, None),
        Some(kube::Error::Api(status)) if status.code == 401 => (
            Exit::Failed,
            Some("another token or certificate: the kubeconfig's is not accepted, or no more".into()),
        ),
        Some(kube::Error::Api(status)) if status.is_forbidden() => {
            (Exit::Failed, Some("another identity with --context, or ask for the right named above".into()))
        }
        Some(kube::Error::Service(_) | kube::Error::HyperError(_)) => (
            Exit::Unreachable,
            Some("`quintet up` starts a local API server; --kubeconfig names another one".into()),
        ),
        _ => (Exit::Failed, None),
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|e| e.downcast_ref::<std::io::Error>())
        .any(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_keeps_its_exit_code_under_context() {
        let error = anyhow::Error::new(Refusal::new(Exit::NotFound, "no such kind").next("`quintet crds`"))
            .context("reading mlflow.yaml");
        // anyhow's downcast sees through context.
        assert_eq!(judge(&error), (Exit::NotFound, Some("`quintet crds`".to_string())));
    }

    #[test]
    fn a_servers_refusal_is_told_in_its_own_words_once() {
        let status = kube::core::Status::failure("pods \"x\" not found", "NotFound").with_code(404);
        let error = anyhow::Error::new(kube::Error::Api(Box::new(status))).context("reading x");
        assert_eq!(words(&error), "reading x: pods \"x\" not found");
        assert_eq!(judge(&error).0, Exit::NotFound);
    }

    #[test]
    fn a_closed_pipe_is_no_failure() {
        let error = anyhow::Error::new(std::io::Error::from(std::io::ErrorKind::BrokenPipe));
        assert!(is_broken_pipe(&error));
        assert!(!is_broken_pipe(&anyhow::anyhow!("no")));
    }
}
