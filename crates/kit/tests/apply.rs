//! Bringing the cluster to a desired state: what is sent, and what is not.

mod common;

use common::{Garden, US, World, map, map_of, settle};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use quintet_kit::apply::{ApplyError, Outcome, Report};
use quintet_kit::desired::{Guard, Prune};
use quintet_kit::fence::Fence;
use quintet_kit::hub::State;
use quintet_kit::{
    Adopt, Applier, Child, Context, Desired, Failure, Kind, ObjectKey, Retry, Select, WritePolicy,
};
use serde_json::{Value, json};

/// A world with a garden, and an applier beside a watch on ConfigMaps.
struct Field {
    world: World,
    garden: Garden,
    context: Context,
    applier: Applier,
}

impl Field {
    async fn new() -> Self {
        Field::watching(Select::all()).await
    }

    async fn watching(select: Select) -> Self {
        let world = World::with_garden().await;
        let garden = world.garden("g").await;
        let context = world.context();
        let maps = context.hubs().of::<ConfigMap>(&select);
        context.hubs().start();
        maps.reached(State::Ready).await;
        let applier = context.applier("test", US);
        Field { world, garden, context, applier }
    }

    fn child(&self, data: &[(&str, &str)]) -> Child {
        Child::new(map_of(&self.garden, "child", data))
    }

    async fn apply(&self, child: Child) -> Report {
        let report = self.applier.apply(&Desired::new().with(child)).await;
        settle().await; // the cache sees what was done
        report
    }

    async fn outcome(&self, child: Child) -> Outcome {
        let report = self.apply(child).await;
        assert!(report.errors().is_empty(), "{:?}", report.errors());
        report.outcomes()[0].2
    }

    async fn error(&self, child: Child) -> ApplyError {
        self.apply(child).await.ok().expect_err("it must fail")
    }

    async fn live(&self) -> ConfigMap {
        self.world.maps().get("child").await.expect("it exists")
    }

    async fn data(&self) -> Value {
        json!(self.live().await.data)
    }

    /// Somebody else edits the child.
    async fn edit(&self, patch: Value) {
        let params = PatchParams { field_manager: Some("somebody".into()), ..PatchParams::default() };
        self.world.maps().patch("child", &params, &Patch::Merge(patch)).await.expect("edited");
        settle().await;
    }

    /// As after a restart: nothing is remembered.
    fn restart(&mut self) {
        self.applier = self.context.applier("test", US);
    }
}

