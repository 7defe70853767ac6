//! The hub fed by hand: events in, cache and keys out. Watching itself is tested on an API server, in `tests/`.

use super::carrier::Carrier;
use super::*;
use crate::metrics::Metrics;
use crate::script::{self, Log};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::ResourceExt;
use kube::runtime::watcher::Event;
use serde_json::{Value, json};

type Heard = Arc<Mutex<Vec<(String, bool)>>>;

/// A hub whose server knows one Secret, and its log.
fn hub(script: impl Fn(&script::Asked) -> (u16, Value) + Send + Sync + 'static) -> (Hub<Secret>, Log) {
    let (client, log) = script::client(script);
    (Hub::new(client, Select::all(), Metrics::new().cache(&Secret::gvk(), "all")), log)
}

fn silent() -> Hub<Secret> {
    hub(|_| script::not_found()).0
}

/// Subscribes to what carries the label `ours`, and notes what is told: name and version, and whether it is gone.
fn listen(hub: &Hub<Secret>, keep: Keep) -> (Heard, Subscription) {
    let heard = Heard::default();
    let told = heard.clone();
    let subscription = hub.subscribe(
        keep,
        Box::new(move |change| {
            change.states().any(|secret| secret.labels().contains_key("ours")).then(|| {
                let object = &change.object;
                let news =
                    (format!("{}@{}", object.name_any(), object.resource_version().unwrap()), change.gone);
                let told = told.clone();
                let keep = object.labels().contains_key("ours") && !change.gone;
                Concern { keep, then: Some(Box::new(move || told.lock().push(news))) }
            })
        }),
    );
    (heard, subscription)
}

fn secret(name: &str, version: u64, ours: bool) -> Secret {
    Secret {
        metadata: ObjectMeta {
            name: Some(name.into()),
            namespace: Some("ns".into()),
            uid: Some(format!("uid-{name}")),
            resource_version: Some(version.to_string()),
            labels: ours.then(|| [("ours".to_owned(), "yes".to_owned())].into()),
            ..ObjectMeta::default()
        },
        ..Secret::default()
    }
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::namespaced("ns", name)
}

fn list(hub: &Hub<Secret>, secrets: impl IntoIterator<Item = Secret>) {
    hub.take(Event::Init);
    secrets.into_iter().for_each(|secret| hub.take(Event::InitApply(Carrier::Good(secret))));
    hub.take(Event::InitDone);
}

fn update(hub: &Hub<Secret>, secret: Secret) {
    hub.take(Event::Apply(Carrier::Good(secret)));
}

fn heard(heard: &Heard) -> Vec<String> {
    let told = std::mem::take(&mut *heard.lock());
    let mut told: Vec<_> =
        told.into_iter().map(|(what, gone)| if gone { format!("{what} gone") } else { what }).collect();
    told.sort();
    told
}

#[tokio::test]
async fn a_relist_tells_only_what_changed() {
    let hub = silent();
    let (told, _subscription) = listen(&hub, Keep::Concerned);
    list(&hub, [secret("a", 1, true), secret("b", 2, true), secret("c", 3, true)]);
    assert_eq!(heard(&told), ["a@1", "b@2", "c@3"]);
    list(&hub, [secret("a", 1, true), secret("b", 5, true), secret("d", 6, true)]);
    assert_eq!(heard(&told), ["b@5", "c@3 gone", "d@6"], "what vanished with its last state");
    assert_eq!(hub.len(), 3);
}

#[tokio::test]
async fn a_deletion_is_delivered_with_the_last_state() {
    let hub = silent();
    let (told, _subscription) = listen(&hub, Keep::Concerned);
    list(&hub, [secret("a", 1, true)]);
    heard(&told);
    hub.take(Event::Delete(Carrier::Good(secret("a", 9, true))));
    assert_eq!(heard(&told), ["a@9 gone"]);
    assert!(hub.is_empty());
    hub.take(Event::Delete(Carrier::Good(secret("never-stored", 10, true))));
    assert_eq!(heard(&told), ["never-stored@10 gone"]);
}

