//! Of all processes that could write, one does: elections on the plane, in virtual time.

mod common;

use common::{Noting, Probe, Seen, World, map, settings};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::jiff::Timestamp;
use kube::api::PostParams;
use kube::{Api, ResourceExt};
use plane::Plane;
use plane::faults::{Effect, Fault};
use plane::status::Error;
use quintet_kit::fence::{Fence, Gate};
use quintet_kit::lease::{Election, Standing};
use quintet_kit::metrics::Metrics;
use quintet_kit::run::{Controller, Started};
use quintet_kit::{Action, Clock, Manager, ObjectKey, Select, Watch, Wiring};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
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

#[tokio::test(start_paused = true)]
async fn a_candidate_says_how_it_stands() {
    let plane = Plane::new();
    let metrics = Metrics::new();
    let clock = Clock::starting_at(Timestamp::from_second(1_700_000_000).unwrap());
    let election = Election::new(plane.client(), "default", "operator-lease", "a", clock).metrics(&metrics);
    let leads = |value: u8| {
        let line = format!("leader_election_master_status{{name=\"operator-lease\"}} {value}\n");
        assert!(metrics.encode().contains(&line), "{line} is not in\n{}", metrics.encode());
    };
    leads(0);
    let (gate, _fence) = Fence::gated();
    let (mut standing, stop) = (election.standing(), CancellationToken::new());
    assert_eq!(*standing.borrow(), Standing::Asking);
    let holds = stop.clone();
    let task = tokio::spawn(async move { election.hold(&gate, &holds).await });
    standing.wait_for(|now| *now == Standing::Leading).await.unwrap();
    leads(1);

    let b = candidate(&plane, "b");
    let mut other = b.election.standing();
    other.wait_for(|now| *now == Standing::Following { holder: "a".into() }).await.unwrap();

    let down = Effect::Refuse(Error::new(500, "InternalError", "down"));
    plane.faults().add(Fault::new(down).on(|request| request.resource == "leases"));
    standing.wait_for(|now| matches!(now, Standing::Failing { .. })).await.unwrap();
    leads(0);
    stop.cancel();
    task.await.unwrap();
}

/// Counts as writing until dropped, killed or not.
struct Writing(Arc<AtomicUsize>);

impl Writing {
    fn begin(writers: &Arc<AtomicUsize>) -> Self {
        assert_eq!(writers.fetch_add(1, Ordering::SeqCst), 0, "two writers");
        Writing(writers.clone())
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A process that makes `done-x` of every `work-x`, slowly, while it leads.
struct Process {
    candidate: Candidate,
    manager: JoinHandle<()>,
}

impl Process {
    fn start(world: &World, identity: &str, writers: &Arc<AtomicUsize>) -> Self {
        let candidate = candidate(&world.plane, identity);
        let (maps, writers) = (world.maps(), writers.clone());
        let system = Probe::made("s", move |context| {
            let (maps, writers, fence) = (maps.clone(), writers.clone(), context.fence().clone());
            let work = move |key: ObjectKey| {
                let (maps, writers, fence) = (maps.clone(), writers.clone(), fence.clone());
                async move {
                    let Some(number) = key.name.strip_prefix("work-") else { return Ok(Action::Wait) };
                    let done = map(&format!("done-{number}"), &[]);
                    if matches!(maps.get_opt(&done.name_any()).await, Ok(Some(_))) {
                        return Ok(Action::Wait);
                    }
                    sleep(Duration::from_secs(1)).await;
                    let write = fence.guard(async {
                        let _writing = Writing::begin(&writers);
                        sleep(Duration::from_secs(1)).await;
                        maps.create(&PostParams::default(), &done).await
                    });
                    Ok(match write.await {
                        Ok(Ok(_)) => Action::Wait,
                        Ok(Err(kube::Error::Api(status))) if status.is_already_exists() => Action::Wait,
                        _ => Action::After(Duration::from_secs(1)),
                    })
                }
            };
            let wiring = Wiring::new("maps").is_for(Watch::<ConfigMap>::within(Select::namespace("default")));
            let reconcile = Noting::doing(&Seen::default(), work);
            Ok(Started::new().controller(Controller::new(wiring, reconcile).concurrency(1)))
        });
        let manager = Manager::new(world.plane.client(), Metrics::new(), settings());
        let manager = manager.with(system, candidate.fence.clone());
        Process { candidate, manager: tokio::spawn(manager.run(CancellationToken::new())) }
    }

    /// As by a power cut: nothing is finished, nothing released.
    fn kill(self) {
        self.manager.abort();
        self.candidate.task.abort();
    }
}

#[tokio::test(start_paused = true)]
async fn a_leader_killed_a_hundred_times_is_followed_by_one_writer_and_loses_no_work() {
    let world = World::new();
    let writers = Arc::new(AtomicUsize::new(0));
    let mut leader = Process::start(&world, "process-0", &writers);
    for round in 0..100 {
        leader.candidate.fence.opened().await;
        let follower = Process::start(&world, &format!("process-{}", round + 1), &writers);
        world.maps().create(&PostParams::default(), &map(&format!("work-{round}"), &[])).await.unwrap();
        // In the middle of the reconcile or of the write, at another moment in every round.
        sleep(Duration::from_millis(100 + 20 * round)).await;
        leader.kill();
        leader = follower;
        let done = format!("done-{round}");
        let began = Instant::now();
        while world.maps().get_opt(&done).await.unwrap().is_none() {
            assert!(began.elapsed() < Duration::from_secs(60), "round {round}: the work is lost");
            sleep(Duration::from_secs(1)).await;
        }
    }
    leader.kill();
}
