//! Keys in an SQLite file: the default of `quintet up`. One process has the file to itself.

use std::{path::Path, time::Duration};

use async_trait::async_trait;
use jiff::Timestamp;
use quintet_kit::Clock;
use sqlx::{
    AssertSqlSafe, Row, SqlitePool,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteRow, SqliteSynchronous},
};

use super::{
    FoundKey, KeyRecord, KeyStore, NewKey, Result, Search, Status, StoreError,
    retry::{LOOKUP, OTHER, within},
};
use crate::keys::KeyHash;

/// How long an expired ephemeral key is kept.
const GRACE_MICROS: i64 = 30 * 60 * 1_000_000;

/// The schema, in steps: `PRAGMA user_version` says how many were taken.
const SCHEMA: [&str; 1] = [include_str!("migrations/sqlite_0001.sql")];

/// Keys in an SQLite file.
#[derive(Clone, Debug)]
pub struct SqliteStore {
    readers: SqlitePool,
    /// One connection: SQLite has one writer at a time, and waiting here is fairer than polling its lock.
    writer: SqlitePool,
    clock: Clock,
}

impl SqliteStore {
    /// Opens the file, makes it if there is none, and brings its schema up to date.
    pub async fn open(path: &Path, clock: Clock) -> Result<Self> {
        let options = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full) // an answered create survives a power cut
            .busy_timeout(Duration::from_secs(5));
        let writer = SqlitePoolOptions::new().max_connections(1).connect_with(options.clone()).await?;
        migrate(&writer).await?;
        let readers =
            SqlitePoolOptions::new().max_connections(4).test_before_acquire(false).connect_lazy_with(options);
        Ok(Self { readers, writer, clock })
    }

    fn now(&self) -> i64 {
        self.clock.now().as_microsecond()
    }
}

async fn migrate(writer: &SqlitePool) -> Result<()> {
    let mut transaction = writer.begin_with("BEGIN IMMEDIATE").await?;
    let done: i64 = sqlx::query_scalar("PRAGMA user_version").fetch_one(&mut *transaction).await?;
    let done = usize::try_from(done).unwrap_or(usize::MAX);
    if done > SCHEMA.len() {
        return Err(StoreError::Newer { found: done, known: SCHEMA.len() });
    }
    for (number, sql) in (1..).zip(SCHEMA).skip(done) {
        sqlx::raw_sql(sql).execute(&mut *transaction).await?;
        sqlx::raw_sql(AssertSqlSafe(format!("PRAGMA user_version = {number}")))
            .execute(&mut *transaction)
            .await?;
    }
    Ok(transaction.commit().await?)
}

const RECORD: &str = "id, username, name, description, subscription, created_at, expires_at, last_used_at, ephemeral, \
    CASE WHEN status = 'active' AND expires_at < ?1 THEN 'expired' ELSE status END AS effective";

#[async_trait]
impl KeyStore for SqliteStore {
    async fn insert(&self, key: &NewKey) -> Result<()> {
        within(OTHER, async {
            sqlx::query(
                "INSERT INTO api_keys (id, username, name, description, key_hash, status, user_groups, created_at, \
                 expires_at, ephemeral, subscription) VALUES (?, ?, ?, ?, ?, 'active', ?, ?, ?, ?, ?) \
                 ON CONFLICT (id) DO NOTHING",
            )
            .bind(&key.id)
            .bind(&key.username)
            .bind(&key.name)
            .bind(&key.description)
            .bind(key.hash.to_hex())
            .bind(serde_json::to_string(&key.groups).expect("strings are JSON"))
            .bind(key.created_at.as_microsecond())
            .bind(key.expires_at.as_microsecond())
            .bind(key.ephemeral)
            .bind(&key.subscription)
            .execute(&self.writer)
            .await?;
            Ok(())
        })
        .await
    }

    async fn find(&self, hashes: &[KeyHash]) -> Result<Vec<FoundKey>> {
        let hashes: Vec<String> = hashes.iter().map(|hash| hash.to_hex()).collect();
        let hashes = serde_json::to_string(&hashes).expect("strings are JSON");
        let rows = within(LOOKUP, async {
            Ok(sqlx::query(
                "SELECT key_hash, id, username, user_groups, subscription, status, expires_at, last_used_at \
                 FROM api_keys WHERE key_hash IN (SELECT value FROM json_each(?))",
            )
            .bind(hashes)
            .fetch_all(&self.readers)
            .await?)
        })
        .await?;
        rows.iter().map(found).collect()
    }

    async fn get(&self, id: &str) -> Result<Option<KeyRecord>> {
        let sql = format!("SELECT {RECORD} FROM api_keys WHERE id = ?2");
        let row = within(OTHER, async {
            Ok(sqlx::query(AssertSqlSafe(sql))
                .bind(self.now())
                .bind(id)
                .fetch_optional(&self.readers)
                .await?)
        })
        .await?;
        row.as_ref().map(record).transpose()
    }

