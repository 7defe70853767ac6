use super::*;
use crate::metrics::Metrics;
use std::time::Duration;
use tokio::time::{advance, timeout};

const EXACT: Backoff = Backoff {
    first: Duration::from_secs(1),
    last: Duration::from_secs(256),
    conflict: Duration::from_millis(200),
    conflicts: 5,
    jitter: 0.0,
};

fn queue() -> Queue<&'static str> {
    Queue::new(EXACT, Metrics::new().queue("test"))
}

/// The next key if there is one now, paused time standing still.
async fn now(queue: &Queue<&'static str>) -> Option<Job<&'static str>> {
    timeout(Duration::ZERO, queue.next()).await.ok()
}

/// How long until a key comes, to the millisecond that Tokio's timer has.
async fn wait(queue: &Queue<&'static str>) -> (Duration, Job<&'static str>) {
    let start = Instant::now();
    let job = queue.next().await;
    (start.elapsed(), job)
}

fn about(got: Duration, wanted: Duration) -> bool {
    got.abs_diff(wanted) <= Duration::from_millis(2)
}

#[tokio::test(start_paused = true)]
async fn a_key_waits_once_and_in_order() {
    let queue = queue();
    for key in ["a", "b", "a", "a", "c", "b"] {
        queue.add(key);
    }
    assert_eq!(queue.len(), 3);
    for wanted in ["a", "b", "c"] {
        let job = queue.next().await;
        assert_eq!(*job.key(), wanted);
        job.done(Action::Wait);
    }
    assert!(now(&queue).await.is_none());
    assert_eq!(queue.0.inner.lock().known(), 0, "nothing is remembered of keys at rest");
}

#[tokio::test(start_paused = true)]
async fn the_same_key_is_never_handed_out_twice_at_once() {
    let queue = queue();
    queue.add("a");
    let first = queue.next().await;
    queue.add("a");
    queue.add("a");
    assert!(now(&queue).await.is_none(), "still being worked on");
    first.done(Action::Wait);
    let second = now(&queue).await.expect("it was added meanwhile");
    second.done(Action::Wait);
    assert!(now(&queue).await.is_none(), "once is enough");
}

#[tokio::test(start_paused = true)]
async fn failures_double_the_delay_up_to_the_last_and_success_forgets_them() {
    let queue = queue();
    queue.add("a");
    queue.next().await.failed(Retry::Backoff);
    for seconds in [1, 2, 4, 8, 16, 32, 64, 128, 256, 256] {
        let (waited, job) = wait(&queue).await;
        assert!(about(waited, Duration::from_secs(seconds)), "{waited:?} instead of {seconds} s");
        job.failed(Retry::Backoff);
    }
    wait(&queue).await.1.done(Action::Wait);
    queue.add("a");
    queue.next().await.failed(Retry::Backoff);
    assert!(about(wait(&queue).await.0, Duration::from_secs(1)));
}

#[tokio::test(start_paused = true)]
async fn jitter_only_shortens_and_differs() {
    let backoff = Backoff { jitter: 0.2, ..EXACT };
    let delays: Vec<_> = (0..100).map(|_| backoff.jittered(Duration::from_secs(10))).collect();
    assert!(delays.iter().all(|d| (Duration::from_secs(8)..=Duration::from_secs(10)).contains(d)));
    assert!(delays.iter().any(|d| d != &delays[0]));
}

#[tokio::test(start_paused = true)]
async fn conflicts_come_back_soon_but_not_for_ever() {
    let queue = queue();
    queue.add("a");
    queue.next().await.failed(Retry::Soon);
    for _ in 0..4 {
        let (waited, job) = wait(&queue).await;
        assert!(about(waited, Duration::from_millis(200)), "{waited:?}");
        job.failed(Retry::Soon);
    }
    wait(&queue).await.1.failed(Retry::Soon);
    for seconds in [1, 2, 4] {
        let (waited, job) = wait(&queue).await;
        assert!(about(waited, Duration::from_secs(seconds)), "{waited:?}");
        job.failed(Retry::Soon);
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_user_must_mend_waits_for_a_change() {
    let queue = queue();
    queue.add("a");
    queue.next().await.failed(Retry::Never);
    assert!(timeout(Duration::from_secs(100_000), queue.next()).await.is_err());
    queue.add("a");
    assert!(now(&queue).await.is_some());
}

#[tokio::test(start_paused = true)]
async fn a_requeue_comes_when_due_and_the_sooner_wins() {
    let queue = queue();
    queue.add_after("a", Duration::from_secs(60));
    queue.add_after("a", Duration::from_secs(10));
    queue.add_after("a", Duration::from_secs(30));
    let (waited, job) = wait(&queue).await;
    assert!(about(waited, Duration::from_secs(10)));
    job.done(Action::After(Duration::from_secs(5)));
    let (waited, job) = wait(&queue).await;
    assert!(about(waited, Duration::from_secs(5)), "an action replaces what was due");
    job.done(Action::Wait);
    assert!(timeout(Duration::from_secs(1000), queue.next()).await.is_err(), "once");
}

#[tokio::test(start_paused = true)]
async fn a_change_does_not_wait_for_the_backoff() {
    let queue = queue();
    queue.add("a");
    queue.next().await.failed(Retry::Backoff);
    queue.add("a");
    let job = now(&queue).await.expect("at once");
    job.done(Action::Wait);
    assert!(timeout(Duration::from_secs(1000), queue.next()).await.is_err(), "the delayed one is void");
}

#[tokio::test(start_paused = true)]
async fn dropped_work_comes_again() {
    let queue = queue();
    queue.add("a");
    drop(queue.next().await);
    assert!(now(&queue).await.is_some());
}

#[tokio::test(start_paused = true)]
async fn every_waiting_worker_gets_a_key() {
    let queue = queue();
    let workers: Vec<_> = (0..3)
        .map(|_| {
            let queue = queue.clone();
            tokio::spawn(async move { *queue.next().await.key() })
        })
        .collect();
    tokio::task::yield_now().await;
    for key in ["a", "b", "c"] {
        queue.add(key);
    }
    let mut got = vec![];
    for worker in workers {
        got.push(timeout(Duration::from_secs(1), worker).await.expect("none starves").unwrap());
    }
    got.sort_unstable();
    assert_eq!(got[..], ["a", "b", "c"][..]);
}

#[tokio::test(start_paused = true)]
async fn idle_means_nothing_happens_unless_something_changes() {
    let queue = queue();
    queue.add_after("a", Duration::from_secs(60));
    assert!(queue.is_idle(Duration::from_secs(59)) && !queue.is_idle(Duration::from_secs(61)));
    advance(Duration::from_secs(60)).await;
    let job = queue.next().await;
    assert!(!queue.is_idle(Duration::ZERO));
    job.done(Action::Wait);
    assert!(queue.is_idle(Duration::from_secs(1_000_000)));
}

#[tokio::test(start_paused = true)]
async fn a_deadline_is_met_to_the_moment() {
    let queue: Queue<&str> = Queue::new(Backoff::default(), Metrics::new().queue("test"));
    queue.add("a");
    let clock = crate::Clock::starting_at("2026-01-01T00:00:00Z".parse().unwrap());
    queue.next().await.done(Action::at("2026-01-01T00:01:00Z".parse().unwrap(), &clock));
    assert!(about(wait(&queue).await.0, Duration::from_secs(60)), "no jitter, lest it be found not due yet");
}

#[tokio::test(start_paused = true)]
async fn work_under_way_shows_in_the_metrics() {
    let metrics = Metrics::new();
    let queue: Queue<&str> = Queue::new(EXACT, metrics.queue("test"));
    queue.add("a");
    queue.add("b");
    let first = queue.next().await;
    advance(Duration::from_secs(10)).await;
    let second = queue.next().await;
    advance(Duration::from_secs(5)).await;
    let shows = |name: &str, value: &str| {
        let line = format!("workqueue_{name}{{name=\"test\",controller=\"test\"}} {value}");
        assert!(metrics.encode().contains(&line), "{line} is not in\n{}", metrics.encode());
    };
    shows("unfinished_work_seconds", "20");
    shows("longest_running_processor_seconds", "15");
    first.done(Action::Wait);
    second.done(Action::Wait);
    shows("unfinished_work_seconds", "0");
    shows("longest_running_processor_seconds", "0");
}
