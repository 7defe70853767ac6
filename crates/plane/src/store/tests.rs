//! The store's promises, also under concurrent writers and watchers.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn table() -> TableId {
    TableId::new("", "configmaps")
}

fn store(history_bytes: usize) -> Arc<Store> {
    let store = Arc::new(Store::new(history_bytes));
    store.add_table(&table());
    store
}

fn draft(namespace: &str, name: &str, content: u64) -> Draft {
    let value = json!({"metadata": {"name": name, "namespace": namespace, "uid": format!("{namespace}-{name}")},
        "data": {"n": content.to_string()}});
    Draft::new(&value, "v1".into(), vec![])
}

fn everything(table: &TableId) -> Listing<'_> {
    Listing::now(table, "", &|_| true)
}

fn names(page: &Page) -> Vec<String> {
    page.objects.iter().map(|o| o.key()).collect()
}

#[test]
fn a_write_expects_what_it_read() {
    let (store, t) = (store(1 << 20), table());
    let first = store.put(&t, &draft("a", "x", 1), Expect::Absent).unwrap();
    assert_eq!(store.put(&t, &draft("a", "x", 2), Expect::Absent).unwrap_err(), Refused::Exists);
    assert_eq!(store.put(&t, &draft("a", "x", 2), Expect::Revision(1)).unwrap_err(), Refused::Changed);
    assert_eq!(store.put(&t, &draft("a", "y", 2), Expect::Revision(1)).unwrap_err(), Refused::Missing);
    let second = store.put(&t, &draft("a", "x", 2), Expect::Revision(first.revision)).unwrap();
    assert_eq!(second.revision, first.revision + 1);
    assert_eq!(store.remove(&t, "a/x", first.revision).unwrap_err(), Refused::Changed);
    assert_eq!(store.remove(&t, "a/x", second.revision).unwrap().revision, second.revision + 1);
    assert!(store.get(&t, "a/x").is_none());
}

#[test]
fn lists_are_ordered_by_key_and_kept_to_the_namespace() {
    let (store, t) = (store(1 << 20), table());
    for (namespace, name) in [("b", "x"), ("a-b", "x"), ("a", "y"), ("a", "x")] {
        store.put(&t, &draft(namespace, name, 0), Expect::Absent).unwrap();
    }
    assert_eq!(names(&store.list(everything(&t)).unwrap()), ["a-b/x", "a/x", "a/y", "b/x"]);
    let only = Listing { namespace: "a", ..everything(&t) };
    assert_eq!(names(&store.list(only).unwrap()), ["a/x", "a/y"]);
}

#[test]
fn pages_show_one_revision_whatever_is_written_meanwhile() {
    let (store, t) = (store(1 << 20), table());
    for i in 0..5 {
        store.put(&t, &draft("a", &format!("n{i}"), 0), Expect::Absent).unwrap();
    }
    let first = store.list(Listing { limit: 2, ..everything(&t) }).unwrap();
    assert_eq!((names(&first), first.remaining), (vec!["a/n0".into(), "a/n1".into()], 3));
    let gone = store.get(&t, "a/n2").unwrap();
    store.remove(&t, "a/n2", gone.revision).unwrap();
    store.put(&t, &draft("a", "n25", 0), Expect::Absent).unwrap();
    let start = first.next.unwrap();
    let rest = Listing { revision: Some(first.revision), start: &start, limit: 0, ..everything(&t) };
    assert_eq!(names(&store.list(rest).unwrap()), ["a/n2", "a/n3", "a/n4"]);
}

#[test]
fn an_exact_multiple_of_the_limit_has_no_next_page() {
    let (store, t) = (store(1 << 20), table());
    for i in 0..4 {
        store.put(&t, &draft("a", &format!("n{i}"), 0), Expect::Absent).unwrap();
    }
    let page = store.list(Listing { limit: 4, ..everything(&t) }).unwrap();
    assert_eq!((page.objects.len(), page.next, page.remaining), (4, None, 0));
}

#[test]
fn compaction_expires_old_lists_and_watches_but_not_idle_watchers() {
    let (store, t) = (store(1 << 20), table());
    let other = TableId::new("", "secrets");
    store.add_table(&other);
    let mut quiet = store.watch(&other, store.revision()).unwrap();
    let mut behind = store.watch(&t, store.revision()).unwrap();
    store.put(&t, &draft("a", "x", 0), Expect::Absent).unwrap();
    store.compact();
    assert_eq!(quiet.read().unwrap().changes.len(), 0);
    assert!(matches!(behind.read(), Err(Interrupted::TooOld(_))));
    let old = Listing { revision: Some(1), ..everything(&t) };
    assert!(matches!(store.list(old), Err(Unavailable::TooOld(_))));
    let future = Listing { revision: Some(1000), ..everything(&t) };
    assert!(matches!(store.list(future), Err(Unavailable::Future(_))));
}

#[test]
fn history_stays_within_its_budget() {
    let (store, t) = (store(20_000), table());
    for i in 0..500 {
        store.put(&t, &draft("a", &format!("n{i}"), i), Expect::Absent).unwrap();
    }
    assert!(matches!(store.watch(&t, 2), Err(Interrupted::TooOld(_))));
    let state = store.state.read();
    let kept = state.history.since(0).count();
    assert!(kept < 40 && kept > 5, "kept {kept} changes");
    assert_eq!(state.tables[&t].changes.len(), kept);
}

