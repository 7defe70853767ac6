//! What every request goes through: routes, limits, pages of other origins, start-up.

use std::sync::Arc;

use crate::common::service::{Answer, Service};
use axum::{body::Body, http::Request};
use parking_lot::Mutex;
use quintet_maas_api::{Options, routes::TABLE};
use serde_json::{Value, json};

async fn service(options: Options) -> Service {
    Service::with(crate::common::sqlite().await, options)
}

#[tokio::test]
async fn every_route_of_the_table_exists_and_no_other() {
    let service = service(Options::default()).await;
    for (method, path) in TABLE {
        let path = path.replace("{id}", "x").replace("{model_id}", "m");
        let answer = service.by("alice", method, &path, json!({})).await;
        assert_ne!(answer.text, "404 page not found", "{method} {path}");
        for other in ["GET", "POST", "DELETE", "PUT", "PATCH", "HEAD"] {
            let listed = TABLE.iter().any(|(m, p)| {
                *m == other
                    && (p.replace("{id}", "x") == path
                        || (*p == "/v1/api-keys/{id}"
                            && path.matches('/').count() == 3
                            && path.starts_with("/v1/api-keys/")))
            });
            if !listed && !path.contains("/m/") {
                let answer = service.by("alice", other, &path, json!({})).await;
                assert_eq!(
                    (answer.status, answer.header("content-type")),
                    (404, "text/plain"),
                    "{other} {path}"
                );
            }
        }
    }
    for path in
        ["/", "/v1", "/v1/api-keys/a/b", "/v1/tiers/lookup", "/healthz", "/internal/v1", "//evil.example/"]
    {
        let answer = service.bare("GET", path, "").await;
        assert_eq!((answer.status, answer.text.as_str()), (404, "404 page not found"), "{path}");
    }
}

#[tokio::test]
async fn a_slash_too_many_is_redirected() {
    let service = service(Options::default()).await;
    for (method, path, status, location) in [
        ("GET", "/health/", 301, "/health"),
        ("GET", "/v1/models/?a=b", 301, "/v1/models?a=b"),
        ("POST", "/v1/api-keys/", 307, "/v1/api-keys"),
        ("DELETE", "/v1/api-keys/x/", 307, "/v1/api-keys/x"),
        ("GET", "/v1/api-keys/", 404, ""),
        ("POST", "/health/", 404, ""),
    ] {
        let answer = service.bare(method, path, "").await;
        assert_eq!((answer.status, answer.header("location")), (status, location), "{method} {path}");
    }
}

#[tokio::test]
async fn a_key_may_be_called_search() {
    let service = service(Options::default()).await;
    let answer = service.by("alice", "GET", "/v1/api-keys/search", Value::Null).await;
    answer.is(404, json!({"error": "API key not found"}));
}