#[tokio::test]
async fn a_namesake_that_took_its_place_is_a_deletion_and_a_creation() {
    let hub = silent();
    let (told, _subscription) = listen(&hub, Keep::Concerned);
    list(&hub, [secret("a", 1, true)]);
    heard(&told);
    let mut namesake = secret("a", 7, true);
    namesake.metadata.uid = Some("another".into());
    list(&hub, [namesake]);
    assert_eq!(heard(&told), ["a@1 gone", "a@7"]);
    assert_eq!(hub.get(&key("a")).unwrap().uid().unwrap(), "another");
}

#[tokio::test]
async fn what_concerns_nobody_is_dropped_before_the_store() {
    let hub = silent();
    let (told, _subscription) = listen(&hub, Keep::Concerned);
    list(&hub, (0..100).map(|i| secret(&format!("other-{i}"), i + 1, false)).chain([secret("a", 200, true)]));
    assert_eq!((hub.len(), heard(&told)), (1, vec!["a@200".to_owned()]));
    update(&hub, secret("a", 201, false));
    assert_eq!(heard(&told), ["a@201"], "losing the label concerns who knew it by it");
    assert!(hub.is_empty(), "and then it is nobody's");
}

#[tokio::test]
async fn the_store_has_a_change_before_anybody_is_told() {
    let hub = silent();
    let seen = Arc::new(Mutex::new(vec![]));
    let (noted, reading) = (seen.clone(), hub.clone());
    let _subscription = hub.subscribe(
        Keep::All,
        Box::new(move |_| {
            let (noted, reading) = (noted.clone(), reading.clone());
            let then: Then = Box::new(move || noted.lock().push(reading.get(&key("a")).is_some()));
            Some(Concern { keep: true, then: Some(then) })
        }),
    );
    update(&hub, secret("a", 1, false));
    hub.take(Event::Delete(Carrier::Good(secret("a", 2, false))));
    assert_eq!(*seen.lock(), [true, false]);
}

#[tokio::test]
async fn a_late_subscriber_hears_of_all_there_is_and_has_the_rest_listed_again() {
    let hub = silent();
    let (_, _first) = listen(&hub, Keep::Concerned);
    list(&hub, [secret("a", 1, true), secret("b", 2, false)]);
    let (late, _second) = listen(&hub, Keep::Concerned);
    assert_eq!(heard(&late), ["a@1"]);
    let again = hub.0.relist.notified();
    tokio::time::timeout(std::time::Duration::from_secs(1), again).await.expect("a list was asked for");
}

#[tokio::test]
async fn a_subscription_ends_when_dropped() {
    let hub = silent();
    let (told, subscription) = listen(&hub, Keep::Concerned);
    drop(subscription);
    update(&hub, secret("a", 1, true));
    assert_eq!(heard(&told), Vec::<String>::new());
}

#[tokio::test]
async fn a_mapping_that_panics_does_not_end_the_watch() {
    let hub = silent();
    let _bad = hub.subscribe(Keep::Concerned, Box::new(|_| panic!("a bug")));
    let (told, _good) = listen(&hub, Keep::Concerned);
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| ()));
    update(&hub, secret("a", 1, true));
    std::panic::set_hook(hook);
    assert_eq!(heard(&told), ["a@1"]);
}

#[tokio::test]
async fn objects_are_stripped() {
    let hub = silent();
    let (_, _subscription) = listen(&hub, Keep::Concerned);
    let mut fat = secret("a", 1, true);
    fat.metadata.managed_fields = Some(vec![Default::default()]);
    let last_applied = "kubectl.kubernetes.io/last-applied-configuration".to_owned();
    fat.metadata.annotations = Some([(last_applied, "{}".into()), ("kept".into(), "x".into())].into());
    update(&hub, fat);
    let slim = hub.get(&key("a")).unwrap();
    assert_eq!(slim.metadata.managed_fields, None);
    assert_eq!(slim.annotations().keys().collect::<Vec<_>>(), ["kept"]);
}

