//! How many requests one user may make.

use std::time::Duration;

use moka::sync::Cache;
use parking_lot::Mutex;
use std::sync::Arc;
use tokio::time::Instant;

/// How many users are kept in mind; those idle for a minute are forgotten.
const USERS: u64 = 50_000;
const MINUTE: Duration = Duration::from_secs(60);

/// A bucket of permits per user: full at first, refilled evenly. Off unless configured; the original has none.
#[derive(Debug)]
pub struct RateLimit {
    per_minute: u32,
    users: Cache<String, Arc<Mutex<Bucket>>>,
}

#[derive(Debug)]
struct Bucket {
    permits: f64,
    filled: Instant,
}

impl RateLimit {
    /// So many in any minute, roughly: a full bucket may be emptied at once.
    pub fn per_minute(requests: u32) -> Self {
        Self {
            per_minute: requests.max(1),
            users: Cache::builder().max_capacity(USERS).time_to_idle(MINUTE).build(),
        }
    }

    /// Takes a permit. False if there is none.
    pub fn admit(&self, user: &str) -> bool {
        let most = f64::from(self.per_minute);
        let fresh = || Arc::new(Mutex::new(Bucket { permits: most, filled: Instant::now() }));
        let bucket = self.users.get(user).unwrap_or_else(|| self.users.get_with(user.to_owned(), fresh));
        let mut bucket = bucket.lock();
        let refill = bucket.filled.elapsed().as_secs_f64() / MINUTE.as_secs_f64() * most;
        bucket.permits = (bucket.permits + refill).min(most);
        bucket.filled = Instant::now();
        let admitted = bucket.permits >= 1.0;
        if admitted {
            bucket.permits -= 1.0;
        }
        admitted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn each_user_has_a_share_of_their_own() {
        let limit = RateLimit::per_minute(3);
        let admitted = |user: &str, times: usize| (0..times).filter(|_| limit.admit(user)).count();
        assert_eq!(admitted("alice", 5), 3);
        assert_eq!(admitted("bob", 2), 2);
        tokio::time::advance(Duration::from_secs(20)).await;
        assert_eq!(admitted("alice", 5), 1);
        tokio::time::advance(Duration::from_secs(600)).await;
        assert_eq!(admitted("alice", 5), 3);
    }
}
