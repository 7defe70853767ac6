//! How the reconcile of a registry fails.

use quintet_kit::{
    Failure, Retry,
    apply::ApplyError,
    error::{chain, retry_of},
    finalizer::FinalizerError,
    status::StatusError,
};

use crate::webhook::Invalid;

/// Why a reconcile did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The resource asks for what cannot be.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// Something cannot be read.
    #[error("reading {what}: {}", chain(source))]
    Read {
        /// What was to be read.
        what: &'static str,
        /// What the server says.
        source: Box<kube::Error>,
    },
    /// A child cannot be written.
    #[error("{}{source}", prefix(source))]
    Apply {
        /// Why.
        source: Box<ApplyError>,
    },
    /// The resource itself cannot be written.
    #[error("updating ModelRegistry: {}", chain(.0))]
    Update(Box<kube::Error>),
    /// The finalizer cannot be written.
    #[error(transparent)]
    Finalizer(#[from] FinalizerError),
    /// The status cannot be written.
    #[error(transparent)]
    Status(#[from] StatusError),
    /// The right to write was lost.
    #[error(transparent)]
    Closed(#[from] quintet_kit::fence::Closed),
}

impl Error {
    pub(super) fn read(what: &'static str) -> impl Fn(kube::Error) -> Error {
        move |source| Error::Read { what, source: Box::new(source) }
    }
}

impl From<ApplyError> for Error {
    fn from(source: ApplyError) -> Self {
        Error::Apply { source: Box::new(source) }
    }
}

/// The words that the original puts before the failure of these kinds.
fn prefix(error: &ApplyError) -> &'static str {
    match error.kind() {
        Some("Group") => "failed to create OpenShift Group: ",
        Some("RoleBinding") => "failed to create RoleBinding: ",
        _ => "",
    }
}

impl Failure for Error {
    fn reason(&self) -> &'static str {
        match self {
            Error::Invalid(_) => "Invalid",
            Error::Read { .. } => "ReadFailed",
            Error::Apply { source } => source.reason(),
            Error::Update(_) => "UpdateFailed",
            Error::Finalizer(error) => error.reason(),
            Error::Status(error) => error.reason(),
            Error::Closed(_) => "NotLeading",
        }
    }

    fn retry(&self) -> Retry {
        match self {
            Error::Invalid(_) => Retry::Never, // a change of the resource brings us back
            Error::Read { source, .. } | Error::Update(source) => retry_of(source),
            Error::Apply { source } => source.retry(),
            Error::Finalizer(error) => error.retry(),
            Error::Status(error) => error.retry(),
            Error::Closed(_) => Retry::Backoff,
        }
    }
}
