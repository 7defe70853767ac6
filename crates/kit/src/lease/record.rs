//! What a candidate does about the record it found: a pure decision.

use k8s_openapi::api::coordination::v1::LeaseSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use std::time::Duration;

/// The timings of a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// A record that stood still for this long may be taken over.
    pub lasts: Duration,
    /// How often a candidate tries, and a holder renews.
    pub retry: Duration,
}

impl Default for Terms {
    /// controller-runtime's: 15 s, tried every 2 s.
    fn default() -> Self {
        Terms { lasts: Duration::from_secs(15), retry: Duration::from_secs(2) }
    }
}

impl Terms {
    /// These, stretched or shortened to last so long.
    #[must_use]
    pub fn lasting(self, lasts: Duration) -> Self {
        Terms { lasts, retry: self.retry.mul_f64(lasts.as_secs_f64() / self.lasts.as_secs_f64()) }
    }

    /// How long after a renewal was sent writes may still start or last: two thirds of the lease's time.
    #[must_use]
    pub fn writes(&self) -> Duration {
        self.lasts * 2 / 3
    }

    /// How long one attempt may take, so that a hanging server leaves time for another.
    pub(super) fn attempt(&self) -> Duration {
        self.lasts / 3
    }
}

/// What to do about a record.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    /// Write this: it is ours, or free, or has expired.
    Write(LeaseSpec),
    /// Somebody else holds it.
    Wait,
}

/// Decides by who holds the record and how long it `stood` still on our own clock. Its times are never compared with
/// ours: clocks of two machines differ.
pub(super) fn step(
    me: &str,
    terms: Terms,
    found: Option<&LeaseSpec>,
    stood: Duration,
    now: MicroTime,
) -> Step {
    let old = found.cloned().unwrap_or_default();
    let holder = old.holder_identity.as_deref().unwrap_or_default();
    let promised = Duration::from_secs(old.lease_duration_seconds.unwrap_or(0).max(0).unsigned_abs().into());
    if !holder.is_empty() && holder != me && stood < promised.max(terms.lasts) {
        return Step::Wait;
    }
    let mine = holder == me;
    let transitions = match (found, mine) {
        (None, _) => Some(0),
        (Some(_), true) => old.lease_transitions,
        (Some(_), false) => Some(old.lease_transitions.unwrap_or(0).saturating_add(1)),
    };
    Step::Write(LeaseSpec {
        holder_identity: Some(me.to_owned()),
        lease_duration_seconds: i32::try_from(terms.lasts.as_secs()).ok(),
        acquire_time: if mine { old.acquire_time.clone() } else { Some(now.clone()) },
        renew_time: Some(now),
        lease_transitions: transitions,
        ..old
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::jiff::Timestamp;

    const TERMS: Terms = Terms { lasts: Duration::from_secs(15), retry: Duration::from_secs(2) };

    #[test]
    fn terms_that_last_otherwise_keep_their_proportions() {
        let short = TERMS.lasting(Duration::from_secs(5));
        assert_eq!((short.lasts.as_millis(), short.retry.as_millis()), (5000, 666));
        assert_eq!(TERMS.lasting(TERMS.lasts), TERMS);
    }

    fn at(second: i64) -> MicroTime {
        MicroTime(Timestamp::from_second(second).unwrap())
    }

    fn held_by(holder: &str, seconds: i32) -> LeaseSpec {
        LeaseSpec {
            holder_identity: Some(holder.into()),
            lease_duration_seconds: Some(seconds),
            acquire_time: Some(at(1)),
            renew_time: Some(at(2)),
            lease_transitions: Some(4),
            ..LeaseSpec::default()
        }
    }

    fn written(step: Step) -> LeaseSpec {
        match step {
            Step::Write(spec) => spec,
            Step::Wait => panic!("should have written"),
        }
    }

    #[test]
    fn the_first_record_counts_no_transition() {
        let spec = written(step("me", TERMS, None, Duration::ZERO, at(9)));
        assert_eq!(spec.holder_identity.as_deref(), Some("me"));
        assert_eq!((spec.lease_transitions, spec.lease_duration_seconds), (Some(0), Some(15)));
        assert_eq!((spec.acquire_time, spec.renew_time), (Some(at(9)), Some(at(9))));
    }

    #[test]
    fn a_renewal_moves_only_the_renew_time() {
        let spec = written(step("me", TERMS, Some(&held_by("me", 15)), Duration::ZERO, at(9)));
        assert_eq!(spec, LeaseSpec { renew_time: Some(at(9)), ..held_by("me", 15) });
    }

    #[test]
    fn anothers_record_is_believed_for_as_long_as_it_promises() {
        let just_under = Duration::from_millis(14_999);
        assert_eq!(step("me", TERMS, Some(&held_by("other", 15)), just_under, at(9)), Step::Wait);
        let spec = written(step("me", TERMS, Some(&held_by("other", 15)), Duration::from_secs(15), at(9)));
        assert_eq!((spec.lease_transitions, spec.acquire_time), (Some(5), Some(at(9))));
        // One that promised longer than our own terms is believed longer; one that promised less, no less.
        assert_eq!(
            step("me", TERMS, Some(&held_by("other", 60)), Duration::from_secs(59), at(9)),
            Step::Wait
        );
        assert_eq!(step("me", TERMS, Some(&held_by("other", 1)), Duration::from_secs(14), at(9)), Step::Wait);
    }

    #[test]
    fn a_released_record_is_free_at_once() {
        let spec = written(step("me", TERMS, Some(&held_by("", 1)), Duration::ZERO, at(9)));
        assert_eq!((spec.holder_identity.as_deref(), spec.lease_transitions), (Some("me"), Some(5)));
    }
}
