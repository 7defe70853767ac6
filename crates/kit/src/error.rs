//! How a reconcile fails: a reason of a closed set, and when to try again.

use std::error::Error;
use std::time::Duration;

/// When to try a failed key again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// After a delay that doubles with each failure in a row: most errors.
    Backoff,
    /// Almost at once: somebody else wrote first. Repeated conflicts back off like other errors.
    Soon,
    /// Only after a change: what a user must mend. The regular resync still looks again.
    Never,
    /// After this long, at the latest.
    After(Duration),
}

/// The error of a controller. One enum per controller, with texts that are the same at every try, lest conditions and
/// events change without news.
pub trait Failure: Error + Send + Sync + 'static {
    /// One word of a closed set: label of a metric, reason of an event and of a condition.
    fn reason(&self) -> &'static str;

    /// When to try again.
    fn retry(&self) -> Retry {
        Retry::Backoff
    }
}

impl Failure for kube::Error {
    fn reason(&self) -> &'static str {
        match self {
            kube::Error::Api(status) if status.is_conflict() => "Conflict",
            kube::Error::Api(status) if status.is_forbidden() => "Forbidden",
            kube::Error::Api(status) if status.is_invalid() => "Invalid",
            _ => "ApiError",
        }
    }
    fn retry(&self) -> Retry {
        retry_of(self)
    }
}

/// When to try again after an answer of the API server: conflicts soon, the rest with backoff.
#[must_use]
pub fn retry_of(error: &kube::Error) -> Retry {
    match error {
        kube::Error::Api(status) if status.is_conflict() => Retry::Soon,
        _ => Retry::Backoff,
    }
}

/// True if the API server does not know the object, or not even its kind.
#[must_use]
pub fn is_not_found(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if says_not_found(status))
}

/// True if the answer means that there is no such thing. For a kind that it does not serve, an API server answers with
/// plain text, so that only the code tells.
#[must_use]
pub fn says_not_found(status: &kube::core::Status) -> bool {
    status.is_not_found() || status.code == 404
}

/// What an API server said, or why it said nothing: for people, who need no code and no dump of the answer.
#[must_use]
pub fn said(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message.clone(),
        other => chain(other),
    }
}

/// The text of an error and of all that caused it, on one line.
#[must_use]
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}
