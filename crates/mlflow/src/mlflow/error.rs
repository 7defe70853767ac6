//! How the reconcile of an MLflow fails. Reasons and texts are the original's: people and programs match on them.

use quintet_kit::{
    Failure, Retry,
    apply::ApplyError,
    error::{retry_of, said},
    status::StatusError,
};

use super::desired::RenderError;
use crate::config::PLATFORM_CA_BUNDLE;

/// Why a reconcile did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The resource names a CA bundle that is not there.
    #[error("CA bundle ConfigMap {name:?} not found in namespace {namespace:?}")]
    CaBundleMissing {
        /// The ConfigMap.
        name: String,
        /// Where it was looked for.
        namespace: String,
    },
    /// The resource's CA bundle cannot be read.
    #[error("Failed to get CA bundle ConfigMap {name:?}: {}", said(source))]
    CaBundleUnreadable {
        /// The ConfigMap.
        name: String,
        /// What the server says.
        source: Box<kube::Error>,
    },
    /// It cannot be told whether the platform has a CA bundle.
    #[error("Failed to check for platform CA bundle ConfigMap {PLATFORM_CA_BUNDLE:?}: {}", said(.0))]
    PlatformCaBundle(Box<kube::Error>),
    /// Some other object cannot be read.
    #[error("reading {what}: {}", said(source))]
    Read {
        /// What was to be read.
        what: &'static str,
        /// What the server says.
        source: Box<kube::Error>,
    },
    /// The children cannot be built.
    #[error("Failed to render Helm chart: {0}")]
    Render(#[from] RenderError),
    /// A child cannot be written.
    #[error("Failed to apply {kind}/{name}: {}", source.detail())]
    Apply {
        /// The child's kind.
        kind: String,
        /// The child's name.
        name: String,
        /// Why.
        source: Box<ApplyError>,
    },
    /// The link in the console cannot be written.
    #[error("Failed to reconcile ConsoleLink: {}", .0.detail())]
    ConsoleLink(Box<ApplyError>),
    /// The route cannot be written.
    #[error("Failed to reconcile HttpRoute: {}", .0.detail())]
    HttpRoute(Box<ApplyError>),
    /// The status cannot be written.
    #[error(transparent)]
    Status(#[from] StatusError),
}

impl Error {
    /// The failure of a child, by what it means for the resource.
    pub(super) fn of_child(error: ApplyError) -> Self {
        let error = Box::new(error);
        match error.kind() {
            Some("ConsoleLink") => Error::ConsoleLink(error),
            Some("HTTPRoute") => Error::HttpRoute(error),
            kind => Error::Apply {
                kind: kind.unwrap_or_default().into(),
                name: error.key().map(|key| key.name.clone()).unwrap_or_default(),
                source: error,
            },
        }
    }
}

impl Failure for Error {
    fn reason(&self) -> &'static str {
        match self {
            Error::CaBundleMissing { .. } | Error::CaBundleUnreadable { .. } => "CABundleConfigMapError",
            Error::PlatformCaBundle(_) => "PlatformCABundleError",
            Error::Read { .. } => "ReadFailed",
            Error::Render(_) => "RenderFailed",
            Error::Apply { .. } => "ApplyFailed",
            Error::ConsoleLink(_) => "ConsoleLinkFailed",
            Error::HttpRoute(_) => "HttpRouteFailed",
            Error::Status(_) => "StatusFailed",
        }
    }

    fn retry(&self) -> Retry {
        match self {
            // The watch on ConfigMaps, or a change of the resource, brings us back.
            Error::CaBundleMissing { .. } | Error::Render(_) => Retry::Never,
            Error::CaBundleUnreadable { source, .. }
            | Error::PlatformCaBundle(source)
            | Error::Read { source, .. } => retry_of(source),
            Error::Apply { source, .. } | Error::ConsoleLink(source) | Error::HttpRoute(source) => {
                match source.retry() {
                    // What is in the way need not carry our label, so its deletion need not be seen.
                    Retry::Never => Retry::Backoff,
                    retry => retry,
                }
            }
            Error::Status(error) => error.retry(),
        }
    }
}