#[tokio::test]
async fn bodies_are_limited() {
    let service = service(Options::default()).await;
    let large = format!(r#"{{"name":"{}"}}"#, "x".repeat(1 << 20));
    for path in ["/v1/api-keys", "/v1/api-keys/search", "/v1/api-keys/bulk-revoke"] {
        let request = Request::builder().method("POST").uri(path);
        let request = request.header("X-MaaS-Username", "alice").header("X-MaaS-Group", r#"["g1"]"#);
        let answer = service.send(request.body(Body::from(large.clone())).unwrap()).await;
        answer.is(413, json!({"error": "request body is larger than 1 MiB"}));
    }
    assert_eq!(service.bare("POST", "/internal/v1/api-keys/validate", &large).await.status, 413);
}

#[tokio::test]
async fn bodies_that_are_not_json_say_why() {
    let service = service(Options::default()).await;
    for (body, error) in [
        ("", "EOF"),
        ("x", "invalid character 'x' looking for beginning of value"),
        (
            r#"{"ephemeral":"yes"}"#,
            "json: cannot unmarshal string into Go struct field CreateAPIKeyRequest.ephemeral of type bool",
        ),
        (r#"{"name":"k","expiresIn":true}"#, "invalid duration"),
        (r#"{"name":"k","expiresIn":"infd"}"#, "invalid duration"),
        (r#"{"name":"k","expiresIn":1e300}"#, "invalid duration"),
        (r#"{"name":"k","expiresIn":"abc"}"#, "time: invalid duration \"abc\""),
    ] {
        let request = Request::builder().method("POST").uri("/v1/api-keys");
        let request = request.header("X-MaaS-Username", "alice").header("X-MaaS-Group", r#"["g1"]"#);
        service.send(request.body(Body::from(body)).unwrap()).await.is(400, json!({"error": error}));
    }
    let request = Request::builder().method("POST").uri("/v1/api-keys").header("Content-Type", "text/plain");
    let request = request.header("X-MaaS-Username", "alice").header("X-MaaS-Group", r#"["g1"]"#);
    let body = r#"{"NAME":"k","Unknown":[1,2],"subscription":null} trailing"#;
    assert_eq!(service.send(request.body(Body::from(body)).unwrap()).await.status, 201);
}

#[tokio::test]
async fn repeated_identity_headers_are_the_first_ones_word() {
    let service = service(Options::default()).await;
    let request = Request::builder().method("POST").uri("/v1/api-keys");
    let request = request.header("X-MaaS-Username", "alice").header("X-MaaS-Username", "root");
    let request =
        request.header("X-MaaS-Group", r#"["g1","g1"," g1 "]"#).header("X-MaaS-Group", r#"["admins"]"#);
    let id = service.send(request.body(Body::from(r#"{"name":"k"}"#)).unwrap()).await.json()["id"].clone();
    let path = format!("/v1/api-keys/{}", id.as_str().expect("an id"));
    assert_eq!(service.by("alice", "GET", &path, Value::Null).await.json()["username"], "alice");
    let searched = service.search("root", json!({"filters": {"username": "root"}})).await.json();
    assert_eq!(searched["data"], json!([]));
}

#[tokio::test]
async fn a_user_who_asks_too_often_is_told_so_if_that_is_wanted() {
    let service = service(Options { rate_limit: Some(3), ..Default::default() }).await;
    let ask = |user: &'static str| service.by(user, "GET", "/v1/subscriptions", Value::Null);
    for _ in 0..3 {
        assert_eq!(ask("alice").await.status, 200);
    }
    assert_eq!(ask("alice").await.status, 429);
    assert_eq!(ask("bob").await.status, 200);
    assert_eq!(service.validate("sk-oai-a_b").await.status, 200, "the gateway is not limited");
}

async fn from_page(service: &Service, method: &str, origin: &str) -> Answer {
    let request = Request::builder().method(method).uri("/health").header("Host", "maas.example.com");
    service.send(request.header("Origin", origin).body(Body::empty()).unwrap()).await
}

#[tokio::test]
async fn options_is_answered_everywhere_and_pages_only_when_debugging() {
    let plain = service(Options::default()).await;
    for path in ["/", "/v1/api-keys", "/anything"] {
        let answer = plain.bare("OPTIONS", path, "").await;
        assert_eq!((answer.status, answer.text.as_str()), (204, ""), "{path}");
        assert!(!answer.headers.keys().any(|name| name.as_str().starts_with("access-control")), "{path}");
    }
    assert_eq!(
        from_page(&plain, "GET", "http://localhost:3000").await.header("access-control-allow-origin"),
        ""
    );
    let debug = service(Options { debug: true, ..Default::default() }).await;
    let answer = from_page(&debug, "GET", "http://localhost:3000").await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("access-control-allow-origin"), "http://localhost:3000");
    assert_eq!(answer.header("access-control-expose-headers"), "Content-Type");
    let answer = from_page(&debug, "OPTIONS", "http://127.0.0.1:1").await;
    assert_eq!(answer.status, 204);
    assert_eq!(answer.header("access-control-allow-methods"), "GET,POST,PUT,PATCH,DELETE,OPTIONS");
    assert_eq!(answer.header("access-control-allow-headers"), "Authorization,Content-Type,Accept");
    assert_eq!(answer.header("access-control-max-age"), "43200");
    let vary: Vec<&str> = answer.headers.get_all("vary").iter().map(|v| v.to_str().unwrap()).collect();
    assert_eq!(vary, ["Origin", "Access-Control-Request-Method", "Access-Control-Request-Headers"]);
    assert_eq!(answer.header("access-control-allow-credentials"), "");
    let denied = from_page(&debug, "GET", "http://evil.example").await;
    assert_eq!((denied.status, denied.text.as_str()), (403, ""));
    assert_eq!(from_page(&debug, "OPTIONS", "http://evil.example").await.status, 403);
}

#[tokio::test]
async fn until_everything_is_read_only_probes_are_answered() {
    let service = service(Options::default()).await;
    service.cluster.set_unsynced(["maassubscriptions.maas.opendatahub.io"]);
    let missing = ["maassubscriptions.maas.opendatahub.io"];
    for path in ["/health", "/v1/subscriptions"] {
        let answer = service.by("alice", "GET", path, Value::Null).await;
        assert_eq!(answer.status, 503);
        assert!(answer.text.contains(missing[0]), "{}", answer.text);
    }
    service.bare("GET", "/readyz", "").await.is(503, json!({"status": "not ready", "missing": missing}));
    assert_eq!(service.bare("GET", "/metrics", "").await.status, 200);
    service.cluster.set_unsynced([]);
    service.bare("GET", "/health", "").await.is(200, json!({"status": "healthy"}));
    service.bare("GET", "/readyz", "").await.is(200, json!({"status": "ready"}));
}

#[tokio::test]
async fn the_checked_in_description_is_the_codes() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/openapi.json");
    let current = quintet_maas_api::openapi::text();
    if std::env::var_os("UPDATE_OPENAPI").is_some() {
        std::fs::write(path, &current).expect("written");
    }
    let checked_in = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        checked_in == current,
        "openapi.json is stale: run `UPDATE_OPENAPI=1 cargo test -p quintet-maas-api --test suite`"
    );
    let service = service(Options::default()).await;
    let served = service.bare("GET", "/openapi.json", "").await.json();
    assert_eq!(served, serde_json::from_str::<Value>(&checked_in).unwrap());
    let described: Vec<(String, String)> = served["paths"]
        .as_object()
        .expect("paths")
        .iter()
        .flat_map(|(path, methods)| {
            methods.as_object().expect("methods").keys().map(move |m| (m.to_uppercase(), path.clone()))
        })
        .collect();
    for (method, path) in TABLE.iter().filter(|(_, path)| *path != "/openapi.json") {
        assert!(
            described.contains(&((*method).to_owned(), (*path).to_owned())),
            "{method} {path} is not described"
        );
    }
    assert_eq!(described.len(), TABLE.len() - 1);
}

/// Where a test's logs go.
#[derive(Clone, Default)]
struct Sink(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Everything is logged, by us and by what we use; and whatever is done with a key, it is not in there. In a process of
/// its own: what is logged is decided once per place and process, and tests beside this one log nothing.
#[tokio::test]
async fn logs_hold_neither_keys_nor_hashes() {
    if std::env::var_os("QUINTET_TEST_ALONE").is_none() {
        let mut alone = std::process::Command::new(std::env::current_exe().unwrap());
        alone.args(["--exact", "http::logs_hold_neither_keys_nor_hashes"]).env("QUINTET_TEST_ALONE", "1");
        let ended = alone.output().unwrap();
        let told = String::from_utf8_lossy(&ended.stdout);
        assert!(ended.status.success() && told.contains("1 passed"), "{told}");
        return;
    }
    let sink = Sink::default();
    let writer = sink.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    let _logging = tracing::subscriber::set_default(subscriber);
    let service = service(Options::default()).await;
    let (id, key) = service.key("alice").await;
    let unknown = "sk-oai-unknownunknown_neverseensecret";
    for key in [key.as_str(), unknown, "sk-oai-broken-neverseensecret"] {
        service.validate(key).await;
    }
    let bearer = Request::builder().uri("/v1/models").header("Authorization", format!("Bearer {key}"));
    let bearer = bearer.header("X-MaaS-Username", "alice").header("X-MaaS-Group", r#"["g1"]"#);
    service.send(bearer.body(Body::empty()).unwrap()).await;
    service.by("alice", "DELETE", &format!("/v1/api-keys/{id}"), Value::Null).await;
    service.validate(&key).await;
    service.store.close().await; // from here on everything fails, and says so
    assert_eq!(service.validate("sk-oai-other_neverseensecret").await.status, 500);
    assert_eq!(service.create("alice", json!({"name": "k"})).await.status, 500);
    let logged = String::from_utf8(sink.0.lock().clone()).unwrap();
    assert!(logged.contains("validation failed") && logged.contains("/internal/v1/api-keys/validate"));
    let hash = quintet_maas_api::keys::KeyHash::of(&key).expect("a key").to_hex();
    for secret in [key.rsplit('_').next().unwrap(), hash.as_str(), "neverseensecret"] {
        assert!(!logged.contains(secret), "{secret} is logged");
    }
}
