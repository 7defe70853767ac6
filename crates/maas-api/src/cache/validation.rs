//! Answers to validation, kept for a short while.
//!
//! How long after its revocation a key may still be called valid:
//!
//! | revoked by | bound |
//! |---|---|
//! | this process | not at all, once the revocation is answered |
//! | another replica, while it is heard | the time of a notification |
//! | another replica, while it is not | [`CacheLimits::deaf`] |
//! | anybody else who writes to the database | [`CacheLimits::ttl`] |
//!
//! Expiry needs no bound: it is checked at each use. What is cached about keys that are not valid has its own room, so
//! that guessing keys pushes no good key out.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering},
    time::Duration,
};

use bytes::Bytes;
use jiff::Timestamp;
use moka::sync::Cache;
use std::sync::Arc;
use tokio::time::Instant;
use uuid::Uuid;

use crate::keys::KeyHash;

/// How much is kept, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct CacheLimits {
    /// Keys, at most. One takes about a kilobyte.
    pub keys: u64,
    /// Refusals, at most.
    pub refusals: u64,
    /// The age at which an answer is asked for again. Zero turns the cache off.
    pub ttl: Duration,
    /// The same while other replicas' revocations are not heard.
    pub deaf: Duration,
    /// The same for refusals.
    pub refusal_ttl: Duration,
}

impl Default for CacheLimits {
    fn default() -> Self {
        Self {
            keys: 100_000,
            refusals: 10_000,
            ttl: Duration::from_secs(30),
            deaf: Duration::from_secs(5),
            refusal_ttl: Duration::from_secs(2),
        }
    }
}

/// Why a well-formed key is not valid.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Refusal {
    /// There is no such key.
    NotFound,
    /// There was.
    RevokedOrExpired,
}

/// A key that is neither revoked nor expired, and what to answer about it.
#[derive(Debug)]
pub struct CachedKey {
    /// Its id.
    pub id: Uuid,
    /// The answer, ready to be sent.
    pub answer: Bytes,
    /// A hash of its owner's name, to find all keys of a user.
    owner: u64,
    /// When it ends, in microseconds.
    expires_at: i64,
    /// When its use was last noted, in seconds.
    noted: AtomicI64,
    loaded: Instant,
}

/// How long a key's use need not be noted again.
const NOTE_EVERY: i64 = 60;

impl CachedKey {
    /// A key just read from the store.
    pub fn new(
        id: Uuid,
        username: &str,
        expires_at: Option<Timestamp>,
        last_used: Option<Timestamp>,
        answer: Bytes,
    ) -> Self {
        Self {
            id,
            answer,
            owner: owner(username),
            expires_at: expires_at.map_or(i64::MAX, |time| time.as_microsecond()),
            noted: AtomicI64::new(last_used.map_or(i64::MIN, |time| time.as_second())),
            loaded: Instant::now(),
        }
    }

