//! Time as an input.

use std::sync::Arc;

use jiff::Timestamp;
use tokio::time::Instant;

/// Tells the wall-clock time.
pub trait Clock: Send + Sync + std::fmt::Debug {
    /// Now.
    fn now(&self) -> Timestamp;
}

/// The wall clock at its creation plus what Tokio's clock has run since: paused tests see it move with their time.
#[derive(Debug)]
pub struct TokioClock {
    base: Timestamp,
    start: Instant,
}

impl TokioClock {
    /// Starts from the given wall-clock time.
    pub fn starting_at(base: Timestamp) -> Self {
        Self { base, start: Instant::now() }
    }
}

impl Default for TokioClock {
    fn default() -> Self {
        Self::starting_at(Timestamp::now())
    }
}

impl Clock for TokioClock {
    fn now(&self) -> Timestamp {
        self.base.checked_add(self.start.elapsed()).unwrap_or(Timestamp::MAX)
    }
}

/// `2026-11-15T20:10:09Z`, as `metav1.Time` prints.
pub fn seconds(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// The default clock.
pub fn system() -> Arc<dyn Clock> {
    Arc::new(TokioClock::default())
}
