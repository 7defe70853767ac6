//! Controllers at work: keys without objects, failures that stay where they are, and an orderly end.

mod common;

use common::{Broken, Garden, Noting, Probe, Running, Seen, World, eventually, map, settings, settle};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, PostParams};
use parking_lot::Mutex;
use quintet_kit::fence::Fence;
use quintet_kit::metrics::Metrics;
use quintet_kit::run::{Controller, Health, Settings, Started};
use quintet_kit::{Action, Manager, Mapping, ObjectKey, Retry, Select, Singleton, Watch, Wiring};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

fn maps() -> Wiring<ObjectKey> {
    Wiring::new("maps").is_for(Watch::<ConfigMap>::within(Select::namespace("default")))
}

async fn ready(running: &Running, system: &str) {
    let readiness = running.manager.readiness();
    eventually("the system is ready", || readiness.of(system) == Some(Health::Ready)).await;
}

async fn create(world: &World, name: &str) {
    world.maps().create(&PostParams::default(), &map(name, &[])).await.unwrap();
}

/// A system with one controller on ConfigMaps that does this.
fn doing<F>(
    seen: &Seen<ObjectKey>,
    work: impl Fn(ObjectKey) -> F + Clone + Send + Sync + 'static,
) -> Arc<dyn quintet_kit::System>
where
    F: Future<Output = Result<Action, Broken>> + Send + 'static,
{
    let seen = seen.clone();
    Probe::made("s", move |_| {
        Ok(Started::new().controller(Controller::new(maps(), Noting::doing(&seen, work.clone()))))
    })
}

fn names(seen: &Seen<ObjectKey>) -> Vec<String> {
    seen.lock().iter().map(|key| key.name.clone()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_key_is_reconciled_after_its_object_is_gone() {
    let world = World::new();
    create(&world, "a").await;
    let seen = Seen::default();
    let running = world.run([Probe::noting("s", maps, &seen)]);
    ready(&running, "s").await;
    eventually("reconciled", || names(&seen) == ["a"]).await;
    world.maps().delete("a", &DeleteParams::default()).await.unwrap();
    eventually("reconciled once more", || names(&seen) == ["a", "a"]).await;
    let key = ObjectKey::namespaced("default", "a");
    assert!(running.manager.hubs().get::<ConfigMap>(&key).is_none(), "the cache knows");
    running.stop().await;
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Pair(String, String);

impl std::fmt::Display for Pair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}×{}", self.0, self.1)
    }
}

