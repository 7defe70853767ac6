//! Faults at the edge of the plane, for tests: refused and slow requests, broken and stale watches, a crash between two
//! writes. All chance comes from a seed.
//!
//! The plane's own controllers are not affected: faults happen between a client and the API.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::requests::Request;
use crate::status::Error;

/// What a fault does to a request.
#[derive(Debug, Clone)]
pub enum Effect {
    /// Answers this error; nothing is done.
    Refuse(Error),
    /// Does what was asked, but answers this error: the client cannot know.
    LoseAnswer(Error),
    /// Waits before doing anything.
    Delay(Duration),
    /// Ends the connection without an answer.
    Disconnect,
    /// A watch ends without a word after so many events.
    CutWatch(usize),
    /// A watch tells each event only after this long.
    DelayEvents(Duration),
    /// A watch answers 410 at once.
    ExpireWatch,
}

/// When it happens.
type Matches = Arc<dyn Fn(&Request) -> bool + Send + Sync>;

/// A fault: which requests, how often, and what happens to them.
#[derive(Clone)]
pub struct Fault {
    matches: Matches,
    skip: usize,
    times: Option<usize>,
    probability: f64,
    effect: Effect,
}

impl Fault {
    /// Happens to every request, until narrowed.
    pub fn new(effect: Effect) -> Self {
        Self { matches: Arc::new(|_| true), skip: 0, times: None, probability: 1.0, effect }
    }

    /// Every write fails with the conflict that another writer would cause.
    pub fn conflict() -> Self {
        let message = "Operation cannot be fulfilled: the object has been modified; please apply your changes to the latest version and try again";
        Self::new(Effect::Refuse(Error::new(409, "Conflict", message)))
            .on(|r| matches!(r.verb, "update" | "patch"))
    }

    /// Only requests like this.
    #[must_use]
    pub fn on(mut self, like: impl Fn(&Request) -> bool + Send + Sync + 'static) -> Self {
        let before = self.matches.clone();
        self.matches = Arc::new(move |request| before(request) && like(request));
        self
    }

    /// Not the first `n` of them.
    #[must_use]
    pub fn after(mut self, n: usize) -> Self {
        self.skip = n;
        self
    }

    /// At most `n` times.
    #[must_use]
    pub fn times(mut self, n: usize) -> Self {
        self.times = Some(n);
        self
    }

    /// Each with this probability, from the seed.
    #[must_use]
    pub fn with_probability(mut self, probability: f64) -> Self {
        self.probability = probability.clamp(0.0, 1.0);
        self
    }
}

impl std::fmt::Debug for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fault")
            .field("effect", &self.effect)
            .field("times", &self.times)
            .finish_non_exhaustive()
    }
}

/// The faults of a plane; none at first.
#[derive(Debug, Clone)]
pub struct Faults {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    active: Mutex<(Vec<Fault>, StdRng)>,
    /// Writes still let through; negative for all.
    writes_left: AtomicI64,
}

impl Default for Faults {
    fn default() -> Self {
        let active = Mutex::new((Vec::new(), StdRng::seed_from_u64(0)));
        Self { inner: Arc::new(Inner { active, writes_left: AtomicI64::new(-1) }) }
    }
}

impl Faults {
    /// Begins a new series of chances.
    pub fn seed(&self, seed: u64) {
        self.inner.active.lock().1 = StdRng::seed_from_u64(seed);
    }

    /// Adds a fault; earlier ones are asked first.
    pub fn add(&self, fault: Fault) {
        self.inner.active.lock().0.push(fault);
    }

    /// After `n` more writes every request is cut off, as if this client had crashed: until [`clear`](Self::clear).
    pub fn stop_after_writes(&self, n: u32) {
        self.inner.writes_left.store(i64::from(n), Ordering::SeqCst);
    }

    /// Ends all faults.
    pub fn clear(&self) {
        self.inner.active.lock().0.clear();
        self.inner.writes_left.store(-1, Ordering::SeqCst);
    }

    /// What happens to this request, if anything.
    pub(crate) fn strike(&self, request: &Request) -> Option<Effect> {
        let left = self.inner.writes_left.load(Ordering::SeqCst);
        if left == 0 {
            return Some(Effect::Disconnect);
        }
        if left > 0 && request.is_write() {
            self.inner.writes_left.fetch_sub(1, Ordering::SeqCst);
        }
        let mut active = self.inner.active.lock();
        let (faults, rng) = &mut *active;
        let mut struck = None;
        for (i, fault) in faults.iter_mut().enumerate() {
            if !(fault.matches)(request) {
                continue;
            }
            if fault.skip > 0 {
                fault.skip -= 1;
                continue;
            }
            if fault.probability < 1.0 && rng.random::<f64>() >= fault.probability {
                continue;
            }
            struck = Some(i);
            break;
        }
        let i = struck?;
        let effect = faults[i].effect.clone();
        if let Some(times) = &mut faults[i].times {
            *times = times.saturating_sub(1);
            if *times == 0 {
                faults.remove(i);
            }
        }
        Some(effect)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(verb: &'static str) -> Request {
        Request {
            verb,
            group: String::new(),
            resource: "pods".into(),
            subresource: String::new(),
            namespace: String::new(),
            name: String::new(),
            user: String::new(),
            agent: String::new(),
            code: 0,
        }
    }

    #[test]
    fn a_fault_strikes_what_it_names_as_often_as_it_says() {
        let faults = Faults::default();
        faults.add(Fault::new(Effect::Disconnect).on(|r| r.verb == "get").after(1).times(2));
        let struck = |verb| faults.strike(&request(verb)).is_some();
        assert!(!struck("list"));
        assert_eq!([(); 4].map(|()| struck("get")), [false, true, true, false]);
    }

    #[test]
    fn the_same_seed_gives_the_same_chances() {
        let run = |seed| {
            let faults = Faults::default();
            faults.seed(seed);
            faults.add(Fault::new(Effect::Disconnect).with_probability(0.5));
            (0..64).map(|_| faults.strike(&request("get")).is_some()).collect::<Vec<_>>()
        };
        assert_eq!(run(7), run(7));
        assert_ne!(run(7), run(8));
        assert!(run(7).contains(&true) && run(7).contains(&false));
    }

    #[test]
    fn after_the_last_write_nothing_gets_through() {
        let faults = Faults::default();
        faults.stop_after_writes(1);
        let struck = |verb| faults.strike(&request(verb)).is_some();
        assert_eq!(
            [struck("get"), struck("create"), struck("get"), struck("create")],
            [false, false, true, true]
        );
        faults.clear();
        assert!(!struck("create"));
    }
}
