//! How long to wait after a failure.

use rand::RngExt;
use std::time::Duration;

/// Delays after failures in a row: doubling from the first to the last, each shortened by up to `jitter` of itself so
/// that keys which failed together do not come back together.
#[derive(Clone, Copy, Debug)]
pub struct Backoff {
    /// After the first failure.
    pub first: Duration,
    /// The longest.
    pub last: Duration,
    /// After a conflict.
    pub conflict: Duration,
    /// Conflicts in a row that count as such; further ones wait like other failures.
    pub conflicts: u32,
    /// The part of a delay, between 0 and 1, that may be left off.
    pub jitter: f64,
}

impl Default for Backoff {
    fn default() -> Self {
        Backoff {
            first: Duration::from_secs(1),
            last: Duration::from_secs(256),
            conflict: Duration::from_millis(200),
            conflicts: 5,
            jitter: 0.2,
        }
    }
}

impl Backoff {
    /// The delay after this many failures in a row, the first being 1, without jitter.
    #[must_use]
    pub fn delay(&self, failures: u32) -> Duration {
        let doublings = failures.saturating_sub(1).min(31);
        self.first.saturating_mul(1 << doublings).min(self.last)
    }

    /// The delay shortened by chance.
    #[must_use]
    pub fn jittered(&self, delay: Duration) -> Duration {
        delay.mul_f64(1.0 - self.jitter.clamp(0.0, 1.0) * rand::rng().random::<f64>())
    }
}
