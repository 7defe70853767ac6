//! What can be seen of a child before it is written.

use super::error::ApplyError;
use super::memory::{Sent, UNSEEN};
use super::work::Work;
use crate::desired::{Live, LiveObject};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// What can be seen of a child.
pub(super) enum Sight {
    /// Nothing: no watch shows it. It is as we left it, as far as anybody knows.
    Hidden,
    /// Nothing yet: the watch has not come to what we wrote.
    Lagging,
    /// It does not exist.
    Absent,
    /// It exists; only its metadata is known.
    Metadata(Box<ObjectMeta>),
    /// It exists.
    Present(Box<dyn LiveObject>),
}

impl Sight {
    /// The metadata of what exists.
    pub(super) fn metadata(&self) -> Option<&ObjectMeta> {
        match self {
            Sight::Hidden | Sight::Lagging | Sight::Absent => None,
            Sight::Metadata(metadata) => Some(metadata),
            Sight::Present(live) => Some(live.metadata()),
        }
    }
}

impl Work<'_> {
    /// Looks in the caches, and asks the server where they cannot tell. An object asked for by name stays in the cache,
    /// so that the question is not put again.
    pub(super) async fn sight(&self, sent: Option<&Sent>) -> Result<Sight, ApplyError> {
        let fresh = |sent: &Sent| sent.at.elapsed() < UNSEEN;
        let (seen, narrowed) = match self.child.live(self.hubs, self.key) {
            Live::Present(live) => return Ok(Sight::Present(live)),
            Live::Unwatched if sent.is_some_and(fresh) => return Ok(Sight::Hidden),
            Live::Unwatched => (u64::MAX, true),
            Live::Missing { seen, complete: true, .. } => {
                return Ok(if sent.is_some_and(|sent| seen < sent.version()) {
                    Sight::Lagging
                } else {
                    Sight::Absent
                });
            }
            Live::Missing { seen, narrowed, .. } => (seen, narrowed),
        };
        match sent {
            Some(sent) if seen < sent.version() => return Ok(Sight::Lagging),
            Some(sent) if sent.hidden && fresh(sent) => return Ok(Sight::Hidden),
            _ => {}
        }
        let metadata =
            self.child.fetch_metadata(self.hubs, self.key).await.map_err(|error| self.target.error(error))?;
        if narrowed && metadata.is_some() {
            self.memory.hide(&self.id); // it is there, and the watch's selector does not match it
        }
        Ok(metadata.map_or(Sight::Absent, |metadata| Sight::Metadata(Box::new(metadata))))
    }
}
