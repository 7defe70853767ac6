//! Several replicas on one PostgreSQL, and a PostgreSQL that goes away under load.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use crate::common::{Store, service::Service};
use parking_lot::Mutex;
use quintet_harness::{or_skip, postgres::Postgres};
use quintet_maas_api::store::postgres::{PoolSize, PostgresStore};
use serde_json::{Value, json};

async fn replica(url: &str) -> Service {
    let store = PostgresStore::open(url, PoolSize { open: 5, ..Default::default() }).await.expect("a store");
    Service::new(Store::new(Arc::new(store)))
}

async fn valid(service: &Service, key: &str) -> Option<bool> {
    let answer = service.validate(key).await;
    (answer.status == 200).then(|| answer.json()["valid"].as_bool().expect("a truth value"))
}

/// Waits until something holds, for at most so long, and says how long it took.
async fn within(limit: Duration, what: &str, mut holds: impl AsyncFnMut() -> bool) -> Duration {
    let start = Instant::now();
    while !holds().await {
        assert!(start.elapsed() < limit, "not within {limit:?}: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    start.elapsed()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_revoked_on_one_replica_is_refused_by_the_others() {
    let Some(url) = crate::common::database("a_key_revoked_on_one_replica") else { return };
    let (one, other) = (replica(&url).await, replica(&url).await);
    // Until it listens, an answer is kept for five seconds; from then on a notification ends it.
    let mut keys = Vec::new();
    for _ in 0..4 {
        keys.push(one.key("alice").await);
    }
    let warm = async |service: &Service| {
        for (_, key) in &keys {
            assert_eq!(valid(service, key).await, Some(true));
        }
    };
    warm(&other).await;
    one.by("alice", "DELETE", &format!("/v1/api-keys/{}", keys[0].0), Value::Null).await;
    within(Duration::from_secs(6), "the revocation is heard", async || {
        valid(&other, &keys[0].1).await == Some(false)
    })
    .await;
    assert_eq!(valid(&one, &keys[0].1).await, Some(false), "here at once");
    assert_eq!(valid(&other, &keys[1].1).await, Some(true), "and only that one");
    one.by("alice", "POST", "/v1/api-keys/bulk-revoke", json!({"username": "alice"})).await;
    for (_, key) in &keys {
        within(Duration::from_secs(6), "all are heard", async || valid(&other, key).await == Some(false))
            .await;
    }
}

/// PostgreSQL is killed and restarted twice while clients create, validate and revoke. Afterwards every key whose
/// creation was answered is there, none whose revocation was answered was ever called valid beyond the stated bound, and
/// the service answers again without a restart.
#[tokio::test(flavor = "multi_thread")]
async fn a_database_killed_under_load_costs_answers_but_no_truth() {
    let Some(mut server) = or_skip("a_database_killed_under_load", Postgres::start()) else { return };
    let url = server.database().expect("a database");
    let services = Arc::new([replica(&url).await, replica(&url).await]);
    let (stop, created) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(HashMap::new())));
    let revoked: Arc<Mutex<HashMap<String, Instant>>> = Arc::default();
    let (wrong, failures, checks) =
        (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let mut clients = Vec::new();
    for n in 0..6_usize {
        let (services, stop, created, revoked) =
            (services.clone(), stop.clone(), created.clone(), revoked.clone());
        let (wrong, failures, checks) = (wrong.clone(), failures.clone(), checks.clone());
        clients.push(tokio::spawn(async move {
            let user = format!("user{n}");
            let mut mine: Vec<(String, String)> = Vec::new();
            let mut round = 0;
            while !stop.load(Ordering::Relaxed) {
                round += 1;
                let service = &services[(n + round) % 2];
                let answer = service.create(&user, json!({"name": "k"})).await;
                match answer.status {
                    201 => {
                        let text = |name: &str| answer.json()[name].as_str().expect("text").to_owned();
                        created.lock().insert(text("id"), text("key"));
                        mine.push((text("id"), text("key")));
                    }
                    500 => {
                        failures.fetch_add(1, Ordering::Relaxed);
                    }
                    other => wrong.lock().push(format!("create answered {other}: {}", answer.text)),
                }
                if round % 3 == 0 && !mine.is_empty() {
                    // From here on nobody may say that it is live: a revocation that fails with the database may have
                    // been written all the same, its answer lost.
                    let (id, key) = mine.remove(0);
                    let path = format!("/v1/api-keys/{id}");
                    if service.by(&user, "DELETE", &path, Value::Null).await.status == 200 {
                        revoked.lock().insert(key, Instant::now());
                    }
                }
                let known: Vec<(String, Option<Instant>)> = {
                    let revoked = revoked.lock();
                    let live = mine.iter().rev().take(3).map(|(_, key)| (key.clone(), None));
                    live.chain(revoked.iter().take(5).map(|(key, at)| (key.clone(), Some(*at)))).collect()
                };
                for (key, revoked_at) in known {
                    for service in services.iter() {
                        let asked = Instant::now();
                        checks.fetch_add(1, Ordering::Relaxed);
                        match (valid(service, &key).await, revoked_at) {
                            (Some(true), Some(at)) if asked.duration_since(at) > Duration::from_secs(5) => {
                                wrong.lock().push(format!(
                                    "valid {:?} after its revocation",
                                    asked.duration_since(at)
                                ));
                            }
                            (Some(false), None) => wrong.lock().push("a live key was refused".into()),
                            (None, _) => {
                                failures.fetch_add(1, Ordering::Relaxed);
                            }
                            _ => {}
                        }
                    }
                }
            }
        }));
    }
    for _ in 0..2 {
        let before = created.lock().len();
        within(Duration::from_secs(60), "keys are created", async || created.lock().len() > before + 20)
            .await;
        tokio::task::block_in_place(|| server.crash());
        let before = failures.load(Ordering::Relaxed);
        within(Duration::from_secs(60), "its absence is noticed", async || {
            failures.load(Ordering::Relaxed) > before
        })
        .await;
        tokio::task::block_in_place(|| server.resume()).expect("PostgreSQL comes back");
    }
    let before = created.lock().len();
    let recovered =
        within(Duration::from_secs(60), "it recovers", async || created.lock().len() > before + 20).await;
    stop.store(true, Ordering::Relaxed);
    for client in clients {
        client.await.expect("no panic");
    }
    assert!(checks.load(Ordering::Relaxed) > 100 && failures.load(Ordering::Relaxed) > 0);
    assert_eq!(*wrong.lock(), Vec::<String>::new());
    let (created, revoked) = (created.lock().clone(), revoked.lock().clone());
    assert!(recovered < Duration::from_secs(60) && !revoked.is_empty());
    for (id, key) in &created {
        let path = format!("/v1/api-keys/{id}");
        let found = services[0].by("root", "GET", &path, Value::Null).await;
        assert_eq!(found.status, 200, "a created key is lost: {id}");
        if revoked.contains_key(key) {
            assert_eq!(found.json()["status"], "revoked", "a revocation is lost: {id}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn times_of_last_use_wait_for_the_database_to_come_back() {
    let Some(mut server) = or_skip("times_of_last_use_wait", Postgres::start()) else { return };
    let url = server.database().expect("a database");
    let service = replica(&url).await;
    let (id, key) = service.key("alice").await;
    assert_eq!(valid(&service, &key).await, Some(true));
    tokio::task::block_in_place(|| {
        server.stop();
        server.resume().expect("PostgreSQL comes back");
    });
    let path = format!("/v1/api-keys/{id}");
    within(Duration::from_secs(30), "the use is noted", async || {
        let answer = service.by("alice", "GET", &path, Value::Null).await;
        answer.status == 200 && answer.json()["lastUsedAt"].is_string()
    })
    .await;
}
