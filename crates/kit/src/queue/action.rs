//! What to do with a key whose reconcile succeeded.

use crate::clock::Clock;
use k8s_openapi::jiff::Timestamp;
use std::time::Duration;

/// What to do with a key whose reconcile succeeded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Action {
    /// Nothing, until something changes.
    #[default]
    Wait,
    /// Look again after this long at the latest, and somewhat sooner by chance: for state outside the cluster.
    After(Duration),
    /// Look again after just this long: something is due then, and looking sooner would find nothing.
    Due(Duration),
    /// Look again with the delay that a failure would have, without its being one.
    Backoff,
}

impl Action {
    /// Look again when this moment has come.
    #[must_use]
    pub fn at(moment: Timestamp, clock: &Clock) -> Self {
        let left = moment.duration_since(clock.now());
        Action::Due(Duration::try_from(left).unwrap_or(Duration::ZERO))
    }
}
