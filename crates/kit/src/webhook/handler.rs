//! What a handler is asked, and what it answers.

use serde::Deserialize;

/// What somebody wants to do to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Operation {
    /// Make it.
    Create,
    /// Change it.
    Update,
    /// Delete it.
    Delete,
    /// Connect to it.
    Connect,
}

/// A question about an object.
#[derive(Clone, Debug)]
pub struct Asked<K> {
    /// What is to be done.
    pub operation: Operation,
    /// The object as it would be; of a deletion, as it is.
    pub object: K,
    /// The object as it is, of an update.
    pub before: Option<K>,
    /// The user who asks.
    pub user: String,
    /// Nothing will be stored.
    pub dry_run: bool,
}

impl<K> Asked<K> {
    /// The question that a reconcile asks where no webhook is installed: would this object have been let in?
    pub fn stored(object: K) -> Self {
        Asked { operation: Operation::Update, object, before: None, user: String::new(), dry_run: false }
    }
}

/// The answer to it.
pub type Verdict = Result<Allowed, Denied>;

/// Let in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allowed {
    /// A word about it, empty for none.
    pub message: String,
    /// What the user should know all the same.
    pub warnings: Vec<String>,
}

impl Allowed {
    /// Without a word.
    #[must_use]
    pub fn silently() -> Self {
        Allowed::default()
    }

    /// With a word.
    pub fn saying(message: impl Into<String>) -> Self {
        Allowed { message: message.into(), warnings: vec![] }
    }

    /// With a warning.
    #[must_use]
    pub fn warn(mut self, warning: impl Into<String>) -> Self {
        self.warnings.push(warning.into());
        self
    }
}

/// Not let in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Denied {
    /// The HTTP code.
    pub code: u16,
    /// Why.
    pub message: String,
}

impl Denied {
    /// The object is not acceptable: 403, as the originals answer.
    pub fn new(message: impl Into<String>) -> Self {
        Denied { code: 403, message: message.into() }
    }

    /// The question cannot be understood: 400.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Denied { code: 400, message: message.into() }
    }

    /// It cannot be judged yet: 503.
    pub fn not_yet(message: impl Into<String>) -> Self {
        Denied { code: 503, message: message.into() }
    }

    /// The reason that goes with the code.
    pub(super) fn reason(&self) -> &'static str {
        match self.code {
            403 => "Forbidden",
            500 => "InternalError",
            503 => "ServiceUnavailable",
            _ => "",
        }
    }
}
