//! The specification's acceptance scenarios about keys and subscriptions, on both stores. Those about models are in
//! `models.rs`, about migrations in `migrations.rs`, about processes in `process.rs`.

use crate::common::{
    key,
    service::{Service, limit_status, model_ref, subscription},
};
use jiff::{SignedDuration, Timestamp};
use quintet_maas_api::{Options, keys::KeyHash, store::NewKey, subscriptions::Subscription};
use serde_json::{Value, json};

/// Waits, without a fixed time, until something holds; the test's own patience is ten seconds.
async fn eventually<F: Future<Output = bool>>(what: &str, mut holds: impl FnMut() -> F) {
    let patience = std::time::Instant::now();
    while !holds().await {
        assert!(patience.elapsed().as_secs() < 10, "never: {what}");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

fn time(value: &Value) -> Timestamp {
    value.as_str().expect("a time").parse().expect("RFC 3339")
}

fn seconds_from_now(time: Timestamp) -> i64 {
    time.as_second() - Timestamp::now().as_second()
}

const NOT_FOUND: &str = "API key not found";

crate::stores! {
    async fn scenario_01_mint_default(store: Store) {
        let service = Service::new(store);
        let answer = service.create("alice", json!({"name": "k"})).await;
        assert_eq!(answer.status, 201, "{}", answer.text);
        assert_eq!(answer.header("content-type"), "application/json; charset=utf-8");
        let body = answer.json();
        let key = body["key"].as_str().expect("a key");
        let (id, secret) = key.strip_prefix("sk-oai-").expect("a prefix").split_once('_').expect("two parts");
        assert!(id.chars().chain(secret.chars()).all(|c| c.is_ascii_alphanumeric()));
        assert_eq!(body["keyPrefix"], format!("sk-oai-{}...", &id[..12]));
        assert_eq!((&body["subscription"], &body["ephemeral"], &body["name"]), (&json!("gold"), &json!(false), &json!("k")));
        assert!((seconds_from_now(time(&body["expiresAt"])) - 90 * 86_400).abs() <= 5);
        assert!(seconds_from_now(time(&body["createdAt"])).abs() <= 5);
        let order = ["key", "keyPrefix", "id", "name", "subscription", "createdAt", "expiresAt", "ephemeral"];
        let places: Vec<usize> = order.iter().map(|f| answer.text.find(&format!("\"{f}\":")).expect("present")).collect();
        assert!(places.is_sorted(), "{}", answer.text);
        let stored = service.store.find(&[KeyHash::of(key).expect("well-formed")]).await.unwrap();
        assert_eq!(stored[0].groups, ["g1"]);
        assert_eq!(stored[0].id, body["id"].as_str().expect("an id"));
    }

    async fn scenario_02_name_required(store: Store) {
        let service = Service::new(store);
        service.create("alice", json!({})).await.is(400, json!({"error": "name is required for non-ephemeral keys"}));
        assert_eq!(service.search("root", json!({})).await.json()["data"], json!([]), "and nothing is stored");
    }

    async fn scenario_03_ephemeral_default(store: Store) {
        let service = Service::new(store);
        let body = service.create("alice", json!({"ephemeral": true})).await.json();
        let digits = body["name"].as_str().expect("a name").strip_prefix("ephemeral-").expect("a prefix");
        assert!(digits.len() >= 19 && digits.bytes().all(|b| b.is_ascii_digit()));
        assert!((seconds_from_now(time(&body["expiresAt"])) - 3600).abs() <= 5);
        let named = service.create("alice", json!({"ephemeral": true, "name": "n"})).await.json();
        assert_eq!(named["name"], "n");
    }

    async fn scenario_04_ephemeral_too_long(store: Store) {
        let service = Service::new(store);
        let error = "ephemeral key expiration (2h0m0s) cannot exceed 1 hour: expiration exceeds maximum allowed";
        service.create("alice", json!({"ephemeral": true, "expiresIn": "2h"})).await.is(400, json!({"error": error}));
        let all = service.search("root", json!({"filters": {"includeEphemeral": true}})).await.json();
        assert_eq!(all["data"], json!([]));
    }

    async fn scenario_05_regular_at_and_above_limit(store: Store) {
        let service = Service::with(store, Options { max_expiration_days: 30, ..Default::default() });
        assert_eq!(service.create("alice", json!({"name": "k", "expiresIn": "30d"})).await.status, 201);
        let error = "requested expiration (1440h0m0s) exceeds maximum allowed (30 days): expiration exceeds maximum allowed";
        service.create("alice", json!({"name": "k", "expiresIn": "60d"})).await.is(400, json!({"error": error}));
    }

    async fn scenario_06_zero_expiry(store: Store) {
        let service = Service::new(store);
        let error = json!({"error": "expiration must be positive"});
        for zero in [json!(0), json!(""), json!("-1h")] {
            service.create("alice", json!({"name": "k", "expiresIn": zero})).await.is(400, error.clone());
        }
    }

    async fn scenario_07_priority_pick(store: Store) {
        let service = Service::new(store);
        let ranked = |name: &str, priority, limit| Subscription {
            priority,
            model_refs: vec![model_ref("llm", "llama", limit)],
            ..subscription(name, "g1", "Active")
        };
        for (expected, subscriptions) in [
            ("high", vec![ranked("low", 10, 9), ranked("high", 50, 1)]),
            ("large", vec![ranked("a-small", 10, 1), ranked("large", 10, 9)]),
            ("a", vec![ranked("b", 10, 9), ranked("a", 10, 9)]),
        ] {
            service.cluster.set_subscriptions(subscriptions);
            assert_eq!(service.create("alice", json!({"name": "k"})).await.json()["subscription"], expected);
        }
    }

    async fn scenario_08_unknown_or_denied_subscription(store: Store) {
        let service = Service::new(store);
        service.cluster.set_subscriptions([subscription("gold", "g1", "Active"), subscription("other-team", "g2", "Active")]);
        let same = json!({"code": "invalid_subscription", "error": "Unable to resolve a subscription for this API key"});
        for name in ["nope", "other-team", "models-as-a-service/other-team"] {
            service.create("alice", json!({"name": "k", "subscription": name})).await.is(400, same.clone());
        }
        for name in ["gold", " gold ", "models-as-a-service/gold"] {
            let body = service.create("alice", json!({"name": "k", "subscription": name})).await.json();
            assert_eq!(body["subscription"], "gold", "the name alone is stored");
        }
        service.cluster.set_subscriptions([]);
        service.create("alice", json!({"name": "k"})).await.is(400, same);
    }

    async fn scenario_09_failed_or_unreconciled_subscription(store: Store) {
        let service = Service::new(store);
        let failed = "subscription is in Failed phase (cannot create API keys)";
        let new = "subscription is unreconciled (no status.phase set)";
        for (phase, status, error) in [("Failed", 403, failed), ("", 400, new)] {
            service.cluster.set_subscriptions([subscription("s", "g1", phase)]);
            let expected = json!({"code": "subscription_not_ready", "error": error});
            service.create("alice", json!({"name": "k", "subscription": "s"})).await.is(status, expected.clone());
            service.create("alice", json!({"name": "k"})).await.is(status, expected);
        }
        for phase in ["Pending", "Degraded", "Active", "Odd"] {
            service.cluster.set_subscriptions([subscription("s", "g1", phase)]);
            assert_eq!(service.create("alice", json!({"name": "k", "subscription": "s"})).await.status, 201, "{phase}");
        }
    }

    async fn scenario_10_validate_ok(store: Store) {
        let service = Service::new(store);
        let (id, key) = service.key("alice").await;
        let expected = json!({
            "valid": true, "userId": id, "username": "alice", "keyId": id, "groups": ["g1"], "subscription": "gold",
        });
        for _ in 0..3 {
            service.validate(&key).await.is(200, expected.clone());
        }
        let path = format!("/v1/api-keys/{id}");
        let before = std::time::Instant::now();
        eventually("lastUsedAt appears", async || {
            service.by("alice", "GET", &path, Value::Null).await.json()["lastUsedAt"].is_string()
        }).await;
        assert!(before.elapsed().as_secs() < 2, "within a second, give or take a slow machine");
    }

    async fn scenario_11_validate_bad(store: Store) {
        let service = Service::new(store);
        let refused = |reason: &str| json!({"valid": false, "reason": reason});
        service.validate("abc").await.is(200, refused("invalid key format"));
        for _ in 0..2 {
            service.validate("sk-oai-unknown_key").await.is(200, refused("key not found"));
        }
        let (id, key) = service.key("alice").await;
        service.by("alice", "DELETE", &format!("/v1/api-keys/{id}"), Value::Null).await;
        let (late, plain) = late_key();
        service.store.insert(&late).await.unwrap();
        for _ in 0..2 {
            service.validate(&key).await.is(200, refused("key revoked or expired"));
            service.validate(&plain).await.is(200, refused("key revoked or expired"));
        }
        assert_eq!(service.store.find(&[late.hash]).await.unwrap()[0].status.as_str(), "expired", "and marked so");
        for body in ["{}", "", "nonsense", "[]", r#"{"key":""}"#, r#"{"key":1}"#, r#"{"key":null}"#] {
            service.bare("POST", "/internal/v1/api-keys/validate", body).await.is(400, json!({"error": "key is required"}));
        }
        let (unbound, plain) = plain_key(NewKey { subscription: " ".into(), ..key_of("alice") });
        service.store.insert(&unbound).await.unwrap();
        service.validate(&plain).await.is(200, refused("key has no subscription bound"));
        let (foreign, plain) = plain_key(NewKey { id: "not-a-uuid".into(), ..key_of("alice") });
        service.store.insert(&foreign).await.unwrap();
        service.validate(&plain).await.is(500, json!({"error": "validation failed"}));
        let (alone, plain) = plain_key(NewKey { groups: vec![], ..key_of("alice") });
        service.store.insert(&alone).await.unwrap();
        assert_eq!(service.validate(&plain).await.json().get("groups"), None);
    }

    async fn scenario_12_idor(store: Store) {
        let service = Service::new(store);
        let (id, key) = service.key("alice").await;
        let path = format!("/v1/api-keys/{id}");
        for method in ["GET", "DELETE"] {
            service.by("bob", method, &path, Value::Null).await.is(404, json!({"error": NOT_FOUND}));
        }
        assert_eq!(service.validate(&key).await.json()["valid"], true);
        assert_eq!(service.by("root", "GET", &path, Value::Null).await.json()["username"], "alice");
        let revoked = service.by("root", "DELETE", &path, Value::Null).await;
        assert_eq!((revoked.status, &revoked.json()["status"]), (200, &json!("revoked")));
        service.cluster.break_reviews("down");
        service.by("bob", "GET", &path, Value::Null).await.is(404, json!({"error": NOT_FOUND}));
    }

    async fn scenario_13_double_revoke(store: Store) {
        let service = Service::new(store);
        let (id, _) = service.key("alice").await;
        let path = format!("/v1/api-keys/{id}");
        assert_eq!(service.by("alice", "DELETE", &path, Value::Null).await.status, 200);
        service.by("alice", "DELETE", &path, Value::Null).await.is(404, json!({"error": NOT_FOUND}));
        service.by("alice", "DELETE", "/v1/api-keys/nope", Value::Null).await.is(404, json!({"error": NOT_FOUND}));
    }

    async fn scenario_14_bulk_revoke(store: Store) {
        let service = Service::new(store);
        let mut keys = Vec::new();
        for _ in 0..4 {
            keys.push(service.key("alice").await);
        }
        service.by("alice", "DELETE", &format!("/v1/api-keys/{}", keys[0].0), Value::Null).await;
        assert_eq!(service.validate(&keys[1].1).await.json()["valid"], true);
        let denied = json!({"error": "Access denied: you can only bulk revoke your own API keys"});
        let bulk = |by: &'static str| service.by(by, "POST", "/v1/api-keys/bulk-revoke", json!({"username": "alice"}));
        bulk("bob").await.is(403, denied);
        for count in [3, 0] {
            let message = format!("Successfully revoked {count} active API key(s) for user alice");
            bulk("alice").await.is(200, json!({"revokedCount": count, "message": message}));
        }
        assert_eq!(service.validate(&keys[1].1).await.json()["valid"], false, "at once, though it was cached");
        assert_eq!(bulk("root").await.status, 200);
        let required = "Key: 'BulkRevokeRequest.Username' Error:Field validation for 'Username' failed on the 'required' tag";
        service.by("alice", "POST", "/v1/api-keys/bulk-revoke", json!({})).await.is(400, json!({"error": required}));
        service.cluster.break_reviews("down");
        bulk("carol").await.is(500, json!({"error": "Failed to check authorization"}));
    }

    async fn scenario_15_search_defaults(store: Store) {
        let service = Service::new(store);
        let base = crate::common::now();
        for n in 0..75_i32 {
            let created_at = base + SignedDuration::from_secs(i64::from(n));
            service.store.insert(&NewKey { created_at, ..key("alice", &n.to_string()) }).await.unwrap();
        }
        let newest = service.search("alice", json!({"pagination": {"limit": 1}})).await.json()["data"][0]["id"].clone();
        service.by("alice", "DELETE", &format!("/v1/api-keys/{}", newest.as_str().unwrap()), Value::Null).await;
        let page = service.search("alice", json!({})).await.json();
        assert_eq!((page["data"].as_array().unwrap().len(), &page["has_more"], &page["object"]), (50, &json!(true), &json!("list")));
        assert_eq!((&page["data"][0]["name"], &page["data"][0]["status"]), (&json!("74"), &json!("revoked")));
        let all = service.search("alice", json!({"pagination": {"limit": 500}})).await.json();
        assert_eq!((all["data"].as_array().unwrap().len(), &all["has_more"]), (75, &json!(false)));
        let rest = service.search("alice", json!({"pagination": {"limit": 50, "offset": 50}})).await.json();
        assert_eq!((rest["data"].as_array().unwrap().len(), &rest["data"][0]["name"]), (25, &json!("24")));
        service.by("alice", "POST", "/v1/api-keys/search", Value::Null).await.is(400, json!({"error": "EOF"}));
    }

    async fn scenario_16_search_filters(store: Store) {
        let service = Service::new(store);
        let (late, _) = late_key();
        service.store.insert(&late).await.unwrap();
        let expired = service.search("alice", json!({"filters": {"status": ["expired"]}})).await.json();
        assert_eq!((&expired["data"][0]["id"], &expired["data"][0]["status"]), (&json!(late.id), &json!("expired")));
        let active = service.search("alice", json!({"filters": {"status": [" active "]}})).await;
        active.is(200, json!({"object": "list", "data": [], "has_more": false}));
        for (body, error) in [
            (json!({"filters": {"status": ["bogus"]}}), "invalid status 'bogus': must be active, revoked, or expired"),
            (json!({"sort": {"by": "secret"}}), "invalid sort.by: must be one of: created_at, expires_at, last_used_at, name"),
            (json!({"sort": {"by": "name", "order": "up"}}), "invalid sort.order: must be asc or desc"),
            (json!({"pagination": {"offset": 5}}), "pagination.limit must be at least 1"),
            (json!({"pagination": {"limit": 1, "offset": -1}}), "pagination.offset must be non-negative"),
        ] {
            service.search("alice", body).await.is(400, json!({"error": error}));
        }
        let odd = service.search("alice", json!({"filters": {"nameContains": 1}})).await;
        assert!(odd.status == 400 && odd.text.contains("nameContains"), "{}", odd.text);
        for accepted in [
            json!({"filters": {"nameContains": "%", "hasBeenUsed": true, "createdAfter": "x"}}),
            json!({"sort": {}}),
            json!({"sort": {"by": "name", "order": " DESC "}}),
            json!({"sort": null, "filters": null, "pagination": null}),
        ] {
            assert_eq!(service.search("alice", accepted).await.status, 200);
        }
    }

    async fn scenario_17_search_as_user(store: Store) {
        let service = Service::new(store);
        service.key("alice").await;
        service.key("bob").await;
        service.create("bob", json!({"ephemeral": true})).await;
        let denied = json!({"error": "non-admin users can only search their own API keys"});
        service.search("alice", json!({"filters": {"username": "bob"}})).await.is(403, denied);
        let count = |body: &Value| body["data"].as_array().expect("a list").len();
        assert_eq!(count(&service.search("alice", json!({"filters": {"username": "alice"}})).await.json()), 1);
        assert_eq!(count(&service.search("root", json!({})).await.json()), 2);
        assert_eq!(count(&service.search("root", json!({"filters": {"includeEphemeral": true}})).await.json()), 3);
        assert_eq!(count(&service.search("root", json!({"filters": {"username": "bob"}})).await.json()), 1);
        service.cluster.break_reviews("down");
        service.search("carol", json!({})).await.is(500, json!({"error": "Failed to check authorization"}));
    }

    async fn scenario_18_cleanup(store: Store) {
        let service = Service::new(store);
        let ago = |seconds| crate::common::now() - SignedDuration::from_secs(seconds);
        for (name, ephemeral, expires_at) in
            [("old", true, ago(3600)), ("recent", true, ago(600)), ("regular", false, ago(3600))]
        {
            service.store.insert(&NewKey { ephemeral, expires_at, ..key("alice", name) }).await.unwrap();
        }
        for count in [1, 0] {
            let message = format!("Successfully deleted {count} expired ephemeral key(s)");
            let answer = service.bare("POST", "/internal/v1/api-keys/cleanup", "whatever").await;
            answer.is(200, json!({"deletedCount": count, "message": message}));
        }
        let left = service.search("alice", json!({"filters": {"includeEphemeral": true}})).await.json();
        let mut names: Vec<&str> = left["data"].as_array().unwrap().iter().map(|k| k["name"].as_str().unwrap()).collect();
        names.sort_unstable();
        assert_eq!(names, ["recent", "regular"]);
    }

    async fn scenario_31_identity_missing(store: Store) {
        let service = Service::new(store);
        for (headers, reference) in [
            (vec![], "001"),
            (vec![("X-MaaS-Username", "alice")], "002"),
            (vec![("X-MaaS-Username", "alice"), ("X-MaaS-Group", "a,b")], "003"),
        ] {
            for path in ["/v1/models", "/v1/subscriptions", "/v1/api-keys/x", "/v1/model/m/subscriptions"] {
                let mut request = axum::http::Request::builder().uri(path);
                for (name, value) in &headers {
                    request = request.header(*name, *value);
                }
                let answer = service.send(request.body(axum::body::Body::empty()).unwrap()).await;
                let error = "Exception thrown while generating token";
                answer.is(500, json!({"error": error, "exceptionCode": "AUTH_FAILURE", "refId": reference}));
            }
        }
    }

    async fn the_plain_key_is_nowhere_but_in_the_first_answer(store: Store) {
        let service = Service::new(store);
        let (id, key) = service.key("alice").await;
        service.validate(&key).await;
        let secret = key.rsplit('_').next().expect("a secret");
        for answer in [
            service.by("alice", "GET", &format!("/v1/api-keys/{id}"), Value::Null).await,
            service.search("alice", json!({})).await,
            service.validate(&key).await,
            service.bare("GET", "/metrics", "").await,
        ] {
            assert!(!answer.text.contains(secret), "{}", answer.text);
        }
    }

    async fn names_of_any_script_survive_and_absurd_ones_are_refused(store: Store) {
        let service = Service::new(store);
        for name in ["ключ 🔑 鍵", "a'b\"c\\d", "<script>&", "%_", "e\u{301}", "\u{202e}", "'; DROP TABLE api_keys; --"] {
            let id = service.create("alice", json!({"name": name, "description": name})).await.json()["id"].clone();
            let path = format!("/v1/api-keys/{}", id.as_str().expect("an id"));
            let read = service.by("alice", "GET", &path, Value::Null).await;
            assert_eq!((&read.json()["name"], &read.json()["description"]), (&json!(name), &json!(name)));
            assert!(!read.text.contains('<'), "{}", read.text);
        }
        assert_eq!(service.create("alice", json!({"name": "é".repeat(253)})).await.status, 201);
        for (body, error) in [
            (json!({"name": "é".repeat(254)}), "name must be at most 253 characters"),
            (json!({"name": "k", "description": "x".repeat(2049)}), "description must be at most 2048 characters"),
            (json!({"name": "a\0b"}), "name must not contain NUL characters"),
        ] {
            service.create("alice", body).await.is(400, json!({"error": error}));
        }
        for by in ["alice", "root"] {
            assert!(service.search(by, json!({"filters": {"username": "a\0"}})).await.status < 500);
            assert!(service.by(by, "POST", "/v1/api-keys/bulk-revoke", json!({"username": "a\0"})).await.status < 500);
        }
        assert_eq!(service.by("alice", "GET", "/v1/api-keys/a%00b", Value::Null).await.status, 404);
    }

    async fn a_database_that_is_gone_is_the_specs_500_and_never_a_panic(store: Store) {
        let service = Service::new(store);
        let (id, _) = service.key("alice").await;
        service.store.close().await;
        let path = format!("/v1/api-keys/{id}");
        let error = |text: &str| json!({"error": text});
        service.create("alice", json!({"name": "k"})).await.is(500, error("Failed to create API key"));
        service.by("alice", "GET", &path, Value::Null).await.is(500, error("Failed to retrieve API key"));
        service.by("alice", "DELETE", &path, Value::Null).await.is(500, error("Failed to retrieve API key"));
        service.search("alice", json!({})).await.is(500, error("Failed to search API keys"));
        let bulk = service.by("alice", "POST", "/v1/api-keys/bulk-revoke", json!({"username": "alice"})).await;
        bulk.is(500, error("Failed to revoke API keys"));
        service.validate("sk-oai-unknown_key").await.is(500, error("validation failed"));
        let cleanup = service.bare("POST", "/internal/v1/api-keys/cleanup", "").await;
        cleanup.is(500, error("Failed to cleanup expired ephemeral keys"));
        service.bare("GET", "/health", "").await.is(200, json!({"status": "healthy"}));
        service.bare("GET", "/readyz", "").await.is(503, json!({"status": "not ready", "missing": ["database"]}));
    }
}

fn key_of(username: &str) -> NewKey {
    key(username, "k")
}

/// A key of which the plain text is known too.
fn plain_key(stored: NewKey) -> (NewKey, String) {
    let plain = quintet_maas_api::keys::ApiKey::generate(&mut rand::rng());
    (NewKey { hash: plain.hash(), ..stored }, plain.expose().to_owned())
}

/// A key of alice's that is stored as active and expired a minute ago.
fn late_key() -> (NewKey, String) {
    plain_key(NewKey { expires_at: crate::common::now() - SignedDuration::from_secs(60), ..key_of("alice") })
}

#[tokio::test]
async fn scenario_19_sar_cache() {
    let service = Service::new(crate::common::sqlite().await);
    let search = async |username: &str, groups: &str| {
        let request = axum::http::Request::builder().method("POST").uri("/v1/api-keys/search");
        let request = request.header("X-MaaS-Username", username).header("X-MaaS-Group", groups);
        assert_eq!(service.send(request.body("{}".into()).unwrap()).await.status, 200);
        service.cluster.reviews()
    };
    assert_eq!(search("root", r#"["a","b"]"#).await, 1);
    assert_eq!(search("root", r#"["a","b"]"#).await, 1);
    assert_eq!(search("root", r#"["b","a"]"#).await, 1, "the order of groups does not matter");
    assert_eq!(search("alice", r#"["a","b"]"#).await, 2);
    // That a no lasts two seconds is shown, with a clock that can be moved, beside the cache itself.
    let metrics = service.bare("GET", "/metrics", "").await;
    assert!(metrics.text.contains("\nsar_cache_hits_total 2\n"), "{}", metrics.text);
    assert!(metrics.text.contains("\nsar_cache_misses_total 2\n"), "{}", metrics.text);
}

/// The service with these subscriptions.
async fn with(subscriptions: impl IntoIterator<Item = Subscription>) -> Service {
    let service = Service::new(crate::common::sqlite().await);
    service.cluster.set_subscriptions(subscriptions);
    service
}

fn failure(error: &str, phase: &str, message: &str) -> Value {
    json!({"phase": phase, "ready": false, "error": error, "message": message})
}

#[tokio::test]
async fn scenario_20_select_one() {
    let gold = Subscription {
        display_name: "Gold".into(),
        description: "g".into(),
        priority: 10,
        model_refs: vec![model_ref("llm", "llama", 1000)],
        organization_id: "org-1".into(),
        cost_center: "cc-1".into(),
        labels: [("env".to_owned(), "prod".to_owned())].into(),
        ..subscription("gold", "g1", "Active")
    };
    let service = with([gold]).await;
    let answer =
        service.select(json!({"username": "alice", "groups": ["g1"], "requestedModel": "llm/llama"})).await;
    let expected = concat!(
        r#"{"name":"gold","namespace":"models-as-a-service","displayName":"Gold","description":"g","priority":10,"#,
        r#""modelRefs":[{"name":"llama","namespace":"llm","token_rate_limits":[{"limit":1000,"window":"1m"}]}],"#,
        r#""organizationId":"org-1","costCenter":"cc-1","labels":{"env":"prod"},"phase":"Active","ready":true}"#,
    );
    assert_eq!(answer.text, expected, "to the letter: the gateway's policies read it");
}

#[tokio::test]
async fn scenario_21_select_many() {
    let with_model = |name| Subscription {
        model_refs: vec![model_ref("llm", "llama", 1)],
        ..subscription(name, "g1", "Active")
    };
    let service = with([with_model("gold"), with_model("silver")]).await;
    let ask = |requested: &str| json!({"username": "alice", "groups": ["g1"], "requestedSubscription": requested, "requestedModel": "llm/llama"});
    let many = "user has access to multiple subscriptions, must specify subscription using X-MaaS-Subscription header";
    service.select(ask("")).await.is(200, failure("multiple_subscriptions", "", many));
    for requested in ["silver", "models-as-a-service/silver"] {
        let answer = service.select(ask(requested)).await.json();
        assert_eq!((&answer["name"], answer.get("error")), (&json!("silver"), None));
    }
    service.select(ask("nope")).await.is(200, failure("not_found", "", "requested subscription not found"));
    let stranger = json!({"username": "eve", "requestedSubscription": "gold"});
    service
        .select(stranger)
        .await
        .is(200, failure("access_denied", "", "access denied to requested subscription"));
    let nobody = "no matching subscription found for user";
    service.select(json!({"username": "eve"})).await.is(200, failure("not_found", "", nobody));
}

#[tokio::test]
async fn scenario_22_model_not_in_subscription() {
    let service = with([subscription("silver", "g1", "Active")]).await;
    let ask = json!({
        "username": "alice", "groups": ["g1"], "requestedSubscription": "silver", "requestedModel": "models/llm",
    });
    let message = "subscription silver does not include model models/llm";
    service.select(ask).await.is(200, failure("model_not_in_subscription", "", message));
}

#[tokio::test]
async fn scenario_23_degraded() {
    let worn = Subscription {
        model_refs: vec![model_ref("llm", "llama", 1), model_ref("llm", "opt", 1)],
        rate_limit_statuses: vec![limit_status("llama", false), limit_status("opt", true)],
        ..subscription("worn", "g1", "Degraded")
    };
    let service = with([worn]).await;
    let ask = |model: &str| json!({"username": "alice", "groups": ["g1"], "requestedModel": model});
    let message = "subscription rate limiting policies are not ready";
    service.select(ask("llm/llama")).await.is(200, failure("model_unhealthy", "Degraded", message));
    let answer = service.select(ask("llm/opt")).await.json();
    assert_eq!((&answer["name"], &answer["phase"]), (&json!("worn"), &json!("Degraded")));
}

#[tokio::test]
async fn scenario_24_pending() {
    let pending =
        Subscription { model_refs: vec![model_ref("llm", "llama", 1)], ..subscription("s", "g1", "Pending") };
    let service = with([pending]).await;
    let ask = json!({"username": "alice", "groups": ["g1"], "requestedModel": "llm/llama"});
    let message = "subscription is in Pending phase (allowed: Active, Degraded)";
    service.select(ask).await.is(200, failure("model_unhealthy", "Pending", message));
}

#[tokio::test]
async fn select_answers_200_whatever_comes() {
    let service = with([subscription("gold", "g1", "Active")]).await;
    for (body, message) in [
        ("", "invalid request body: EOF"),
        ("x", "invalid request body: invalid character 'x' looking for beginning of value"),
        (
            r#"{"groups":["g1"]}"#,
            "invalid request body: Key: 'SelectRequest.Username' Error:Field validation for 'Username' failed on the 'required' tag",
        ),
    ] {
        let answer = service.bare("POST", "/internal/v1/subscriptions/select", body).await;
        answer.is(200, failure("bad_request", "", message));
    }
    let leaving = Subscription {
        deletion_timestamp: Some("2026-04-29T10:29:54Z".into()),
        ..subscription("gold", "g1", "Active")
    };
    service.cluster.set_subscriptions([leaving]);
    let answer = service.select(json!({"username": "a", "groups": ["g1"]})).await.json();
    assert_eq!(
        (&answer["name"], &answer["deletionTimestamp"]),
        (&json!("gold"), &json!("2026-04-29T10:29:54Z"))
    );
}

#[tokio::test]
async fn scenario_30_subscriptions_list() {
    let described = |name: &str, display: &str, description: &str, phase: &str| Subscription {
        display_name: display.into(),
        description: description.into(),
        model_refs: vec![model_ref("llm", "llama", 7)],
        ..subscription(name, "g1", phase)
    };
    let service = with([
        described("c", "", "", "Active"),
        described("b", "Display", "", "Degraded"),
        described("a", "Display", "Described", "Active"),
        described("failed", "", "", "Failed"),
        described("pending", "", "", "Pending"),
        described("new", "", "", ""),
        Subscription {
            deletion_timestamp: Some("2026-04-29T10:29:54Z".into()),
            ..described("gone", "", "", "Active")
        },
        Subscription { groups: vec!["g2".into()], ..described("foreign", "", "", "Active") },
        Subscription { model_refs: vec![], priority: 3, ..described("z", "", "", "Active") },
    ])
    .await;
    let all = service.by("alice", "GET", "/v1/subscriptions", Value::Null).await;
    let shown: Vec<(String, String)> = all
        .json()
        .as_array()
        .expect("a bare list")
        .iter()
        .map(|s| {
            let text = |name: &str| s[name].as_str().expect("text").to_owned();
            (text("subscription_id_header"), text("subscription_description"))
        })
        .collect();
    let pairs = [("a", "Described"), ("b", "Display"), ("c", "c"), ("z", "z")];
    assert_eq!(shown, pairs.map(|(a, b)| (a.to_owned(), b.to_owned())));
    let last =
        r#"{"subscription_id_header":"z","subscription_description":"z","priority":3,"model_refs":[]}]"#;
    assert!(all.text.ends_with(last), "{}", all.text);
    let of_model = service.by("alice", "GET", "/v1/model/llama/subscriptions", Value::Null).await.json();
    assert_eq!(of_model.as_array().expect("a bare list").len(), 3, "those that serve and have it");
    service.by("alice", "GET", "/v1/model/none/subscriptions", Value::Null).await.is(200, json!([]));
    let missing = json!({"error": {"message": "model-id is required", "type": "invalid_request_error"}});
    service.by("alice", "GET", "/v1/model//subscriptions", Value::Null).await.is(400, missing);
}
