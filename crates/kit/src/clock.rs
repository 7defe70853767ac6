//! The clock every decision reads, so that a test can move it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, Time};
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// Tells the time. Pass it wherever a decision depends on "now"; nothing else in a system may read a clock.
#[derive(Clone, Copy, Debug)]
pub struct Clock(Source);

#[derive(Clone, Copy, Debug)]
enum Source {
    /// The machine's wall clock: follows corrections, and a machine that slept.
    Wall,
    /// A start plus Tokio's own time, so that paused tests see cooldowns, expiry and leases move.
    Simulated { start: Timestamp, since: Instant },
}

impl Clock {
    /// The machine's clock.
    #[must_use]
    pub fn system() -> Self {
        Clock(Source::Wall)
    }

    /// A clock that shows `start` now and moves with Tokio's time, also while that is paused and advanced.
    #[must_use]
    pub fn starting_at(start: Timestamp) -> Self {
        Clock(Source::Simulated { start, since: Instant::now() })
    }

    /// The time now.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        match self.0 {
            Source::Wall => Timestamp::now(),
            Source::Simulated { start, since } => {
                let elapsed = SignedDuration::try_from(since.elapsed()).unwrap_or(SignedDuration::MAX);
                start.saturating_add(elapsed).unwrap_or(Timestamp::MAX)
            }
        }
    }

    /// The time now in whole seconds, as a condition carries it: finer parts are lost on the wire, and what was
    /// written would then differ from what comes back.
    #[must_use]
    pub fn seconds(&self) -> Time {
        Time(whole_seconds(self.now()))
    }

    /// The time now in microseconds, as events and leases carry it.
    #[must_use]
    pub fn micros(&self) -> MicroTime {
        let now = self.now();
        MicroTime(Timestamp::from_microsecond(now.as_microsecond()).unwrap_or(now))
    }
}

impl Default for Clock {
    fn default() -> Self {
        Clock::system()
    }
}

/// `time` without its fraction of a second.
#[must_use]
pub fn whole_seconds(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).unwrap_or(time)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test(start_paused = true)]
    async fn a_simulated_clock_moves_with_paused_time() {
        let start: Timestamp = "2026-01-01T00:00:00.75Z".parse().unwrap();
        let clock = Clock::starting_at(start);
        tokio::time::advance(Duration::from_secs(90)).await;
        assert_eq!(clock.now().to_string(), "2026-01-01T00:01:30.75Z");
        assert_eq!(clock.seconds().0.to_string(), "2026-01-01T00:01:30Z");
    }
}
