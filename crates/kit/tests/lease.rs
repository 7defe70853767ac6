//! Of all processes that could write, one does: elections on the plane, in virtual time.

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::jiff::Timestamp;
use kube::Api;
use plane::Plane;
use quintet_kit::Clock;
use quintet_kit::fence::{Fence, Gate};
use quintet_kit::lease::Election;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

struct Candidate {
    fence: Fence,
    gate: Arc<Gate>,
    election: Election,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

fn candidate(plane: &Plane, identity: &str) -> Candidate {
    let clock = Clock::starting_at(Timestamp::from_second(1_700_000_000).unwrap());
    let election = Election::new(plane.client(), "default", "operator-lease", identity, clock);
    let (gate, fence) = Fence::gated();
    let (gate, stop) = (Arc::new(gate), CancellationToken::new());
    let task = tokio::spawn({
        let (election, gate, stop) = (election.clone(), gate.clone(), stop.clone());
        async move { election.hold(&gate, &stop).await }
    });
    Candidate { fence, gate, election, stop, task }
}

/// Looks at both every tenth of a second for so long; gives the moments at which each began to lead.
async fn watch(a: &Fence, b: &Fence, lasts: Duration) -> (Option<Duration>, Option<Duration>) {
    let (began, mut first) = (Instant::now(), (None, None));
    while began.elapsed() < lasts {
        assert!(!(a.is_open() && b.is_open()), "two writers after {:?}", began.elapsed());
        if a.is_open() {
            first.0.get_or_insert(began.elapsed());
        }
        if b.is_open() {
            first.1.get_or_insert(began.elapsed());
        }
        sleep(Duration::from_millis(100)).await;
    }
    first
}

#[tokio::test(start_paused = true)]
async fn a_killed_holder_is_followed_by_another_and_never_joined() {
    let plane = Plane::new();
    let a = candidate(&plane, "a");
    a.fence.opened().await;
    let b = candidate(&plane, "b");
    let (_, early) = watch(&a.fence, &b.fence, Duration::from_secs(60)).await;
    assert_eq!(early, None, "a renews, so b waits");

    a.task.abort(); // killed: no release
    let (_, taken) = watch(&a.fence, &b.fence, Duration::from_secs(60)).await;
    let taken = taken.expect("b takes over");
    assert!(taken >= Duration::from_secs(12) && taken <= Duration::from_secs(20), "after {taken:?}");

    let lease: Lease = Api::namespaced(plane.client(), "default").get("operator-lease").await.unwrap();
    let spec = lease.spec.unwrap();
    assert_eq!((spec.holder_identity.as_deref(), spec.lease_transitions), (Some("b"), Some(1)));
}

#[tokio::test(start_paused = true)]
async fn a_released_lease_is_taken_at_the_next_try() {
    let plane = Plane::new();
    let a = candidate(&plane, "a");
    a.fence.opened().await;
    let b = candidate(&plane, "b");
    a.stop.cancel();
    a.task.await.unwrap();
    a.election.release(&a.gate).await.unwrap();
    assert!(!a.fence.is_open(), "nothing is written after the release");
    let (_, taken) = watch(&a.fence, &b.fence, Duration::from_secs(10)).await;
    assert!(taken.expect("b takes over") <= Duration::from_secs(3));
}

#[tokio::test(start_paused = true)]
async fn a_holder_that_cannot_renew_stops_writing_before_the_lease_expires() {
    let plane = Plane::new();
    let a = candidate(&plane, "a");
    a.fence.opened().await;
    a.stop.cancel(); // renews no more, as if the server were out of reach
    let (began, mut closed) = (Instant::now(), None);
    while closed.is_none() {
        sleep(Duration::from_millis(100)).await;
        closed = (!a.fence.is_open()).then(|| began.elapsed());
    }
    assert!(closed.unwrap() <= Duration::from_millis(10_100), "two thirds of 15 s, not {closed:?}");
}
