//! One suite for both stores: what one does, the other does.

use std::collections::HashMap;

use crate::common::key;
use jiff::{SignedDuration, Timestamp};
use quintet_maas_api::{
    keys::KeyHash,
    store::{NewKey, Search, Sort, SortBy, Status},
};

crate::stores! {
    async fn a_stored_key_is_found_by_its_hash_and_by_its_id(store: Store) {
        let key = NewKey { groups: vec!["g1".into(), "a \"quoted\", {braced} one".into(), "ü".into()], ..key("alice", "k") };
        store.insert(&key).await.unwrap();
        let found = store.find(&[key.hash]).await.unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].hash, key.hash);
        assert_eq!(found[0].id, key.id);
        assert_eq!(found[0].username, "alice");
        assert_eq!(found[0].groups, key.groups);
        assert_eq!(found[0].subscription, "gold");
        assert_eq!(found[0].status, Status::Active);
        assert_eq!(found[0].expires_at, Some(key.expires_at));
        assert_eq!(found[0].last_used_at, None);
        let record = store.get(&key.id).await.unwrap().expect("it is there");
        assert_eq!((record.name.as_str(), record.description.as_str()), ("k", "about k"));
        assert_eq!((record.created_at, record.expires_at), (key.created_at, Some(key.expires_at)));
        assert_eq!((record.status, record.ephemeral), (Status::Active, false));
    }

    async fn unknown_keys_are_not_found(store: Store) {
        let stranger = key("x", "x");
        assert_eq!(store.find(&[stranger.hash]).await.unwrap(), vec![]);
        assert_eq!(store.find(&[]).await.unwrap(), vec![]);
        assert_eq!(store.get("nope").await.unwrap(), None);
        assert_eq!(store.get("'; DROP TABLE api_keys; --").await.unwrap(), None);
    }

    async fn many_are_found_at_once(store: Store) {
        let keys: Vec<NewKey> = (0..150).map(|n| key("alice", &n.to_string())).collect();
        for key in &keys {
            store.insert(key).await.unwrap();
        }
        let mut hashes: Vec<KeyHash> = keys.iter().map(|key| key.hash).collect();
        hashes.push(key("x", "x").hash);
        hashes.push(hashes[0]);
        let found: HashMap<KeyHash, String> =
            store.find(&hashes).await.unwrap().into_iter().map(|found| (found.hash, found.id)).collect();
        assert_eq!(found, keys.iter().map(|key| (key.hash, key.id.clone())).collect());
    }

    async fn storing_again_changes_nothing(store: Store) {
        let key = key("alice", "k");
        store.insert(&key).await.unwrap();
        assert!(store.revoke(&key.id).await.unwrap());
        store.insert(&key).await.unwrap();
        assert_eq!(store.get(&key.id).await.unwrap().expect("there").status, Status::Revoked);
    }

    async fn two_keys_never_share_a_hash(store: Store) {
        let one = key("alice", "k");
        store.insert(&one).await.unwrap();
        let twin = NewKey { hash: one.hash, ..key("bob", "k") };
        assert!(store.insert(&twin).await.is_err());
    }

    async fn only_an_active_key_is_revoked(store: Store) {
        let (revoked, expired, late) = (key("alice", "a"), key("alice", "b"), expired_key("alice", "c", 10));
        for key in [&revoked, &expired, &late] {
            store.insert(key).await.unwrap();
        }
        assert!(store.revoke(&revoked.id).await.unwrap());
        assert!(!store.revoke(&revoked.id).await.unwrap());
        store.expire(&expired.id).await.unwrap();
        assert!(!store.revoke(&expired.id).await.unwrap());
        assert!(store.revoke(&late.id).await.unwrap(), "past its end, but still stored as active");
        assert!(!store.revoke("nope").await.unwrap());
        store.expire(&revoked.id).await.unwrap();
        assert_eq!(store.get(&revoked.id).await.unwrap().expect("there").status, Status::Revoked);
    }

    async fn all_keys_of_one_user_are_revoked(store: Store) {
        let mine = [key("alice", "a"), key("alice", "b"), ephemeral_key("alice", "c", -60), key("alice", "d")];
        let other = key("bob", "a");
        for key in mine.iter().chain([&other]) {
            store.insert(key).await.unwrap();
        }
        store.revoke(&mine[3].id).await.unwrap();
        assert_eq!(store.revoke_all("alice").await.unwrap(), 3);
        assert_eq!(store.revoke_all("alice").await.unwrap(), 0);
        assert_eq!(store.revoke_all("al%").await.unwrap(), 0);
        assert_eq!(store.revoke_all(&"long".repeat(2000)).await.unwrap(), 0);
        assert_eq!(store.get(&other.id).await.unwrap().expect("there").status, Status::Active);
        for key in &mine {
            assert_eq!(store.get(&key.id).await.unwrap().expect("there").status, Status::Revoked);
        }
    }

    async fn the_time_of_last_use_only_moves_forward(store: Store) {
        let (one, other) = (key("alice", "a"), key("alice", "b"));
        store.insert(&one).await.unwrap();
        store.insert(&other).await.unwrap();
        let time = one.created_at;
        let later = time + SignedDuration::from_secs(60);
        store.touch(&[(one.id.clone(), later), ("nope".into(), later)]).await.unwrap();
        store.touch(&[(one.id.clone(), time), (other.id.clone(), time)]).await.unwrap();
        store.touch(&[]).await.unwrap();
        assert_eq!(store.get(&one.id).await.unwrap().expect("there").last_used_at, Some(later));
        assert_eq!(store.get(&other.id).await.unwrap().expect("there").last_used_at, Some(time));
        assert_eq!(store.find(&[one.hash]).await.unwrap()[0].last_used_at, Some(later));
    }

    async fn cleanup_takes_only_long_expired_ephemeral_keys(store: Store) {
        let old = ephemeral_key("alice", "old", -3600);
        let recent = ephemeral_key("alice", "recent", -600);
        let regular = expired_key("alice", "regular", 3600);
        let revoked = ephemeral_key("alice", "revoked", -3600);
        for key in [&old, &recent, &regular, &revoked] {
            store.insert(key).await.unwrap();
        }
        store.revoke(&revoked.id).await.unwrap();
        assert_eq!(store.delete_expired_ephemeral().await.unwrap(), 2);
        assert_eq!(store.delete_expired_ephemeral().await.unwrap(), 0);
        assert_eq!(store.get(&old.id).await.unwrap(), None);
        assert!(store.get(&recent.id).await.unwrap().is_some());
        assert!(store.get(&regular.id).await.unwrap().is_some());
    }

    async fn search_filters_by_what_is_effective(store: Store) {
        let late = expired_key("alice", "late", 60);
        let fresh = key("alice", "fresh");
        let taken = key("alice", "taken");
        let passing = ephemeral_key("alice", "passing", 60);
        let foreign = key("bob", "foreign");
        for key in [&late, &fresh, &taken, &passing, &foreign] {
            store.insert(key).await.unwrap();
        }
        store.revoke(&taken.id).await.unwrap();
        let names = async |search: Search| {
            let mut names: Vec<String> = store.search(&search).await.unwrap().into_iter().map(|k| k.name).collect();
            names.sort();
            names.join(" ")
        };
        let of_alice = || Search { username: Some("alice".into()), ..everything() };
        assert_eq!(names(of_alice()).await, "fresh late taken");
        assert_eq!(names(Search { include_ephemeral: true, ..of_alice() }).await, "fresh late passing taken");
        assert_eq!(names(Search { statuses: vec![Status::Expired], ..of_alice() }).await, "late");
        assert_eq!(names(Search { statuses: vec![Status::Active], ..of_alice() }).await, "fresh");
        assert_eq!(names(Search { statuses: vec![Status::Active, Status::Revoked], ..of_alice() }).await, "fresh taken");
        assert_eq!(names(everything()).await, "foreign fresh late taken");
        assert_eq!(names(Search { username: Some("a%".into()), ..everything() }).await, "");
        assert_eq!(names(Search { username: Some("' OR 1=1 --".into()), ..everything() }).await, "");
        let shown = store.search(&Search { statuses: vec![Status::Expired], ..of_alice() }).await.unwrap();
        assert_eq!(shown[0].status, Status::Expired);
    }

    async fn search_orders_every_way_and_keeps_those_without_a_time_last(store: Store) {
        let base = crate::common::now();
        let at = |seconds| base + SignedDuration::from_secs(seconds);
        let rows = [("b", 1, 300), ("c", 2, 100), ("a", 3, 200)];
        let mut ids = HashMap::new();
        for (name, created, expires) in rows {
            let key = NewKey { created_at: at(created), expires_at: at(expires), ..key("alice", name) };
            store.insert(&key).await.unwrap();
            ids.insert(name, key.id);
        }
        store.touch(&[(ids["b"].clone(), at(9)), (ids["a"].clone(), at(5))]).await.unwrap();
        for (by, descending, expected) in [
            (SortBy::CreatedAt, true, "acb"),
            (SortBy::CreatedAt, false, "bca"),
            (SortBy::Name, false, "abc"),
            (SortBy::Name, true, "cba"),
            (SortBy::ExpiresAt, false, "cab"),
            (SortBy::ExpiresAt, true, "bac"),
            (SortBy::LastUsedAt, false, "abc"),
            (SortBy::LastUsedAt, true, "bac"),
        ] {
            let found = store.search(&Search { sort: Sort { by, descending }, ..everything() }).await.unwrap();
            let names: String = found.into_iter().map(|key| key.name).collect();
            assert_eq!(names, expected, "{by:?} descending: {descending}");
        }
    }

    async fn pages_neither_repeat_nor_miss_a_key(store: Store) {
        let time = crate::common::now();
        for n in 0..25 {
            store.insert(&NewKey { created_at: time, ..key("alice", &format!("same {}", n % 3)) }).await.unwrap();
        }
        for by in [SortBy::CreatedAt, SortBy::Name, SortBy::LastUsedAt] {
            let mut seen = std::collections::HashSet::new();
            for offset in (0..30).step_by(10) {
                let search = Search { sort: Sort { by, descending: true }, limit: 10, offset, ..everything() };
                let page = store.search(&search).await.unwrap();
                assert_eq!(page.len(), [11, 11, 5][offset as usize / 10]);
                seen.extend(page.into_iter().take(10).map(|key| key.id));
            }
            assert_eq!(seen.len(), 25, "{by:?}");
        }
        assert!(store.search(&Search { offset: u64::MAX, ..everything() }).await.unwrap().is_empty());
    }

    async fn the_store_answers(store: Store) {
        store.ping().await.unwrap();
        store.close().await;
        assert!(store.ping().await.is_err());
    }
}

fn everything() -> Search {
    Search {
        username: None,
        statuses: vec![],
        include_ephemeral: false,
        sort: Sort { by: SortBy::CreatedAt, descending: true },
        limit: 100,
        offset: 0,
    }
}

fn expired_key(username: &str, name: &str, seconds_ago: i64) -> NewKey {
    let expires_at = crate::common::now() - SignedDuration::from_secs(seconds_ago);
    NewKey { expires_at, created_at: Timestamp::UNIX_EPOCH, ..key(username, name) }
}

fn ephemeral_key(username: &str, name: &str, seconds: i64) -> NewKey {
    NewKey { ephemeral: true, ..expired_key(username, name, -seconds) }
}