#[tokio::test(start_paused = true)]
async fn a_second_apply_sends_nothing() {
    let field = Field::new().await;
    assert_eq!(field.outcome(field.child(&[("a", "1")])).await, Outcome::Created);
    let mark = field.world.mark();
    for _ in 0..3 {
        assert_eq!(field.outcome(field.child(&[("a", "1")])).await, Outcome::Unchanged);
    }
    assert_eq!(field.world.asked(mark), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn nothing_is_sent_twice_while_the_cache_lags_behind() {
    let field = Field::new().await;
    let desired = Desired::new().with(field.child(&[("a", "1")]));
    field.applier.apply(&desired).await.ok().unwrap();
    let mark = field.world.mark();
    field.applier.apply(&desired).await.ok().unwrap(); // no time has passed for the watch to see it
    assert_eq!(field.world.written(mark), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn after_a_restart_each_child_is_sent_once_and_does_not_move() {
    let mut field = Field::new().await;
    field.outcome(field.child(&[("a", "1")])).await;
    let version = field.live().await.resource_version();
    field.restart();
    let mark = field.world.mark();
    assert_eq!(field.outcome(field.child(&[("a", "1")])).await, Outcome::Confirmed);
    assert_eq!(field.world.asked(mark), ["patch configmaps/child"]);
    assert_eq!(field.live().await.resource_version(), version);
    let mark = field.world.mark();
    assert_eq!(field.outcome(field.child(&[("a", "1")])).await, Outcome::Unchanged);
    assert_eq!(field.world.asked(mark), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn drift_is_repaired_and_others_fields_stay() {
    let field = Field::new().await;
    field.outcome(field.child(&[("a", "1")])).await;
    field.edit(json!({"data": {"a": "2", "theirs": "x"}, "metadata": {"labels": {"theirs": "y"}}})).await;
    assert_eq!(field.outcome(field.child(&[("a", "1")])).await, Outcome::Changed);
    assert_eq!(field.data().await, json!({"a": "1", "theirs": "x"}));
    assert_eq!(field.live().await.labels()["theirs"], "y");
    let mark = field.world.mark();
    field.edit(json!({"metadata": {"labels": {"theirs": "z"}}})).await;
    assert_eq!(field.outcome(field.child(&[("a", "1")])).await, Outcome::Unchanged, "not ours to repair");
    assert_eq!(field.world.written(mark), ["patch configmaps/child"], "theirs, and none of ours");
}

#[tokio::test(start_paused = true)]
async fn a_deleted_child_is_made_again() {
    let field = Field::new().await;
    field.outcome(field.child(&[("a", "1")])).await;
    field.world.maps().delete("child", &DeleteParams::default()).await.unwrap();
    settle().await;
    assert_eq!(field.outcome(field.child(&[("a", "1")])).await, Outcome::Created);
    assert_eq!(field.data().await, json!({"a": "1"}));
}

#[tokio::test(start_paused = true)]
async fn values_that_the_server_writes_differently_are_no_difference() {
    let field = Field::new().await;
    let secrets = field.context.hubs().of::<Secret>(&Select::all());
    secrets.reached(State::Ready).await;
    let mut secret =
        Secret { string_data: Some([("a".to_owned(), "1".to_owned())].into()), ..Secret::default() };
    secret.metadata = map_of(&field.garden, "child", &[]).metadata;
    let desired = || Desired::new().with(secret.clone());
    field.applier.apply(&desired()).await.ok().unwrap();
    settle().await;
    // Somebody else's change moves the version, so that the comparison is by value.
    let api: Api<Secret> = Api::default_namespaced(field.world.client.clone());
    let label = Patch::Merge(json!({"metadata": {"labels": {"x": "y"}}}));
    api.patch("child", &PatchParams::default(), &label).await.unwrap();
    settle().await;
    let mark = field.world.mark();
    field.applier.apply(&desired()).await.ok().unwrap();
    assert_eq!(field.world.asked(mark), Vec::<String>::new(), "the server keeps stringData as data");
}

#[tokio::test(start_paused = true)]
async fn a_foreign_object_of_the_same_name_is_not_adopted() {
    let field = Field::new().await;
    field.world.maps().create(&PostParams::default(), &map("child", &[("theirs", "x")])).await.unwrap();
    settle().await;
    let error = field.error(field.child(&[("a", "1")])).await;
    assert_eq!(
        error.to_string(),
        "ConfigMap default/child exists and does not belong to Garden g: it is left alone. Delete or rename it, so \
         that ours can be created"
    );
    assert_eq!((error.reason(), error.retry()), ("ForeignObject", Retry::Backoff));
    assert_eq!(field.data().await, json!({"theirs": "x"}), "untouched");
    let mark = field.world.mark();
    field.error(field.child(&[("a", "1")])).await;
    assert_eq!(field.world.asked(mark), Vec::<String>::new(), "nor asked about again");

    let adopted = field.child(&[("a", "1")]).adopt(Adopt::Uncontrolled);
    assert_eq!(field.outcome(adopted).await, Outcome::Changed);
    assert_eq!(field.data().await, json!({"a": "1", "theirs": "x"}));
}

#[tokio::test(start_paused = true)]
async fn what_another_controls_stays_anothers() {
    let field = Field::new().await;
    let other = field.world.garden("other").await;
    field.world.maps().create(&PostParams::default(), &map_of(&other, "child", &[])).await.unwrap();
    settle().await;
    let error = field.error(field.child(&[]).adopt(Adopt::Uncontrolled)).await;
    assert!(error.to_string().contains("is controlled by Garden other"), "{error}");
}

fn deployment(garden: &Garden, app: &str) -> Deployment {
    let mut object: Deployment = serde_json::from_value(json!({
        "spec": { "selector": {"matchLabels": {"app": app}}, "template": {
            "metadata": {"labels": {"app": app}}, "spec": {"containers": [{"name": "c", "image": "i"}]} } }
    }))
    .unwrap();
    object.metadata = map_of(garden, "child", &[]).metadata;
    object
}

#[tokio::test(start_paused = true)]
async fn one_failure_does_not_hide_the_others() {
    let field = Field::new().await;
    for name in ["one", "three"] {
        field.world.maps().create(&PostParams::default(), &map(name, &[])).await.unwrap();
    }
    settle().await;
    let owned = |name| map_of(&field.garden, name, &[]);
    let desired =
        Desired::new().with(owned("one")).with(owned("two")).with(owned("three")).with(owned("four"));
    let report = field.applier.apply(&desired).await;
    let made: Vec<_> = report.outcomes().iter().map(|(_, key, _)| key.name.as_str()).collect();
    assert_eq!(made, ["two", "four"]);
    assert_eq!(report.errors().len(), 2);
    assert!(report.ok().unwrap_err().to_string().contains("default/one"), "the first in order");
}

#[tokio::test(start_paused = true)]
async fn exclusive_fields_are_ours_alone_and_labels_are_shared() {
    let mut field = Field::new().await;
    let child =
        |field: &Field| field.child(&[("a", "1")]).policy(WritePolicy::Exclusive(vec!["data".into()]));
    assert_eq!(field.outcome(child(&field)).await, Outcome::Created);
    field.edit(json!({"data": {"theirs": "x"}, "metadata": {"labels": {"theirs": "y"}}})).await;
    assert_eq!(field.outcome(child(&field)).await, Outcome::Changed, "an addition is reverted");
    assert_eq!(field.data().await, json!({"a": "1"}));
    assert_eq!(field.live().await.labels()["theirs"], "y");

    let mark = field.world.mark();
    assert_eq!(field.outcome(child(&field)).await, Outcome::Unchanged);
    field.restart();
    assert_eq!(field.outcome(child(&field)).await, Outcome::Unchanged, "found equal in the cache");
    assert_eq!(field.world.asked(mark), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn update_replaces_everything_but_metadata() {
    let field = Field::new().await;
    let child = || field.child(&[("a", "1")]).policy(WritePolicy::Update);
    assert_eq!(field.outcome(child()).await, Outcome::Created);
    field.edit(json!({"data": {"theirs": "x"}, "metadata": {"annotations": {"theirs": "y"}}})).await;
    assert_eq!(field.outcome(child()).await, Outcome::Changed);
    assert_eq!(field.data().await, json!({"a": "1"}));
    assert_eq!(field.live().await.annotations()["theirs"], "y");
}

#[tokio::test(start_paused = true)]
async fn create_only_never_changes_what_is_there() {
    let mut field = Field::new().await;
    let child = |field: &Field| field.child(&[("a", "1")]).policy(WritePolicy::CreateOnly);
    assert_eq!(field.outcome(child(&field)).await, Outcome::Created);
    field.edit(json!({"data": {"a": "2"}})).await;
    field.restart();
    assert_eq!(field.outcome(child(&field)).await, Outcome::Left);
    assert_eq!(field.data().await, json!({"a": "2"}));
    let mark = field.world.mark();
    assert_eq!(field.outcome(child(&field)).await, Outcome::Left);
    assert_eq!(field.world.asked(mark), Vec::<String>::new());
    field.world.maps().delete("child", &DeleteParams::default()).await.unwrap();
    settle().await;
    assert_eq!(field.outcome(child(&field)).await, Outcome::Created, "gone is gone");
}

#[tokio::test(start_paused = true)]
async fn an_object_of_others_is_touched_in_our_places_only() {
    let field = Field::new().await;
    let paths = ["metadata.annotations[kit.example/users][,]", "data.ours"].map(String::from).to_vec();
    let child = || {
        let mut object = map("child", &[("ours", "1"), ("not-listed", "x")]);
        object.metadata.annotations = Some([("kit.example/users".into(), "us".into())].into());
        Child::new(object).policy(WritePolicy::PatchForeign(paths.clone()))
    };
    assert_eq!(field.outcome(child()).await, Outcome::Left, "never made");
    let mut theirs = map("child", &[("theirs", "x")]);
    theirs.metadata.annotations = Some([("kit.example/users".into(), "them".into())].into());
    field.world.maps().create(&PostParams::default(), &theirs).await.unwrap();
    settle().await;
    assert_eq!(field.outcome(child()).await, Outcome::Changed);
    assert_eq!(field.data().await, json!({"ours": "1", "theirs": "x"}));
    assert_eq!(field.live().await.annotations()["kit.example/users"], "them,us");
    let mark = field.world.mark();
    assert_eq!(field.outcome(child()).await, Outcome::Unchanged);
    assert_eq!(field.world.asked(mark), Vec::<String>::new());
    field.edit(json!({"data": {"ours": "2"}})).await;
    assert_eq!(field.outcome(child()).await, Outcome::Changed, "drift in our places is repaired");
}

#[tokio::test(start_paused = true)]
async fn what_is_not_desired_is_pruned_if_it_is_ours() {
    let field = Field::new().await;
    let owned = |name: &str| map_of(&field.garden, name, &[]);
    let all = Desired::new().with(owned("kept")).with(owned("old"));
    field.applier.apply(&all).await.ok().unwrap();
    field.world.maps().create(&PostParams::default(), &map("theirs", &[])).await.unwrap();
    settle().await;

    let uid = field.garden.uid().unwrap();
    let named = |name: &str| {
        Prune::named::<ConfigMap>(ObjectKey::namespaced("default", name), Guard::Owner(uid.clone()))
    };
    let fewer = || {
        let prunes = [Prune::owned_by::<ConfigMap>(&uid), named("theirs"), named("never-there")];
        prunes.into_iter().fold(Desired::new().with(owned("kept")), Desired::without)
    };
    let report = field.applier.apply(&fewer()).await.ok().unwrap();
    let pruned: Vec<_> = report.outcomes().iter().filter(|(_, _, o)| *o == Outcome::Pruned).collect();
    assert_eq!(pruned.len(), 1, "{report:?}");
    assert_eq!((pruned[0].0.clone(), pruned[0].1.name.as_str()), (ConfigMap::gvk(), "old"));
    settle().await;
    let mut left: Vec<_> = field
        .world
        .maps()
        .list(&Default::default())
        .await
        .unwrap()
        .into_iter()
        .map(|m| m.name_any())
        .collect();
    left.retain(|name| name != "kube-root-ca.crt");
    assert_eq!(left, ["kept", "theirs"]);

    let mark = field.world.mark();
    assert!(!field.applier.apply(&fewer()).await.ok().unwrap().is_change());
    assert_eq!(field.world.asked(mark), Vec::<String>::new(), "nothing to prune, nothing to ask");
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_is_not_watched_costs_no_request_either() {
    let field = Field::new().await;
    let child = || Child::new(deployment(&field.garden, "a"));
    let mark = field.world.mark();
    assert_eq!(field.outcome(child()).await, Outcome::Created);
    assert_eq!(
        field.world.asked(mark),
        ["get deployments/child", "patch deployments/child"],
        "whose is it? then make it"
    );
    let mark = field.world.mark();
    assert_eq!(field.outcome(child()).await, Outcome::Unchanged);
    assert_eq!(field.world.asked(mark), Vec::<String>::new());
    tokio::time::sleep(std::time::Duration::from_secs(3601)).await;
    assert_eq!(field.outcome(child()).await, Outcome::Unchanged, "looked at again after an hour");
    assert_eq!(field.world.written(mark), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_child_that_a_narrowed_watch_does_not_show_is_asked_for_once() {
    let field = Field::watching(Select::all().labels("nobody=has")).await;
    assert_eq!(field.outcome(field.child(&[("a", "1")])).await, Outcome::Created);
    // Something the watch does show moves it on past our write.
    let mut seen = map("seen", &[]);
    seen.metadata.labels = Some([("nobody".into(), "has".into())].into());
    field.world.maps().create(&PostParams::default(), &seen).await.unwrap();
    settle().await;
    assert_eq!(field.outcome(field.child(&[("a", "1")])).await, Outcome::Unchanged);
    let mark = field.world.mark();
    assert_eq!(field.outcome(field.child(&[("a", "1")])).await, Outcome::Unchanged);
    assert_eq!(field.world.asked(mark), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn nothing_is_written_without_the_right_to_write() {
    let field = Field::new().await;
    let (gate, fence) = Fence::gated();
    let applier =
        Applier::new("test", field.context.hubs().clone(), US, fence, field.context.metrics().clone());
    let desired = Desired::new().with(field.child(&[]));
    let mark = field.world.mark();
    let error = applier.apply(&desired).await.ok().unwrap_err();
    assert_eq!((error.reason(), field.world.written(mark)), ("NotLeading", vec![]));
    gate.open_for(std::time::Duration::from_secs(20));
    applier.apply(&desired).await.ok().unwrap();
    assert_eq!(field.world.written(mark), ["patch configmaps/child"]);
}

#[tokio::test(start_paused = true)]
async fn writes_sent_and_skipped_are_counted() {
    let field = Field::new().await;
    field.outcome(field.child(&[("a", "1")])).await;
    field.outcome(field.child(&[("a", "1")])).await;
    let text = field.context.metrics().encode();
    for outcome in ["sent", "skipped"] {
        let line = format!(
            "quintet_writes_total{{controller=\"test\",group=\"\",kind=\"ConfigMap\",policy=\"Apply\",outcome=\"{outcome}\"}} 1"
        );
        assert!(text.contains(&line), "{line} is not in\n{text}");
    }
}
#[tokio::test(start_paused = true)]
async fn a_field_that_is_no_longer_wanted_goes_away() {
    let field = Field::new().await;
    field.outcome(field.child(&[("a", "1"), ("b", "2")])).await;
    assert_eq!(field.outcome(field.child(&[("a", "1")])).await, Outcome::Changed);
    assert_eq!(field.data().await, json!({"a": "1"}));
}

#[tokio::test(start_paused = true)]
async fn fields_of_an_earlier_writer_become_ours_and_go_when_we_drop_them() {
    let field = Field::new().await;
    let mut old = map_of(&field.garden, "child", &[("a", "1"), ("dropped", "x")]);
    let last_applied = "kubectl.kubernetes.io/last-applied-configuration";
    old.metadata.annotations = Some([(last_applied.to_owned(), "{}".to_owned())].into());
    let as_manager = PostParams { field_manager: Some("manager".into()), ..PostParams::default() };
    field.world.maps().create(&as_manager, &old).await.unwrap();
    field.edit(json!({"data": {"by-hand": "y"}})).await;

    assert_eq!(field.outcome(field.child(&[("a", "1")])).await, Outcome::Changed);
    assert_eq!(field.data().await, json!({"a": "1", "by-hand": "y"}));
    let live = field.live().await;
    assert!(!live.annotations().contains_key(last_applied));
    let managers: Vec<_> = live.managed_fields().iter().filter_map(|f| f.manager.as_deref()).collect();
    assert!(!managers.contains(&"manager") && managers.contains(&"us"), "{managers:?}");
    let mark = field.world.mark();
    assert_eq!(field.outcome(field.child(&[("a", "1")])).await, Outcome::Unchanged);
    assert_eq!(field.world.asked(mark), Vec::<String>::new());
}