#[tokio::test]
async fn an_object_that_does_not_fit_its_type_is_left_as_it_was() {
    let hub = silent();
    let (told, _subscription) = listen(&hub, Keep::Concerned);
    list(&hub, [secret("a", 1, true)]);
    heard(&told);
    let bad = |name: &str| -> Carrier<Secret> {
        let object = json!({"apiVersion": "v1", "kind": "Secret", "type": 7,
            "metadata": {"name": name, "namespace": "ns", "resourceVersion": "5", "uid": format!("uid-{name}")}});
        serde_json::from_value(object).unwrap()
    };
    assert!(matches!(bad("a"), Carrier::Bad { .. }));
    hub.take(Event::Init);
    hub.take(Event::InitApply(bad("a")));
    hub.take(Event::InitApply(Carrier::Good(secret("b", 6, true))));
    hub.take(Event::InitDone);
    assert_eq!(heard(&told), ["b@6"], "nobody may take it for deleted");
    assert_eq!(hub.len(), 2);
    hub.take(Event::Delete(bad("a")));
    assert_eq!(heard(&told), ["a@1 gone"]);
}

#[tokio::test]
async fn objects_are_found_by_owner_and_by_index() {
    let hub = silent();
    let (_, _subscription) = listen(&hub, Keep::All);
    let owned = |name: &str, version, uid: &str| {
        let mut secret = secret(name, version, true);
        secret.metadata.owner_references =
            Some(vec![OwnerReference { uid: uid.into(), ..Default::default() }]);
        secret.type_ = Some(uid.to_uppercase());
        secret
    };
    update(&hub, owned("a", 1, "x"));
    hub.add_index(Index { name: "type", values: |secret| secret.type_.iter().cloned().collect() });
    update(&hub, owned("b", 2, "x"));
    let names = |found: Vec<Arc<Secret>>| found.iter().map(|s| s.name_any()).collect::<Vec<_>>();
    assert_eq!(names(hub.owned_by("x")), ["a", "b"]);
    assert_eq!(names(hub.by("type", "X")), ["a", "b"], "also what was cached before the index");
    update(&hub, owned("a", 3, "y"));
    assert_eq!((names(hub.owned_by("x")), names(hub.by("type", "Y"))), (vec!["b".into()], vec!["a".into()]));
    hub.take(Event::Delete(Carrier::Good(owned("b", 4, "x"))));
    assert!(hub.owned_by("x").is_empty() && hub.by("type", "X").is_empty() && hub.by("none", "X").is_empty());
}

#[tokio::test]
async fn a_miss_is_one_request_and_the_watch_keeps_it_up_to_date() {
    let answer = |asked: &script::Asked| match asked.path.as_str() {
        "/api/v1/namespaces/ns/secrets/known" => {
            (200, serde_json::to_value(secret("known", 3, false)).unwrap())
        }
        _ => script::not_found(),
    };
    let (hub, log) = hub(answer);
    let (_, _subscription) = listen(&hub, Keep::Concerned);
    list(&hub, [secret("known", 3, false)]);
    assert!(hub.is_empty(), "it concerns nobody");
    let version = |found: Option<Arc<Secret>>| found.and_then(|secret| secret.resource_version());
    for _ in 0..3 {
        assert_eq!(version(hub.fetch(&key("known")).await.unwrap()), Some("3".into()));
        assert_eq!(version(hub.fetch(&key("unknown")).await.unwrap()), None);
    }
    assert_eq!(log.len(), 2, "one request for each, also for what is not there");

    update(&hub, secret("known", 4, false));
    update(&hub, secret("unknown", 5, false));
    assert_eq!(version(hub.fetch(&key("known")).await.unwrap()), Some("4".into()));
    assert_eq!(version(hub.fetch(&key("unknown")).await.unwrap()), Some("5".into()));
    hub.take(Event::Delete(Carrier::Good(secret("known", 6, false))));
    assert_eq!(version(hub.fetch(&key("known")).await.unwrap()), None);
    list(&hub, [secret("unknown", 5, false)]);
    assert_eq!(version(hub.fetch(&key("unknown")).await.unwrap()), Some("5".into()), "a relist keeps it");
    assert_eq!(log.len(), 2, "the watch told it all");
}