#[tokio::test(start_paused = true)]
async fn keys_may_be_pairs_and_a_singleton_needs_no_object() {
    let world = World::new();
    create(&world, "a").await;
    let (pairs, single) = (Seen::<Pair>::default(), Seen::<Singleton>::default());
    let each = || {
        let pairs = |map: &ConfigMap, _: &quintet_kit::Hubs| {
            ["x", "y"].map(|other| Pair(map.metadata.name.clone().unwrap_or_default(), other.into())).to_vec()
        };
        let watch = Watch::<ConfigMap>::within(Select::namespace("default"));
        Wiring::new("pairs").watches(watch, Mapping::new("each pair", pairs))
    };
    let alone = || Wiring::new("alone").starts_with(|_| vec![Singleton]);
    let running = world.run([Probe::noting("pairs", each, &pairs), Probe::noting("alone", alone, &single)]);
    ready(&running, "pairs").await;
    eventually("all were reconciled", || pairs.lock().len() == 2 && single.lock().len() == 1).await;
    pairs.lock().sort();
    assert_eq!(*pairs.lock(), [Pair("a".into(), "x".into()), Pair("a".into(), "y".into())]);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_panic_does_not_stop_the_rest() {
    let world = World::new();
    for name in ["bad", "good"] {
        create(&world, name).await;
    }
    let seen = Seen::default();
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| ()));
    let running = world.run([doing(&seen, |key: ObjectKey| async move {
        assert!(key.name != "bad", "a bug");
        Ok(Action::Wait)
    })]);
    ready(&running, "s").await;
    eventually("both were tried", || names(&seen).len() == 2).await;
    create(&world, "later").await;
    eventually("work goes on", || names(&seen).contains(&"later".into())).await;
    tokio::time::sleep(Duration::from_secs(8)).await;
    std::panic::set_hook(hook);
    let tries = names(&seen).iter().filter(|name| *name == "bad").count();
    assert!((3..=5).contains(&tries), "backed off like other failures: {tries} tries in eight seconds");
    let metrics = running.manager.metrics().encode();
    let line = format!("controller_runtime_reconcile_panics_total{{controller=\"maps\"}} {tries}");
    assert!(metrics.contains(&line), "{metrics}");
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_reconcile_that_hangs_is_cut_off_and_does_not_hold_up_the_end() {
    let world = World::new();
    create(&world, "a").await;
    let seen = Seen::default();
    let running = world.run([doing(&seen, |_| std::future::pending())]);
    ready(&running, "s").await;
    tokio::time::sleep(Duration::from_secs(119)).await;
    assert_eq!(names(&seen).len(), 1);
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert_eq!(names(&seen).len(), 2, "tried again");
    let metrics = running.manager.metrics().encode();
    assert!(
        metrics.contains("quintet_reconcile_failures_total{controller=\"maps\",reason=\"Timeout\"} 1"),
        "{metrics}"
    );
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_user_error_waits_for_a_change() {
    let world = World::new();
    create(&world, "a").await;
    let seen = Seen::default();
    let running =
        world.run([doing(&seen, |_| async { Err(Broken { text: "mend me", retry: Retry::Never }) })]);
    ready(&running, "s").await;
    tokio::time::sleep(Duration::from_secs(1800)).await;
    assert_eq!(names(&seen).len(), 1);
    world.maps().replace("a", &PostParams::default(), &map("a", &[("x", "y")])).await.unwrap();
    eventually("a change brings it back", || names(&seen).len() == 2).await;
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn every_key_is_looked_at_once_an_hour() {
    let world = World::new();
    create(&world, "a").await;
    let seen = Seen::default();
    let running = world.run([Probe::noting("s", maps, &seen)]);
    ready(&running, "s").await;
    tokio::time::sleep(Duration::from_secs(3590)).await;
    assert_eq!(names(&seen).len(), 1);
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(names(&seen).len(), 2);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn work_is_bounded_for_each_controller_and_fair_between_them() {
    let world = World::new();
    for i in 0..40 {
        create(&world, &format!("m-{i:02}")).await;
    }
    let (busy, quiet) = (Seen::<ObjectKey>::default(), Seen::<Singleton>::default());
    let (running_now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (now, peak) = (running_now.clone(), most.clone());
    let system = doing(&busy, move |_| {
        let (now, peak) = (now.clone(), peak.clone());
        async move {
            peak.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_secs(10)).await;
            now.fetch_sub(1, Ordering::SeqCst);
            Ok(Action::Wait)
        }
    });
    let alone = || Wiring::new("alone").starts_with(|_| vec![Singleton]);
    let running = world.run([system, Probe::noting("alone", alone, &quiet)]);
    ready(&running, "s").await;
    settle().await;
    assert_eq!(quiet.lock().len(), 1, "forty keys of one do not keep the other waiting");
    eventually("all are done", || busy.lock().len() >= 4).await;
    tokio::time::sleep(Duration::from_secs(120)).await;
    assert_eq!((busy.lock().len(), most.load(Ordering::SeqCst)), (40, 4));
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn of_few_workers_every_controller_gets_its_turn() {
    let world = World::new();
    for i in 0..40 {
        create(&world, &format!("m-{i:02}")).await;
    }
    let (busy, quiet) = (Seen::<ObjectKey>::default(), Seen::<Singleton>::default());
    let slow = doing(&busy, |_| async {
        tokio::time::sleep(Duration::from_secs(10)).await;
        Ok(Action::Wait)
    });
    let alone = || Wiring::new("alone").starts_with(|_| vec![Singleton]);
    let one_worker = Settings { workers: 1, ..settings() };
    let manager = Manager::new(world.plane.client(), Metrics::new(), one_worker)
        .with(slow, Fence::open())
        .with(Probe::noting("alone", alone, &quiet), Fence::open());
    let stop = CancellationToken::new();
    let task = tokio::spawn(manager.run(stop.clone()));
    eventually("the busy one has begun", || !busy.lock().is_empty()).await;
    // Four of the busy one's keys may be in line before it, and no more, though forty are waiting.
    tokio::time::sleep(Duration::from_secs(55)).await;
    assert_eq!(quiet.lock().len(), 1, "starved behind {} others", busy.lock().len());
    stop.cancel();
    task.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_fatal_error_stops_and_starts_again_one_system_only() {
    let world = World::new();
    create(&world, "a").await;
    let (good, bad) = (Seen::<ObjectKey>::default(), Seen::<ObjectKey>::default());
    let starts = Arc::new(Mutex::new(vec![]));
    let (started, noted) = (starts.clone(), bad.clone());
    let failing = Probe::made("bad", move |_| {
        started.lock().push(Instant::now());
        let task = match started.lock().len() {
            1 => return Err("no settings".into()),
            2 => {
                async {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    Err("lost its store".into())
                }
            }
            _ => return Ok(Started::new().controller(Controller::new(maps(), Noting::new(&noted)))),
        };
        Ok(Started::new().controller(Controller::new(maps(), Noting::new(&noted))).task(task))
    });
    let running = world.run([Probe::noting("good", maps, &good), failing]);
    ready(&running, "good").await;
    let readiness = running.manager.readiness();
    let failed = |text: &str| readiness.of("bad") == Some(Health::Failed { error: text.into() });
    eventually("it says why", || failed("no settings")).await;
    assert!(!readiness.is_ready() && readiness.of("good") == Some(Health::Ready));
    eventually("it is started again, and fails at work", || failed("lost its store")).await;
    ready(&running, "bad").await;
    assert!(readiness.is_ready() && starts.lock().len() == 3);
    create(&world, "b").await;
    eventually("both work", || names(&good).contains(&"b".into()) && names(&bad).contains(&"b".into())).await;
    assert_eq!(names(&good), ["a", "b"], "the good one was never disturbed");
    assert_eq!(world.plane.requests().count(0, |r| r.verb == "watch" && r.resource == "configmaps"), 1);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn stopping_finishes_what_was_begun_and_begins_nothing() {
    let world = World::new();
    create(&world, "a").await;
    let (seen, done) = (Seen::default(), Arc::new(AtomicUsize::new(0)));
    let finished = done.clone();
    let running = world.run([doing(&seen, move |_| {
        let finished = finished.clone();
        async move {
            tokio::time::sleep(Duration::from_secs(5)).await;
            finished.fetch_add(1, Ordering::SeqCst);
            Ok(Action::After(Duration::from_secs(1)))
        }
    })]);
    ready(&running, "s").await;
    eventually("it has begun", || !seen.lock().is_empty()).await;
    let readiness = running.manager.readiness();
    running.stop().await;
    assert_eq!((seen.lock().len(), done.load(Ordering::SeqCst)), (1, 1));
    assert_eq!(readiness.of("s"), Some(Health::Stopped));
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(seen.lock().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_reconciled_before_the_right_to_write_is_held() {
    let world = World::new();
    create(&world, "a").await;
    let seen = Seen::default();
    let (gate, fence) = Fence::gated();
    let running = world.run_behind(fence, [Probe::noting("s", maps, &seen)]);
    ready(&running, "s").await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(seen.lock().is_empty(), "ready to take over, and waiting");
    gate.open_for(Duration::from_secs(20));
    eventually("now it works", || !seen.lock().is_empty()).await;
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn dashboards_made_for_controller_runtime_find_their_metrics() {
    let world = World::with_garden().await;
    world.garden("g").await;
    let seen = Seen::default();
    let wiring = || Wiring::<ObjectKey>::new("gardens").is_for(Watch::<Garden>::all());
    let running = world.run([Probe::noting("s", wiring, &seen)]);
    ready(&running, "s").await;
    eventually("reconciled", || !seen.lock().is_empty()).await;
    settle().await;
    let metrics = running.manager.metrics().encode();
    for line in [
        "controller_runtime_reconcile_total{controller=\"gardens\",result=\"success\"} 1",
        "controller_runtime_reconcile_time_seconds_count{controller=\"gardens\"} 1",
        "controller_runtime_active_workers{controller=\"gardens\"} 0",
        "controller_runtime_max_concurrent_reconciles{controller=\"gardens\"} 4",
        "workqueue_depth{name=\"gardens\",controller=\"gardens\"} 0",
        "workqueue_adds_total{name=\"gardens\",controller=\"gardens\"} 1",
        "workqueue_queue_duration_seconds_count{name=\"gardens\",controller=\"gardens\"} 1",
        "workqueue_work_duration_seconds_count{name=\"gardens\",controller=\"gardens\"} 1",
        "quintet_cache_objects{group=\"kit.example\",kind=\"Garden\",selection=\"all\"} 1",
        "controller_runtime_reconcile_errors_total{controller=\"gardens\"} 0",
        "workqueue_retries_total{name=\"gardens\",controller=\"gardens\"} 0",
        "rest_client_requests_total{code=\"200\",method=\"GET\",host=\"\"}",
    ] {
        assert!(metrics.contains(line), "{line} is not in\n{metrics}");
    }
    running.stop().await;
}
