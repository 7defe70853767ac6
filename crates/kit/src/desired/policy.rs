//! How a child is written, whether an existing object may be taken over, and what to do about immutable fields.

use serde::{Deserialize, Serialize};
use std::fmt;

/// How an object is brought to its desired state. Paths are dotted (`spec`, `metadata.annotations`); a name with dots
/// in it is written in brackets: `metadata.annotations[example.dev/list]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum WritePolicy {
    /// Server-side apply, forced: our fields are reset, others' stay, fields we drop go away.
    #[default]
    Apply,
    /// These paths are compared whole and replaced whole, additions of others included. Labels, annotations and owner
    /// references are merged. Sent as a replacement with the resourceVersion that was read.
    Exclusive(Vec<String>),
    /// Made when missing, then left alone.
    CreateOnly,
    /// As `Exclusive` of every field but metadata and status: for lists that legally repeat a key, which apply refuses.
    Update,
    /// An object of others: only these paths are touched, and it is never made. A path that ends in `[,]` is text that
    /// others share as a comma-separated set: our elements are added, theirs are kept.
    PatchForeign(Vec<String>),
}

impl WritePolicy {
    /// The policy's name without its paths.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            WritePolicy::Apply => "Apply",
            WritePolicy::Exclusive(_) => "Exclusive",
            WritePolicy::CreateOnly => "CreateOnly",
            WritePolicy::Update => "Update",
            WritePolicy::PatchForeign(_) => "PatchForeign",
        }
    }
}

impl fmt::Display for WritePolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WritePolicy::Exclusive(paths) | WritePolicy::PatchForeign(paths) => {
                write!(f, "{}({})", self.name(), paths.join(", "))
            }
            _ => f.write_str(self.name()),
        }
    }
}

/// Whether an object that exists, and is not ours, may be taken over. An object is ours if it shares an owner with the
/// desired one; a desired object without owners is known by its labels: the existing one must carry all of them, and
/// must not be controlled by somebody else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Adopt {
    /// Never: the child fails, and says why.
    #[default]
    Never,
    /// If nobody controls it, or only a deleted namesake of our own owner.
    Uncontrolled,
    /// Whoever made it.
    Always,
}

/// What to do when the server refuses to change an immutable field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnImmutable {
    /// Fail, and say that the object must be deleted by hand.
    #[default]
    Report,
    /// Delete it and make it again at once.
    Recreate,
}
