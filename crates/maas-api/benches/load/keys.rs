//! A hundred thousand keys, made from their numbers.

use std::path::Path;

use quintet_kit::Clock;
use quintet_maas_api::{
    keys::KeyHash,
    store::{
        postgres::{PoolSize, PostgresStore},
        sqlite::SqliteStore,
    },
};

pub(crate) const COUNT: usize = 100_000;

pub(crate) fn plain(n: usize) -> String {
    format!("sk-oai-bench{n:011}_{n:043}")
}

fn hash(n: usize) -> String {
    KeyHash::of(&plain(n)).expect("well-formed").to_hex()
}

fn id(n: usize) -> String {
    format!("00000000-0000-4000-8000-{n:012}")
}

/// In one statement: one by one it would take longer than the benchmark.
pub(crate) async fn fill_postgres(url: &str) {
    PostgresStore::open(url, PoolSize::default()).await.expect("a store");
    let mut connection = <sqlx::PgConnection as sqlx::Connection>::connect(url).await.expect("connected");
    for chunk in (0..COUNT).collect::<Vec<_>>().chunks(10_000) {
        let (ids, hashes): (Vec<String>, Vec<String>) = chunk.iter().map(|n| (id(*n), hash(*n))).unzip();
        sqlx::query(
            "INSERT INTO api_keys (id, username, name, description, key_hash, user_groups, expires_at, subscription) \
             SELECT id, 'user' || (row_number() OVER ()) % 1000, 'k', '', hash, '{system:authenticated,g1}', \
             now() + interval '1 day', 'gold' FROM unnest($1::text[], $2::text[]) AS keys (id, hash)",
        )
        .bind(ids)
        .bind(hashes)
        .execute(&mut connection)
        .await
        .expect("inserted");
    }
}

/// As above.
pub(crate) async fn fill_sqlite(file: &Path) {
    SqliteStore::open(file, Clock::system()).await.expect("a store");
    let url = format!("sqlite://{}", file.display());
    let mut connection =
        <sqlx::SqliteConnection as sqlx::Connection>::connect(&url).await.expect("connected");
    let rows: Vec<(String, String)> = (0..COUNT).map(|n| (id(n), hash(n))).collect();
    let tomorrow = (Clock::system().now() + jiff::SignedDuration::from_hours(24)).as_microsecond();
    sqlx::query(
        "INSERT INTO api_keys (id, username, name, description, key_hash, user_groups, created_at, expires_at, subscription) \
         SELECT value ->> 0, 'user' || (key % 1000), 'k', '', value ->> 1, '[\"system:authenticated\",\"g1\"]', 0, ?, 'gold' \
         FROM json_each(?)",
    )
    .bind(tomorrow)
    .bind(serde_json::to_string(&rows).expect("JSON"))
    .execute(&mut connection)
    .await
    .expect("inserted");
}