#[tokio::test]
async fn an_answer_that_the_watch_overtook_is_not_stored() {
    let (hub, _) = hub(|_| script::not_found());
    let (_, _subscription) = listen(&hub, Keep::Concerned);
    list(&hub, []);
    assert!(matches!(hub.0.store.write().pin(&key("a"), false), Pinned::Unknown));
    hub.take(Event::Delete(Carrier::Good(secret("a", 9, false)))); // while the request is under way
    let late = hub.0.store.write().resolve(&key("a"), Some(Arc::new(secret("a", 8, false))));
    assert!(late.is_none() && hub.is_empty(), "it was deleted meanwhile");
}

#[tokio::test]
async fn a_name_asked_for_while_a_list_is_under_way_is_not_taken_for_missing() {
    let (hub, log) = hub(|_| (200, serde_json::to_value(secret("a", 3, false)).unwrap()));
    let (_, _subscription) = listen(&hub, Keep::Concerned);
    list(&hub, []);
    hub.take(Event::Init);
    hub.take(Event::InitApply(Carrier::Good(secret("a", 3, false)))); // dropped: nobody has asked yet
    assert!(hub.fetch(&key("a")).await.unwrap().is_some());
    hub.take(Event::InitDone);
    assert!(hub.fetch(&key("a")).await.unwrap().is_some(), "the list's end does not remove it");
    assert_eq!(log.len(), 1);
}

#[tokio::test]
async fn a_narrowed_watch_vouches_for_nothing() {
    let (client, log) = script::client(|_| script::not_found());
    let select = Select::all().labels("ours");
    let hub: Hub<Secret> = Hub::new(client, select, Metrics::new().cache(&Secret::gvk(), "x"));
    let (_, _subscription) = listen(&hub, Keep::All);
    list(&hub, []);
    for _ in 0..2 {
        assert!(hub.fetch(&key("a")).await.unwrap().is_none());
    }
    assert_eq!(log.len(), 2, "it would not see an object without the label");
}

#[tokio::test]
async fn a_complete_cache_needs_no_request() {
    let (hub, log) = hub(|_| script::not_found());
    let (_, _subscription) = listen(&hub, Keep::All);
    list(&hub, [secret("a", 1, false)]);
    assert!(hub.fetch(&key("a")).await.unwrap().is_some() && hub.fetch(&key("b")).await.unwrap().is_none());
    assert_eq!(log.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn names_not_asked_for_any_more_are_forgotten() {
    let (hub, _) = hub(|_| script::not_found());
    let (_, _subscription) = listen(&hub, Keep::Concerned);
    list(&hub, []);
    for i in 0..1100 {
        hub.fetch(&key(&format!("old-{i}"))).await.unwrap();
    }
    tokio::time::advance(std::time::Duration::from_secs(3 * 60 * 60)).await;
    for i in 0..1100 {
        hub.fetch(&key(&format!("new-{i}"))).await.unwrap();
    }
    let store = hub.0.store.read();
    assert!(!store.is_pinned(&key("old-0")) && store.is_pinned(&key("new-0")));
}

#[tokio::test]
async fn a_reader_keeps_everything_and_hears_of_each_change_until_it_goes() {
    let hub = silent();
    list(&hub, [secret("a", 1, false), secret("b", 2, false)]);
    assert!(hub.is_empty(), "nobody wanted them");
    let told = Heard::default();
    let (news, cache) = (told.clone(), hub.clone());
    let following = hub.follow(move |change| {
        let seen = cache.get(&ObjectKey::of(&*change.object)).is_some();
        assert_eq!(seen, !change.gone, "the cache has it first");
        news.lock().push((change.object.name_any(), change.gone));
    });
    list(&hub, [secret("a", 1, false), secret("b", 2, false)]); // asked for by the newcomer
    assert_eq!((heard(&told), hub.len()), (vec!["a".into(), "b".into()], 2));
    hub.take(Event::Delete(Carrier::Good(secret("a", 3, false))));
    assert_eq!(heard(&told), ["a gone"]);
    drop(following);
    update(&hub, secret("b", 4, false));
    assert_eq!(heard(&told), Vec::<String>::new());
}
