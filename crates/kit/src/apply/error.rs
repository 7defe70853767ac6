//! Why a child could not be brought to its desired state.

use crate::error::{Failure, Retry, retry_of};
use crate::fence::Closed;
use crate::key::ObjectKey;
use thiserror::Error;

/// Why a child could not be brought to its desired state.
#[derive(Debug, Error)]
pub enum ApplyError {
    /// An object of the same name exists and is not ours.
    #[error(
        "{kind} {key} exists and {whose}: it is left alone. Delete or rename it, so that ours can be created"
    )]
    Foreign {
        /// The kind.
        kind: String,
        /// Which object.
        key: ObjectKey,
        /// Whose it is.
        whose: String,
    },
    /// The server refuses to change a field of an existing object.
    #[error(
        "{kind} {key} cannot be changed to what is wanted: {message}. Delete it, and it will be created anew"
    )]
    Immutable {
        /// The kind.
        kind: String,
        /// Which object.
        key: ObjectKey,
        /// What the server says.
        message: String,
    },
    /// The server refused, or could not be asked.
    #[error("{kind} {key}: {source}")]
    Api {
        /// The kind.
        kind: String,
        /// Which object.
        key: ObjectKey,
        /// What the server says.
        source: Box<kube::Error>,
    },
    /// The right to write was lost.
    #[error(transparent)]
    Closed(#[from] Closed),
}

impl ApplyError {
    /// The kind it is about, if it is about one.
    #[must_use]
    pub fn kind(&self) -> Option<&str> {
        match self {
            ApplyError::Foreign { kind, .. }
            | ApplyError::Immutable { kind, .. }
            | ApplyError::Api { kind, .. } => Some(kind),
            ApplyError::Closed(_) => None,
        }
    }

    /// The object it is about, if it is about one.
    #[must_use]
    pub fn key(&self) -> Option<&ObjectKey> {
        match self {
            ApplyError::Foreign { key, .. }
            | ApplyError::Immutable { key, .. }
            | ApplyError::Api { key, .. } => Some(key),
            ApplyError::Closed(_) => None,
        }
    }

    /// The text without the object it is about: what the server, or the kit, has to say.
    #[must_use]
    pub fn detail(&self) -> String {
        match self {
            ApplyError::Api { source, .. } => crate::error::said(source),
            ApplyError::Immutable { message, .. } => message.clone(),
            ApplyError::Foreign { .. } | ApplyError::Closed(_) => self.to_string(),
        }
    }
}

impl Failure for ApplyError {
    fn reason(&self) -> &'static str {
        match self {
            ApplyError::Foreign { .. } => "ForeignObject",
            ApplyError::Immutable { .. } => "ImmutableField",
            ApplyError::Api { source, .. } => source.reason(),
            ApplyError::Closed(_) => "NotLeading",
        }
    }

    fn retry(&self) -> Retry {
        match self {
            ApplyError::Immutable { .. } => Retry::Never, // its deletion brings us back
            ApplyError::Api { source, .. } => retry_of(source),
            ApplyError::Foreign { .. } | ApplyError::Closed(_) => Retry::Backoff,
        }
    }
}
