//! Events: folded, cut, and never in the way.

mod common;

use common::{World, settle};
use k8s_openapi::api::events::v1::Event;
use kube::api::{Api, ListParams};
use kube::{Client, Resource};
use quintet_kit::metrics::Metrics;
use quintet_kit::{Clock, Events, Fence, Note};
use std::convert::Infallible;
use std::time::Duration;

async fn all(world: &World) -> Vec<Event> {
    let api: Api<Event> = Api::default_namespaced(world.client.clone());
    let mut events = api.list(&ListParams::default()).await.expect("listed").items;
    events.sort_by(|a, b| a.note.cmp(&b.note));
    events
}

#[tokio::test(start_paused = true)]
async fn an_event_says_who_reports_what_about_which_object() {
    let world = World::with_garden().await;
    let garden = world.garden("g").await;
    let events = world.context().events("the-gardener");
    events.publish(&garden, Note::normal("Planted", "Plant", "three roses"));
    settle().await;
    let [event] = &all(&world).await[..] else { panic!("one event") };
    assert_eq!(event.reporting_controller.as_deref(), Some("the-gardener"));
    assert_eq!(event.reporting_instance.as_deref(), Some("test"));
    assert_eq!((event.type_.as_deref(), event.reason.as_deref()), (Some("Normal"), Some("Planted")));
    assert_eq!((event.action.as_deref(), event.note.as_deref()), (Some("Plant"), Some("three roses")));
    let regarding = event.regarding.clone().unwrap();
    assert_eq!((regarding.kind.as_deref(), regarding.name.as_deref()), (Some("Garden"), Some("g")));
    assert_eq!(regarding.uid, garden.meta().uid);
}

#[tokio::test(start_paused = true)]
async fn repeats_are_one_event_that_is_counted() {
    let world = World::with_garden().await;
    let garden = world.garden("g").await;
    let events = world.context().events("kit");
    for _ in 0..3 {
        events.publish(&garden, Note::warning("Dry", "Water", "no rain"));
        settle().await;
    }
    events.publish(&garden, Note::warning("Dry", "Water", "still no rain"));
    settle().await;
    let all_of_them = all(&world).await;
    let counts: Vec<_> = all_of_them
        .iter()
        .map(|e| (e.note.as_deref().unwrap(), e.series.as_ref().map(|series| series.count)))
        .collect();
    assert_eq!(counts, [("no rain", Some(3)), ("still no rain", None)], "another text is other news");

    tokio::time::sleep(Duration::from_secs(7 * 60)).await;
    events.publish(&garden, Note::warning("Dry", "Water", "no rain"));
    settle().await;
    assert_eq!(all(&world).await.len(), 3, "after a while it is news again");
}

#[tokio::test(start_paused = true)]
async fn texts_are_cut_at_a_whole_character() {
    let world = World::with_garden().await;
    let garden = world.garden("g").await;
    let events = world.context().events("kit");
    events
        .publish(&garden, Note::warning("R".repeat(300), "A".repeat(300), format!("x{}", "ä".repeat(2000))));
    settle().await;
    let [event] = &all(&world).await[..] else { panic!("one event") };
    let note = event.note.clone().unwrap();
    assert_eq!((note.len(), note.chars().last()), (1023, Some('ä')), "1024 would split a character");
    assert_eq!((event.reason.clone().unwrap().len(), event.action.clone().unwrap().len()), (128, 128));
}

#[tokio::test(start_paused = true)]
async fn an_event_that_cannot_be_recorded_is_counted_and_nothing_else() {
    let refuse = tower::service_fn(|_: http::Request<kube::client::Body>| async {
        let response =
            http::Response::builder().status(403).body(axum::body::Body::from("{}")).expect("a response");
        Ok::<_, Infallible>(response)
    });
    let metrics = Metrics::new();
    let client = Client::new(refuse, "default");
    let events = Events::new(client, "kit", "test", Fence::open(), Clock::system(), metrics.clone());
    events.publish(&common::Garden::default(), Note::warning("Dry", "Water", "no rain"));
    settle().await;
    assert!(metrics.encode().contains("quintet_events_lost_total 1"), "{}", metrics.encode());
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_events_is_bounded() {
    let hang = tower::service_fn(|_: http::Request<kube::client::Body>| async {
        std::future::pending::<Result<http::Response<axum::body::Body>, Infallible>>().await
    });
    let metrics = Metrics::new();
    let client = Client::new(hang, "default");
    let events = Events::new(client, "kit", "test", Fence::open(), Clock::system(), metrics.clone());
    for i in 0..1000 {
        events.publish(&common::Garden::default(), Note::warning("Dry", "Water", i.to_string()));
    }
    settle().await;
    assert!(metrics.encode().contains("quintet_events_lost_total 744"), "{}", metrics.encode());
}
