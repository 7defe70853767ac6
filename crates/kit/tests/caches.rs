//! One watch per kind, APIs that come and go, and what a controller hears of it.

mod common;

use common::{Garden, Probe, Running, Seen, World, eventually, map, settle};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{DeleteParams, PostParams};
use quintet_kit::hub::State;
use quintet_kit::run::Health;
use quintet_kit::{Mapping, Meta, ObjectKey, Select, Singleton, Watch, Wiring};

fn count(world: &World, verb: &str, resource: &str) -> usize {
    world.plane.requests().count(0, |r| r.verb == verb && r.resource == resource)
}

async fn ready(running: &Running, system: &str) {
    let readiness = running.manager.readiness();
    eventually("the system is ready", || readiness.of(system) == Some(Health::Ready)).await;
}

#[tokio::test(start_paused = true)]
async fn two_controllers_on_one_kind_open_one_watch() {
    let world = World::new();
    world.maps().create(&PostParams::default(), &map("a", &[])).await.unwrap();
    let (one, two) = (Seen::<ObjectKey>::default(), Seen::<ObjectKey>::default());
    let wiring = |name: &'static str| move || Wiring::new(name).is_for(Watch::<ConfigMap>::all());
    let running =
        world.run([Probe::noting("one", wiring("one"), &one), Probe::noting("two", wiring("two"), &two)]);
    ready(&running, "one").await;
    ready(&running, "two").await;
    world.maps().create(&PostParams::default(), &map("b", &[])).await.unwrap();
    settle().await;
    for seen in [&one, &two] {
        assert!(
            seen.lock().iter().any(|key| key.name == "a") && seen.lock().iter().any(|key| key.name == "b")
        );
    }
    assert_eq!((count(&world, "list", "configmaps"), count(&world, "watch", "configmaps")), (1, 1));
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn different_selections_are_different_watches() {
    let world = World::new();
    let seen = Seen::<ObjectKey>::default();
    let wiring = || {
        let labelled = Watch::<ConfigMap>::within(Select::namespace("default").labels("x=y"));
        Wiring::new("c").is_for(labelled).watches(Watch::<Meta<Secret>>::all(), Mapping::itself())
    };
    let running = world.run([Probe::noting("c", wiring, &seen)]);
    ready(&running, "c").await;
    let mut labelled = map("labelled", &[]);
    labelled.metadata.labels = Some([("x".into(), "y".into())].into());
    world.maps().create(&PostParams::default(), &labelled).await.unwrap();
    world.maps().create(&PostParams::default(), &map("other", &[])).await.unwrap();
    settle().await;
    assert_eq!(*seen.lock(), [ObjectKey::namespaced("default", "labelled")]);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_controller_waits_for_a_kind_it_needs_and_goes_on_when_it_is_installed() {
    let world = World::new();
    let seen = Seen::<ObjectKey>::default();
    let running = world.run([Probe::noting("c", || Wiring::new("c").is_for(Watch::<Garden>::all()), &seen)]);
    let readiness = running.manager.readiness();
    let waits = |text: &str| match readiness.of("c") {
        Some(Health::Waiting { kinds }) => kinds.iter().any(|kind| kind.contains(text)),
        _ => false,
    };
    eventually("it says what it waits for", || {
        waits("kit.example/v1/Garden (all): not served by the cluster")
    })
    .await;
    let mark = world.mark();
    tokio::time::sleep(std::time::Duration::from_secs(600)).await;
    let looks = world.plane.requests().count(mark, |r| r.resource == "gardens");
    assert!(looks <= 15, "absence is not polled in a hurry: {looks} requests in ten minutes");

    world.install_garden().await;
    ready(&running, "c").await;
    world.garden("g").await;
    eventually("the garden is reconciled", || seen.lock().contains(&ObjectKey::namespaced("default", "g")))
        .await;

    world.remove_garden().await;
    eventually("it waits again", || waits("not served")).await;
    let before = seen.lock().len();
    assert_eq!(running.manager.hubs().of::<Garden>(&Select::all()).state(), State::Gone);
    assert!(running.manager.hubs().all::<Garden>().is_empty(), "the cache is empty");

    world.install_garden().await;
    ready(&running, "c").await;
    world.garden("again").await;
    eventually("and works again", || {
        seen.lock()[before..].contains(&ObjectKey::namespaced("default", "again"))
    })
    .await;
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_may_be_missing_is_picked_up_when_it_comes_and_dropped_when_it_goes() {
    let world = World::new();
    let seen = Seen::<Singleton>::default();
    let wiring = || {
        let gardens = Watch::<Garden>::all().when_served();
        Wiring::new("c").starts_with(|_| vec![Singleton]).watches(gardens, Mapping::always(Singleton))
    };
    let running = world.run([Probe::noting("c", wiring, &seen)]);
    ready(&running, "c").await;
    settle().await;
    assert_eq!(seen.lock().len(), 1, "it runs without the kind");
    assert_eq!(running.manager.hubs().serves::<Garden>(), Some(false));

    world.install_garden().await;
    eventually("it looks again as the kind is there", || seen.lock().len() == 2).await;
    assert_eq!(running.manager.hubs().serves::<Garden>(), Some(true));
    world.garden("g").await;
    eventually("and hears of objects", || seen.lock().len() == 3).await;

    world.remove_garden().await;
    let hubs = running.manager.hubs().clone();
    eventually("the kind is gone", || hubs.serves::<Garden>() == Some(false)).await;
    settle().await;
    assert!(seen.lock().len() > 3, "and it looks once more");
    assert!(hubs.all::<Garden>().is_empty());
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_expired_watch_lists_again_and_tells_only_what_changed() {
    let world = World::new();
    for name in ["a", "b"] {
        world.maps().create(&PostParams::default(), &map(name, &[])).await.unwrap();
    }
    let seen = Seen::<ObjectKey>::default();
    let wiring = || Wiring::new("c").is_for(Watch::<ConfigMap>::within(Select::namespace("default")));
    let running = world.run([Probe::noting("c", wiring, &seen)]);
    ready(&running, "c").await;
    settle().await;
    seen.lock().clear();
    world.plane.compact();
    world.maps().create(&PostParams::default(), &map("c", &[])).await.unwrap();
    eventually("the news arrives", || !seen.lock().is_empty()).await;
    tokio::time::sleep(std::time::Duration::from_secs(30)).await;
    assert_eq!(*seen.lock(), [ObjectKey::namespaced("default", "c")]);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_deletion_reaches_the_owner_of_what_is_gone() {
    let world = World::with_garden().await;
    let garden = world.garden("g").await;
    world.maps().create(&PostParams::default(), &common::map_of(&garden, "child", &[])).await.unwrap();
    let seen = Seen::<ObjectKey>::default();
    let wiring =
        || Wiring::new("c").is_for(Watch::<Garden>::all()).owns::<Garden, _>(Watch::<ConfigMap>::all());
    let running = world.run([Probe::noting("c", wiring, &seen)]);
    ready(&running, "c").await;
    settle().await;
    seen.lock().clear();
    world.maps().delete("child", &DeleteParams::default()).await.unwrap();
    eventually("its owner hears of it", || !seen.lock().is_empty()).await;
    assert_eq!(*seen.lock(), [ObjectKey::namespaced("default", "g")]);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn unrelated_objects_are_not_cached_and_cost_a_request_only_when_asked_for() {
    let world = World::with_garden().await;
    for i in 0..200 {
        world.maps().create(&PostParams::default(), &map(&format!("m-{i}"), &[("k", "v")])).await.unwrap();
    }
    let seen = Seen::<ObjectKey>::default();
    let wiring =
        || Wiring::new("c").is_for(Watch::<Garden>::all()).owns::<Garden, _>(Watch::<ConfigMap>::all());
    let running = world.run([Probe::noting("c", wiring, &seen)]);
    ready(&running, "c").await;
    let maps = running.manager.hubs().of::<ConfigMap>(&Select::all());
    assert_eq!((maps.state(), maps.len()), (State::Ready, 0));
    let gauge = "quintet_cache_objects{group=\"\",kind=\"ConfigMap\",selection=\"all\"} 0";
    assert!(running.manager.metrics().encode().contains(gauge));

    let mark = world.mark();
    let key = ObjectKey::namespaced("default", "m-7");
    for _ in 0..3 {
        assert!(running.manager.hubs().fetch::<ConfigMap>(&key).await.unwrap().is_some());
    }
    assert_eq!(world.asked(mark), ["get configmaps/m-7"]);
    running.stop().await;
}
