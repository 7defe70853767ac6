//! Scenario 33: schema and history of a PostgreSQL that the original may have written.

use crate::common::key;
use quintet_maas_api::store::{
    KeyStore,
    migrations::lock_id,
    postgres::{PoolSize, PostgresStore},
};

const HISTORY: &str = "SELECT version, dirty FROM schema_migrations";

async fn open(url: &str) -> Result<PostgresStore, String> {
    PostgresStore::open(url, PoolSize { open: 2, ..Default::default() })
        .await
        .map_err(|error| error.to_string())
}

/// A database in the state the original leaves after so many of its migrations, with a key in it.
fn original(server: &quintet_harness::postgres::Postgres, version: i64) -> String {
    let url = server.database().expect("a database");
    let columns = match version {
        1 => "",
        2 => "ephemeral BOOLEAN NOT NULL DEFAULT FALSE,",
        _ => "ephemeral BOOLEAN NOT NULL DEFAULT FALSE, subscription TEXT NOT NULL DEFAULT 'gold',",
    };
    let sql = format!(
        "CREATE TABLE schema_migrations (version bigint not null primary key, dirty boolean not null);
         INSERT INTO schema_migrations VALUES ({version}, false);
         CREATE TABLE api_keys (id TEXT PRIMARY KEY, username TEXT NOT NULL, name TEXT NOT NULL, description TEXT,
           key_hash TEXT NOT NULL, status TEXT NOT NULL DEFAULT 'active', user_groups TEXT[] NOT NULL, {columns}
           created_at TIMESTAMPTZ NOT NULL DEFAULT NOW(), expires_at TIMESTAMPTZ, last_used_at TIMESTAMPTZ,
           CONSTRAINT api_keys_status_check CHECK (status IN ('active', 'revoked', 'expired')));
         CREATE UNIQUE INDEX idx_api_keys_key_hash ON api_keys(key_hash);
         INSERT INTO api_keys (id, username, name, key_hash, user_groups, expires_at)
           VALUES ('old', 'alice', 'old', repeat('ab', 32), '{{g1}}', 'infinity');"
    );
    server.psql(&url, &sql).expect("the original's schema");
    url
}

#[tokio::test]
async fn scenario_33_migrations() {
    let Some(server) = crate::common::server("scenario_33_migrations") else { return };
    let url = server.database().expect("a database");
    let store = open(&url).await.expect("an empty database is filled");
    assert_eq!(server.psql(&url, HISTORY).unwrap(), "3|f");
    let stored = key("alice", "kept");
    store.insert(&stored).await.unwrap();
    let columns = "SELECT string_agg(column_name || ' ' || data_type || ' ' || is_nullable || ' ' || \
                   coalesce(column_default, '-'), E'\\n' ORDER BY ordinal_position) \
                   FROM information_schema.columns WHERE table_name = 'api_keys'";
    let indexes =
        "SELECT string_agg(indexdef, E'\\n' ORDER BY indexname) FROM pg_indexes WHERE tablename = 'api_keys'";
    let schema =
        format!("{}\n\n{}", server.psql(&url, columns).unwrap(), server.psql(&url, indexes).unwrap());
    insta::assert_snapshot!(schema);
    let again = open(&url).await.expect("a second start");
    assert_eq!(server.psql(&url, HISTORY).unwrap(), "3|f");
    assert!(again.get(&stored.id).await.unwrap().is_some());
    assert_eq!(server.psql(&url, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'").unwrap(), "0");
}

#[tokio::test(flavor = "multi_thread")]
async fn scenario_33_programs_that_start_together_all_succeed() {
    let Some(server) = crate::common::server("scenario_33_programs_that_start_together") else { return };
    let url = server.database().expect("a database");
    let starts: Vec<_> = (0..8)
        .map(|_| {
            let url = url.clone();
            tokio::spawn(async move { open(&url).await })
        })
        .collect();
    for start in starts {
        start.await.expect("no panic").expect("started");
    }
    assert_eq!(server.psql(&url, HISTORY).unwrap(), "3|f");
}

#[tokio::test]
async fn a_database_of_the_original_is_taken_over_with_its_keys() {
    let Some(server) = crate::common::server("a_database_of_the_original_is_taken_over") else { return };
    for version in [1, 2, 3] {
        let url = original(server, version);
        let store = open(&url).await.unwrap_or_else(|error| panic!("version {version}: {error}"));
        assert_eq!(server.psql(&url, HISTORY).unwrap(), "3|f");
        let old = store.get("old").await.unwrap().expect("kept");
        assert_eq!(
            old.subscription,
            if version == 3 { "gold" } else { "" },
            "bound to none, and validation says so"
        );
        assert_eq!(old.description, "");
        let default = "SELECT column_default IS NULL FROM information_schema.columns \
                       WHERE table_name = 'api_keys' AND column_name = 'subscription'";
        if version < 3 {
            assert_eq!(server.psql(&url, default).unwrap(), "t", "as the original's schema has it");
        }
        store.insert(&key("alice", "new")).await.unwrap();
    }
}

#[tokio::test]
async fn what_somebody_must_look_at_is_not_touched() {
    let Some(server) = crate::common::server("what_somebody_must_look_at_is_not_touched") else { return };
    for (history, expected) in [
        (
            "(2, true)",
            "failed to apply schema migrations: schema migration failed: Dirty database version 2. Fix and force version.",
        ),
        (
            "(4, false)",
            "failed to apply schema migrations: schema migration failed: no migration found for version 4: ",
        ),
    ] {
        let url = original(server, 2);
        server
            .psql(
                &url,
                &format!("DELETE FROM schema_migrations; INSERT INTO schema_migrations VALUES {history}"),
            )
            .unwrap();
        let error = open(&url).await.expect_err("refused");
        assert!(error.starts_with(expected), "{error}");
        assert!(server.psql(&url, "SELECT subscription FROM api_keys").is_err(), "nothing was migrated");
    }
}

#[tokio::test]
async fn the_turn_of_another_program_is_waited_for() {
    let Some(server) = crate::common::server("the_turn_of_another_program_is_waited_for") else { return };
    let url = server.database().expect("a database");
    let name = url.rsplit('/').next().and_then(|n| n.split('?').next()).expect("a name").to_owned();
    let lock = lock_id("public", &name);
    let mut other = <sqlx::PgConnection as sqlx::Connection>::connect(&url).await.expect("connected");
    sqlx::query("SELECT pg_advisory_lock($1)").bind(lock).execute(&mut other).await.expect("locked");
    let mut start = Box::pin(open(&url));
    let waiting = tokio::time::timeout(std::time::Duration::from_millis(500), &mut start).await;
    assert!(waiting.is_err(), "it waits");
    sqlx::query("SELECT pg_advisory_unlock($1)").bind(lock).execute(&mut other).await.expect("unlocked");
    start.await.expect("and then starts");
}

#[tokio::test]
async fn no_error_shows_the_password() {
    for url in
        ["mysql://u:hunter2@h/db", "postgresql://u:hunter2@[bad/db", "postgresql://u:hunter2@127.0.0.1:9/db"]
    {
        let error = open(url).await.expect_err("refused");
        assert!(!error.contains("hunter2"), "{error}");
        let known = ["invalid database URL: ", "failed to connect to PostgreSQL: "];
        assert!(known.iter().any(|start| error.starts_with(start)), "{error}");
    }
}