    async fn search(&self, search: &Search) -> Result<Vec<KeyRecord>> {
        // The order is made of constants; everything a client sends is bound.
        let sql = format!(
            "SELECT * FROM (SELECT {RECORD} FROM api_keys WHERE (?2 IS NULL OR username = ?2) AND (?3 OR NOT ephemeral)) \
             WHERE (?4 = '[]' OR effective IN (SELECT value FROM json_each(?4))) ORDER BY {} LIMIT ?5 OFFSET ?6",
            search.sort.sql()
        );
        let statuses: Vec<&str> = search.statuses.iter().map(|status| status.as_str()).collect();
        let rows = within(OTHER, async {
            Ok(sqlx::query(AssertSqlSafe(sql))
                .bind(self.now())
                .bind(&search.username)
                .bind(search.include_ephemeral)
                .bind(serde_json::to_string(&statuses).expect("strings are JSON"))
                .bind(i64::from(search.limit) + 1)
                .bind(i64::try_from(search.offset).unwrap_or(i64::MAX))
                .fetch_all(&self.readers)
                .await?)
        })
        .await?;
        rows.iter().map(record).collect()
    }

    async fn revoke(&self, id: &str) -> Result<bool> {
        within(OTHER, async {
            let done =
                sqlx::query("UPDATE api_keys SET status = 'revoked' WHERE id = ? AND status = 'active'")
                    .bind(id)
                    .execute(&self.writer)
                    .await?;
            Ok(done.rows_affected() > 0)
        })
        .await
    }

    async fn revoke_all(&self, username: &str) -> Result<u64> {
        within(OTHER, async {
            let done = sqlx::query(
                "UPDATE api_keys SET status = 'revoked' WHERE username = ? AND status = 'active'",
            )
            .bind(username)
            .execute(&self.writer)
            .await?;
            Ok(done.rows_affected())
        })
        .await
    }

    async fn expire(&self, id: &str) -> Result<()> {
        within(OTHER, async {
            sqlx::query("UPDATE api_keys SET status = 'expired' WHERE id = ? AND status = 'active'")
                .bind(id)
                .execute(&self.writer)
                .await?;
            Ok(())
        })
        .await
    }

    async fn touch(&self, used: &[(String, Timestamp)]) -> Result<()> {
        let used: Vec<(&str, i64)> =
            used.iter().map(|(id, time)| (id.as_str(), time.as_microsecond())).collect();
        let used = serde_json::to_string(&used).expect("strings and numbers are JSON");
        within(OTHER, async {
            sqlx::query(
                "UPDATE api_keys SET last_used_at = used.at FROM \
                 (SELECT value ->> 0 AS id, value ->> 1 AS at FROM json_each(?)) AS used \
                 WHERE api_keys.id = used.id AND (last_used_at IS NULL OR last_used_at < used.at)",
            )
            .bind(used)
            .execute(&self.writer)
            .await?;
            Ok(())
        })
        .await
    }

    async fn delete_expired_ephemeral(&self) -> Result<u64> {
        within(OTHER, async {
            let done = sqlx::query("DELETE FROM api_keys WHERE ephemeral AND expires_at < ?")
                .bind(self.now() - GRACE_MICROS)
                .execute(&self.writer)
                .await?;
            Ok(done.rows_affected())
        })
        .await
    }

    async fn ping(&self) -> Result<()> {
        within(LOOKUP, async { Ok(sqlx::query("SELECT 1").execute(&self.readers).await.map(drop)?) }).await
    }

    async fn close(&self) {
        self.readers.close().await;
        self.writer.close().await;
    }
}

fn found(row: &SqliteRow) -> Result<FoundKey> {
    let id: String = row.try_get("id")?;
    let Some(hash) = KeyHash::from_hex(row.try_get("key_hash")?) else {
        return Err(StoreError::Row { id, field: "key_hash" });
    };
    let Ok(groups) = serde_json::from_str(row.try_get("user_groups")?) else {
        return Err(StoreError::Row { id, field: "user_groups" });
    };
    Ok(FoundKey {
        hash,
        username: row.try_get("username")?,
        groups,
        subscription: row.try_get("subscription")?,
        status: status(row.try_get("status")?, &id)?,
        expires_at: time(row, "expires_at", &id)?,
        last_used_at: time(row, "last_used_at", &id)?,
        id,
    })
}

fn record(row: &SqliteRow) -> Result<KeyRecord> {
    let id: String = row.try_get("id")?;
    let created_at = time(row, "created_at", &id)?;
    Ok(KeyRecord {
        username: row.try_get("username")?,
        name: row.try_get("name")?,
        description: row.try_get("description")?,
        subscription: row.try_get("subscription")?,
        status: status(row.try_get("effective")?, &id)?,
        created_at: created_at.ok_or_else(|| StoreError::Row { id: id.clone(), field: "created_at" })?,
        expires_at: time(row, "expires_at", &id)?,
        last_used_at: time(row, "last_used_at", &id)?,
        ephemeral: row.try_get("ephemeral")?,
        id,
    })
}

fn status(text: &str, id: &str) -> Result<Status> {
    Status::parse(text).ok_or_else(|| StoreError::Row { id: id.to_owned(), field: "status" })
}

fn time(row: &SqliteRow, column: &'static str, id: &str) -> Result<Option<Timestamp>> {
    let micros: Option<i64> = row.try_get(column)?;
    micros
        .map(Timestamp::from_microsecond)
        .transpose()
        .map_err(|_| StoreError::Row { id: id.to_owned(), field: column })
}
