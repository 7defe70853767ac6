//! Status and finalizers: what is sent, and what stays.

mod common;

use common::{Garden, GardenStatus, US, World, settle};
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use quintet_kit::finalizer::Stage;
use quintet_kit::status::{Conditions, StatusWriter};
use quintet_kit::{Context, Failure, Retry};
use serde_json::json;
use std::time::Duration;

struct Field {
    world: World,
    context: Context,
    writer: StatusWriter,
}

impl Field {
    async fn new() -> Self {
        let world = World::with_garden().await;
        let context = world.context();
        let writer = context.status("test", US);
        Field { world, context, writer }
    }

    async fn write(&self, garden: &Garden, new: &GardenStatus) -> bool {
        self.writer.write(garden, garden.status.as_ref(), new).await.expect("written")
    }

    async fn read(&self) -> Garden {
        self.world.gardens().get("g").await.expect("it exists")
    }
}

fn status(phase: &str) -> GardenStatus {
    GardenStatus { phase: Some(phase.into()), ..GardenStatus::default() }
}

#[tokio::test(start_paused = true)]
async fn an_equal_status_is_not_written() {
    let field = Field::new().await;
    let garden = field.world.garden("g").await;
    assert!(field.write(&garden, &status("Up")).await);
    let garden = field.read().await;
    let mark = field.world.mark();
    assert!(!field.write(&garden, &status("Up")).await);
    assert_eq!(field.world.asked(mark), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn what_is_gone_from_a_status_is_removed_and_what_is_not_ours_stays() {
    let field = Field::new().await;
    let garden = field.world.garden("g").await;
    let full = GardenStatus { url: Some("http://x".into()), ..status("Up") };
    field.write(&garden, &full).await;
    let wish = Patch::Merge(json!({"status": {"wish": "rain"}}));
    field.world.gardens().patch_status("g", &PatchParams::default(), &wish).await.unwrap();

    let garden = field.read().await;
    let new = GardenStatus { url: None, phase: Some("Down".into()), ..garden.status.clone().unwrap() };
    assert!(field.write(&garden, &new).await);
    let after = field.read().await.status.unwrap();
    assert_eq!(
        (after.phase.as_deref(), after.url, after.wish.as_deref()),
        (Some("Down"), None, Some("rain"))
    );
}

#[tokio::test(start_paused = true)]
async fn a_status_computed_from_an_old_object_is_a_conflict_to_be_tried_again_soon() {
    let field = Field::new().await;
    let garden = field.world.garden("g").await;
    let wish = Patch::Merge(json!({"status": {"wish": "rain"}}));
    field.world.gardens().patch_status("g", &PatchParams::default(), &wish).await.unwrap();
    let error = field.writer.write(&garden, garden.status.as_ref(), &status("Up")).await.unwrap_err();
    assert_eq!((error.reason(), error.retry()), ("StatusWriteFailed", Retry::Soon));
    assert_eq!(field.read().await.status.unwrap().wish.as_deref(), Some("rain"), "nothing is lost");
}

#[tokio::test(start_paused = true)]
async fn a_cache_that_lags_behind_makes_no_write_twice_and_none_missing() {
    let field = Field::new().await;
    let stale = field.world.garden("g").await;
    assert!(field.write(&stale, &status("Up")).await);
    let mark = field.world.mark();
    assert!(!field.write(&stale, &status("Up")).await, "the cache does not show it yet, and it is written");
    assert_eq!(field.world.written(mark), Vec::<String>::new());
    assert!(field.write(&stale, &status("Down")).await, "news is written all the same");
    assert_eq!(field.read().await.status.unwrap().phase.as_deref(), Some("Down"));
}

#[tokio::test(start_paused = true)]
async fn a_status_of_what_is_gone_is_no_error() {
    let field = Field::new().await;
    let garden = field.world.garden("g").await;
    field.world.gardens().delete("g", &DeleteParams::default()).await.unwrap();
    settle().await;
    assert!(!field.write(&garden, &status("Up")).await);
}

#[tokio::test(start_paused = true)]
async fn conditions_survive_the_way_to_the_server_and_back_without_a_difference() {
    let field = Field::new().await;
    let garden = field.world.garden("g").await;
    let computed = |garden: &Garden| {
        let old = garden.status.clone().unwrap_or_default();
        let mut conditions =
            Conditions::of(&old.conditions, garden.metadata.generation, field.context.clock());
        conditions.set("Ready", true, "Grown", "all is green");
        GardenStatus { conditions: conditions.into_vec(), ..old }
    };
    assert!(field.write(&garden, &computed(&garden)).await);
    tokio::time::sleep(Duration::from_secs(90)).await;
    let garden = field.read().await;
    assert_eq!(garden.status.as_ref().unwrap().conditions[0].observed_generation, Some(1));
    assert!(!field.write(&garden, &computed(&garden)).await, "time alone changes nothing");
}

#[tokio::test(start_paused = true)]
async fn a_finalizer_holds_an_object_until_it_is_removed() {
    let field = Field::new().await;
    let garden = field.world.garden("g").await;
    let finalizer = field.context.finalizer(US, "kit.example/clean-up");
    assert_eq!(finalizer.stage(&garden), Stage::Live { held: false });
    finalizer.add(&garden).await.unwrap();
    let garden = field.read().await;
    assert_eq!(finalizer.stage(&garden), Stage::Live { held: true });
    let mark = field.world.mark();
    finalizer.add(&garden).await.unwrap();
    assert_eq!(field.world.asked(mark), Vec::<String>::new(), "it is there");

    field.world.gardens().delete("g", &DeleteParams::default()).await.unwrap();
    let garden = field.read().await;
    assert_eq!(finalizer.stage(&garden), Stage::CleanUp);
    finalizer.remove(&garden).await.unwrap();
    let gardens: Api<Garden> = field.world.gardens();
    assert!(gardens.get_opt("g").await.unwrap().is_none());
    finalizer.remove(&garden).await.unwrap(); // gone already
}

#[tokio::test(start_paused = true)]
async fn a_finalizer_is_not_added_over_somebody_elses_change() {
    let field = Field::new().await;
    let stale = field.world.garden("g").await;
    let theirs = Patch::Merge(json!({"metadata": {"finalizers": ["theirs.example/x"]}}));
    field.world.gardens().patch("g", &PatchParams::default(), &theirs).await.unwrap();
    let finalizer = field.context.finalizer(US, "kit.example/clean-up");
    assert_eq!(finalizer.add(&stale).await.unwrap_err().retry(), Retry::Soon);
    let fresh = field.read().await;
    finalizer.add(&fresh).await.unwrap();
    assert_eq!(field.read().await.finalizers(), ["theirs.example/x", "kit.example/clean-up"]);
}
