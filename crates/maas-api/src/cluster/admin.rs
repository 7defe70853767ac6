//! Who is an administrator, remembered for a short while.

use std::{collections::HashMap, sync::Arc, time::Duration};

use futures::{
    FutureExt,
    future::{BoxFuture, Shared},
};
use parking_lot::Mutex;
use prometheus_client::metrics::counter::Counter;
use tokio::time::Instant;

use super::Cluster;
use crate::subscriptions::Caller;

/// How long a yes is believed.
const YES: Duration = Duration::from_secs(30);
/// How long a no is: somebody who has just been made an administrator does not wait long.
const NO: Duration = Duration::from_secs(2);

/// The access review failed.
#[derive(Clone, Debug, thiserror::Error)]
#[error("access review: {0}")]
pub struct ReviewError(pub String);

type Asking = Shared<BoxFuture<'static, Result<bool, ReviewError>>>;

#[derive(Clone)]
enum Slot {
    Known {
        admin: bool,
        until: Instant,
    },
    /// Somebody asks; everybody else waits for the same answer.
    Asking(Asking),
}

/// Answers whether somebody is an administrator.
pub struct AdminCheck {
    cluster: Arc<dyn Cluster>,
    slots: Mutex<HashMap<String, Slot>>,
    size: usize,
    /// Answered from memory.
    pub hits: Counter,
    /// Asked of the cluster.
    pub misses: Counter,
}

impl AdminCheck {
    /// Remembers at most `size` answers.
    pub fn new(cluster: Arc<dyn Cluster>, size: usize) -> Self {
        Self { cluster, slots: Mutex::default(), size, hits: Counter::default(), misses: Counter::default() }
    }

    /// Whether the caller is an administrator. Somebody without a name is none.
    pub async fn is_admin(&self, caller: Caller<'_>) -> Result<bool, ReviewError> {
        if caller.username.is_empty() {
            return Ok(false);
        }
        let key = key(caller);
        let asking = match self.slot(&key, caller) {
            Slot::Known { admin, .. } => return Ok(admin),
            Slot::Asking(asking) => asking,
        };
        let outcome = asking.clone().await;
        self.settle(key, &asking, &outcome);
        outcome
    }

    fn slot(&self, key: &str, caller: Caller<'_>) -> Slot {
        let mut slots = self.slots.lock();
        match slots.get(key) {
            Some(Slot::Known { until, .. }) if *until <= Instant::now() => {}
            Some(slot) => {
                self.hits.inc();
                return slot.clone();
            }
            None => {}
        }
        self.misses.inc();
        let (cluster, username, groups) =
            (self.cluster.clone(), caller.username.to_owned(), caller.groups.to_vec());
        let asking =
            async move { cluster.review_admin(Caller { username: &username, groups: &groups }).await };
        let slot = Slot::Asking(asking.boxed().shared());
        if slots.len() < self.size || slots.contains_key(key) {
            slots.insert(key.to_owned(), slot.clone());
        }
        slot
    }

    /// Puts the answer where the question was. Errors are not remembered.
    fn settle(&self, key: String, asking: &Asking, outcome: &Result<bool, ReviewError>) {
        let (mut slots, now) = (self.slots.lock(), Instant::now());
        slots.retain(|_, slot| match slot {
            Slot::Known { until, .. } => *until > now,
            Slot::Asking(asking) => asking.strong_count() != Some(1), // everybody who asked went away
        });
        match slots.get(&key) {
            Some(Slot::Asking(theirs)) if theirs.ptr_eq(asking) => {}
            Some(_) => return, // settled by another who waited, or asked anew
            None if slots.len() < self.size => {}
            None => return,
        }
        match outcome {
            Ok(admin) => {
                let until = now + if *admin { YES } else { NO };
                slots.insert(key, Slot::Known { admin: *admin, until });
            }
            Err(_) => drop(slots.remove(&key)),
        }
    }
}