#[test]
fn owners_are_found_by_uid_and_forgotten_with_the_object() {
    let (store, t) = (store(1 << 20), table());
    let value = json!({"metadata": {"name": "d", "namespace": "a", "uid": "u2",
        "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u1"}]}});
    let object = store.put(&t, &Draft::new(&value, "v1".into(), vec![]), Expect::Absent).unwrap();
    assert_eq!(store.dependents("u1"), [store.find_uid("u2").unwrap()]);
    store.remove(&t, "a/d", object.revision).unwrap();
    assert!(store.dependents("u1").is_empty() && store.find_uid("u2").is_none());
}

#[tokio::test]
async fn dropping_a_table_ends_its_watchers() {
    let (store, t) = (store(1 << 20), table());
    let mut watcher = store.watch(&t, store.revision()).unwrap();
    store.drop_table(&t);
    assert!(!watcher.changed().await);
    assert_eq!(watcher.read().unwrap_err(), Interrupted::Gone);
}

/// One random writer's step.
#[derive(Debug, Clone)]
enum Step {
    Put(u8),
    Remove(u8),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![3 => (0..6u8).prop_map(Step::Put), 1 => (0..6u8).prop_map(Step::Remove)]
}

fn perform(store: &Store, t: &TableId, step: &Step, content: u64) {
    match step {
        Step::Put(n) => {
            let name = format!("n{n}");
            let expect =
                store.get(t, &key("a", &name)).map_or(Expect::Absent, |old| Expect::Revision(old.revision));
            let _lost_races_are_fine = store.put(t, &draft("a", &name, content), expect);
        }
        Step::Remove(n) => {
            let key = key("a", &format!("n{n}"));
            if let Some(old) = store.get(t, &key) {
                let _lost_races_are_fine = store.remove(t, &key, old.revision);
            }
        }
    }
}

/// Follows from a list until `writers` have ended, checking order, and returns the state it arrived at.
async fn follow(
    store: Arc<Store>,
    t: TableId,
    mut done: tokio::sync::watch::Receiver<bool>,
) -> BTreeMap<String, u64> {
    let page = store.list(everything(&t)).unwrap();
    let mut state: BTreeMap<String, u64> = page.objects.iter().map(|o| (o.key(), o.revision)).collect();
    let mut watcher = store.watch(&t, page.revision).unwrap();
    let mut last = page.revision;
    loop {
        let batch = watcher.read().unwrap();
        for change in &batch.changes {
            assert!(change.revision > last, "neither doubled nor out of order");
            last = change.revision;
            let before = state.get(change.key.as_ref()).copied();
            assert_eq!(before, change.old.as_ref().map(|o| o.revision), "nothing missed in between");
            if change.removed {
                state.remove(change.key.as_ref());
            } else {
                state.insert(change.key.to_string(), change.revision);
            }
        }
        if batch.changes.is_empty() {
            if *done.borrow() && watcher.read().unwrap().changes.is_empty() {
                return state;
            }
            tokio::select! {
                more = watcher.changed() => assert!(more),
                _ = done.changed() => {}
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Every watcher, whenever it started, arrives at the store's state through each change once and in order.
    #[test]
    fn watchers_never_miss_double_or_reorder(
        writers in proptest::collection::vec(proptest::collection::vec(step(), 1..40), 1..5),
        watchers in 1..6usize,
    ) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(3).enable_time().build().unwrap();
        runtime.block_on(async {
            let (store, t) = (store(1 << 24), table());
            let (finish, done) = tokio::sync::watch::channel(false);
            let mut followers = Vec::new();
            let mut running = Vec::new();
            for (i, steps) in writers.into_iter().enumerate() {
                if i < watchers {
                    followers.push(tokio::spawn(follow(store.clone(), t.clone(), done.clone())));
                }
                let (store, t) = (store.clone(), t.clone());
                running.push(tokio::spawn(async move {
                    for (n, step) in steps.iter().enumerate() {
                        perform(&store, &t, step, (i * 1000 + n) as u64);
                        tokio::task::yield_now().await;
                    }
                }));
            }
            followers.push(tokio::spawn(follow(store.clone(), t.clone(), done)));
            for writer in running {
                writer.await.unwrap();
            }
            finish.send(true).unwrap();
            let page = store.list(everything(&t)).unwrap();
            let truth: BTreeMap<String, u64> = page.objects.iter().map(|o| (o.key(), o.revision)).collect();
            for follower in followers {
                assert_eq!(follower.await.unwrap(), truth);
            }
        });
    }

    /// A list at a past revision is what a list at that moment showed.
    #[test]
    fn the_past_can_be_listed(steps in proptest::collection::vec(step(), 1..60), at in 0..60usize) {
        let (store, t) = (store(1 << 24), table());
        let mut then = None;
        for (n, step) in steps.iter().enumerate() {
            if n == at.min(steps.len() - 1) {
                then = Some(store.list(everything(&t)).unwrap());
            }
            perform(&store, &t, step, n as u64);
        }
        let then = then.unwrap();
        let again = store.list(Listing { revision: Some(then.revision), ..everything(&t) }).unwrap();
        let key = |page: &Page| page.objects.iter().map(|o| (o.key(), o.revision)).collect::<Vec<_>>();
        prop_assert_eq!(key(&again), key(&then));
    }
}