    /// Whether its time is over.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        now.as_microsecond() > self.expires_at
    }

    /// Whether this use is to be noted: at most one a minute is. A clock that was set back does not stop the notes.
    pub fn should_note(&self, now: Timestamp) -> bool {
        let (now, noted) = (now.as_second(), self.noted.load(Ordering::Relaxed));
        let due = noted == i64::MIN || (now - noted).abs() >= NOTE_EVERY;
        due && self.noted.compare_exchange(noted, now, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}

fn owner(username: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    username.hash(&mut hasher);
    hasher.finish()
}

/// The cache. All methods are quick and may be called from anywhere.
#[derive(Debug)]
pub struct ValidationCache {
    keys: Cache<KeyHash, Arc<CachedKey>>,
    refusals: Cache<KeyHash, (Refusal, Instant)>,
    limits: CacheLimits,
    /// Whether other replicas are heard.
    listening: AtomicBool,
    /// Counts what has been forgotten: an answer read before must not be kept after.
    forgotten: AtomicU64,
}

/// Taken before the store is asked; see [`ValidationCache::keep`].
#[derive(Clone, Copy, Debug)]
pub struct Ticket(u64);

impl ValidationCache {
    /// An empty cache, which hears nobody yet.
    pub fn new(limits: CacheLimits) -> Self {
        Self {
            keys: Cache::builder()
                .max_capacity(limits.keys)
                .time_to_live(limits.ttl)
                .support_invalidation_closures()
                .build(),
            refusals: Cache::builder().max_capacity(limits.refusals).time_to_live(limits.refusal_ttl).build(),
            limits,
            listening: AtomicBool::new(false),
            forgotten: AtomicU64::new(0),
        }
    }

    /// The key, if it is known and fresh.
    pub fn key(&self, hash: &KeyHash) -> Option<Arc<CachedKey>> {
        let limit = if self.listening.load(Ordering::Acquire) { self.limits.ttl } else { self.limits.deaf };
        self.keys.get(hash).filter(|key| key.loaded.elapsed() < limit.min(self.limits.ttl))
    }

    /// The refusal, if there is a fresh one.
    pub fn refusal(&self, hash: &KeyHash) -> Option<Refusal> {
        let (refusal, loaded) = self.refusals.get(hash)?;
        (loaded.elapsed() < self.limits.refusal_ttl).then_some(refusal)
    }

    /// To be taken before the store is asked.
    pub fn ticket(&self) -> Ticket {
        Ticket(self.forgotten.load(Ordering::Acquire))
    }

    /// Keeps a key, unless something was forgotten since the ticket was taken: the store may have been read before
    /// the revocation and the answer may arrive after it.
    pub fn keep(&self, hash: KeyHash, key: Arc<CachedKey>, ticket: Ticket) {
        if self.limits.ttl.is_zero() {
            return;
        }
        self.refusals.invalidate(&hash);
        self.keys.insert(hash, key);
        // Looked at after the insert: a revocation either comes after it and removes it, or is seen here.
        if self.forgotten.load(Ordering::Acquire) != ticket.0 {
            self.keys.invalidate(&hash);
        }
    }

    /// Keeps a refusal.
    pub fn refuse(&self, hash: KeyHash, refusal: Refusal) {
        if self.limits.ttl.is_zero() {
            return;
        }
        self.keys.invalidate(&hash);
        self.refusals.insert(hash, (refusal, Instant::now()));
    }

    /// Forgets a refusal: the key has just been made.
    pub fn forget_refusal(&self, hash: &KeyHash) {
        self.refusals.invalidate(hash);
    }

    /// Forgets one key.
    pub fn forget_key(&self, id: &str) {
        match Uuid::parse_str(id) {
            Ok(id) => self.forget_if(move |key| key.id == id),
            Err(_) => self.forget_all(),
        }
    }

    /// Forgets all keys of a user.
    pub fn forget_user(&self, username: &str) {
        let owner = owner(username);
        self.forget_if(move |key| key.owner == owner);
    }

    /// Forgets all keys.
    pub fn forget_all(&self) {
        self.forgotten.fetch_add(1, Ordering::AcqRel);
        self.keys.invalidate_all();
    }

    fn forget_if(&self, condition: impl Fn(&CachedKey) -> bool + Send + Sync + 'static) {
        self.forgotten.fetch_add(1, Ordering::AcqRel);
        if self.keys.invalidate_entries_if(move |_, key| condition(key)).is_err() {
            self.keys.invalidate_all();
        }
    }

    /// Other replicas are heard from now on; what they said before is lost.
    pub fn listening(&self) {
        self.forget_all();
        self.listening.store(true, Ordering::Release);
    }

    /// Other replicas are not heard any more.
    pub fn deaf(&self) {
        self.listening.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(n: u8) -> KeyHash {
        KeyHash::of(&format!("sk-oai-a_{n}")).expect("well-formed")
    }

    fn key(username: &str) -> Arc<CachedKey> {
        Arc::new(CachedKey::new(Uuid::new_v4(), username, None, None, Bytes::from_static(b"{}")))
    }

    fn cache() -> ValidationCache {
        let cache = ValidationCache::new(CacheLimits::default());
        cache.listening();
        cache
    }

    fn kept(cache: &ValidationCache, n: u8, username: &str) -> Arc<CachedKey> {
        let key = key(username);
        cache.keep(hash(n), key.clone(), cache.ticket());
        key
    }

    #[test]
    fn one_key_one_user_or_all_are_forgotten() {
        let cache = cache();
        let one = kept(&cache, 1, "alice");
        kept(&cache, 2, "alice");
        kept(&cache, 3, "bob");
        kept(&cache, 4, "bob");
        cache.forget_key(&one.id.to_string());
        assert!(cache.key(&hash(1)).is_none() && cache.key(&hash(2)).is_some());
        cache.forget_user("alice");
        assert!(cache.key(&hash(2)).is_none() && cache.key(&hash(3)).is_some());
        cache.forget_all();
        assert!(cache.key(&hash(3)).is_none() && cache.key(&hash(4)).is_none());
        let again = kept(&cache, 1, "alice");
        assert_eq!(cache.key(&hash(1)).expect("kept again").id, again.id);
    }

    #[test]
    fn what_was_read_before_a_revocation_is_not_kept_after_it() {
        let cache = cache();
        let ticket = cache.ticket();
        cache.forget_user("somebody");
        cache.keep(hash(1), key("alice"), ticket);
        assert!(cache.key(&hash(1)).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn answers_age_and_age_faster_while_nobody_is_heard() {
        let cache = cache();
        kept(&cache, 1, "alice");
        tokio::time::advance(Duration::from_secs(6)).await;
        assert!(cache.key(&hash(1)).is_some());
        cache.deaf();
        assert!(cache.key(&hash(1)).is_none(), "too old for one who hears nothing");
        kept(&cache, 2, "alice");
        assert!(cache.key(&hash(2)).is_some());
        tokio::time::advance(Duration::from_secs(5)).await;
        assert!(cache.key(&hash(2)).is_none());
        cache.listening();
        assert!(cache.key(&hash(2)).is_none(), "what was missed is not trusted");
        kept(&cache, 3, "alice");
        tokio::time::advance(Duration::from_secs(30)).await;
        assert!(cache.key(&hash(3)).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn refusals_age_and_give_way_to_keys() {
        let cache = cache();
        cache.refuse(hash(1), Refusal::NotFound);
        assert_eq!(cache.refusal(&hash(1)), Some(Refusal::NotFound));
        kept(&cache, 1, "alice");
        assert_eq!(cache.refusal(&hash(1)), None);
        cache.refuse(hash(1), Refusal::RevokedOrExpired);
        assert!(cache.key(&hash(1)).is_none());
        tokio::time::advance(Duration::from_secs(2)).await;
        assert_eq!(cache.refusal(&hash(1)), None);
    }

    #[test]
    fn guesses_push_no_key_out() {
        let cache = ValidationCache::new(CacheLimits { refusals: 10, ..Default::default() });
        cache.listening();
        kept(&cache, 1, "alice");
        for n in 0..1000 {
            cache.refuse(KeyHash::of(&format!("sk-oai-guess_{n}")).expect("well-formed"), Refusal::NotFound);
        }
        cache.refusals.run_pending_tasks();
        assert!(cache.refusals.entry_count() <= 10);
        assert!(cache.key(&hash(1)).is_some());
    }

    #[test]
    fn without_a_time_to_live_nothing_is_kept() {
        let cache = ValidationCache::new(CacheLimits { ttl: Duration::ZERO, ..Default::default() });
        cache.listening();
        kept(&cache, 1, "alice");
        cache.refuse(hash(2), Refusal::NotFound);
        assert!(cache.key(&hash(1)).is_none() && cache.refusal(&hash(2)).is_none());
    }

    #[test]
    fn use_is_noted_once_a_minute() {
        let key = key("alice");
        let at = |seconds| Timestamp::from_second(1_000_000 + seconds).expect("in range");
        let noted: Vec<i64> =
            [0, 1, 59, 60, 61, 119, 120, 20].into_iter().filter(|s| key.should_note(at(*s))).collect();
        assert_eq!(noted, [0, 60, 120, 20], "the last one after the clock was set back");
    }

    #[test]
    fn a_key_ends_after_its_last_microsecond() {
        let end = Timestamp::from_microsecond(5_000_000).expect("in range");
        let key = CachedKey::new(Uuid::new_v4(), "a", Some(end), None, Bytes::new());
        assert!(!key.is_expired(end));
        assert!(key.is_expired(Timestamp::from_microsecond(5_000_001).expect("in range")));
    }
}