/// The same for the same groups in another order.
fn key(caller: Caller<'_>) -> String {
    let mut parts: Vec<&str> = caller.groups.iter().map(String::as_str).collect();
    parts.sort_unstable();
    parts.insert(0, caller.username);
    parts.join("\0")
}

#[cfg(test)]
mod tests {
    use super::{super::FixedCluster, *};

    fn check(size: usize) -> (Arc<FixedCluster>, AdminCheck) {
        let cluster = Arc::new(FixedCluster::default());
        cluster.set_admins(["root"]);
        (cluster.clone(), AdminCheck::new(cluster, size))
    }

    async fn ask(check: &AdminCheck, username: &str, groups: &[&str]) -> Result<bool, ReviewError> {
        let groups: Vec<String> = groups.iter().map(|g| (*g).to_owned()).collect();
        check.is_admin(Caller { username, groups: &groups }).await
    }

    #[tokio::test(start_paused = true)]
    async fn a_yes_lasts_30_seconds_and_a_no_2() {
        let (cluster, check) = check(8);
        for (username, lasts) in [("root", YES), ("alice", NO)] {
            let before = cluster.reviews();
            assert_eq!(ask(&check, username, &["a", "b"]).await.unwrap(), username == "root");
            ask(&check, username, &["b", "a"]).await.unwrap();
            tokio::time::advance(lasts - Duration::from_millis(1)).await;
            ask(&check, username, &["a", "b"]).await.unwrap();
            assert_eq!(cluster.reviews() - before, 1, "{username}: order of groups does not matter");
            tokio::time::advance(Duration::from_millis(1)).await;
            ask(&check, username, &["a", "b"]).await.unwrap();
            assert_eq!(cluster.reviews() - before, 2, "{username}");
        }
        assert_eq!((check.hits.get(), check.misses.get()), (4, 4));
    }

    #[tokio::test]
    async fn other_groups_are_another_question() {
        let (cluster, check) = check(8);
        ask(&check, "root", &["a"]).await.unwrap();
        ask(&check, "root", &["a", "b"]).await.unwrap();
        assert_eq!(cluster.reviews(), 2);
        assert!(!ask(&check, "", &["a"]).await.unwrap());
        assert_eq!(cluster.reviews(), 2, "nobody is not asked about");
    }

    #[tokio::test]
    async fn many_who_ask_at_once_are_one_question() {
        let (cluster, check) = check(8);
        let answers = futures::future::join_all((0..50).map(|_| ask(&check, "root", &["a"]))).await;
        assert!(answers.into_iter().all(|answer| answer.unwrap()));
        assert_eq!(cluster.reviews(), 1);
    }

    #[tokio::test]
    async fn errors_are_told_and_not_remembered() {
        let (cluster, check) = check(8);
        cluster.break_reviews("down");
        assert!(ask(&check, "root", &["a"]).await.is_err());
        assert!(ask(&check, "root", &["a"]).await.is_err());
        assert_eq!(cluster.reviews(), 2);
        assert!(check.slots.lock().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_memory_answers_all_the_same() {
        let (cluster, check) = check(1);
        assert!(ask(&check, "root", &["a"]).await.unwrap());
        assert!(!ask(&check, "bob", &["a"]).await.unwrap());
        assert!(!ask(&check, "bob", &["a"]).await.unwrap());
        assert_eq!(cluster.reviews(), 3, "bob's answer had no room");
        tokio::time::advance(YES).await;
        ask(&check, "bob", &["a"]).await.unwrap();
        ask(&check, "bob", &["a"]).await.unwrap();
        assert_eq!(cluster.reviews(), 4, "expired answers make room");
    }

    #[tokio::test]
    async fn one_who_goes_away_leaves_the_question_to_the_next() {
        let (cluster, check) = check(8);
        {
            let mut gone = Box::pin(ask(&check, "root", &["a"]));
            assert!(futures::poll!(&mut gone).is_pending());
        }
        assert!(ask(&check, "root", &["a"]).await.unwrap());
        assert_eq!(cluster.reviews(), 1);
    }
}
