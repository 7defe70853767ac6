//! Keys in PostgreSQL.

use std::{borrow::Cow, str::FromStr, time::Duration};

use async_trait::async_trait;
use jiff::Timestamp;
use sqlx::{
    AssertSqlSafe, ConnectOptions, Connection, PgConnection, PgPool, Row,
    postgres::{PgConnectOptions, PgListener, PgPoolOptions, PgRow},
};

use super::{
    FoundKey, Heard, KeyRecord, KeyStore, NewKey, Result, Search, Status, StoreError,
    migrations::{self, MigrationError},
    pg_time::PgTime,
    retry::{LOOKUP, OTHER, repeatable, within},
};
use crate::keys::KeyHash;

/// The channel on which replicas tell each other what they revoke.
const CHANNEL: &str = "maas_api_revoked";
/// How often the listening connection is proved alive. Less than half the age that a cached answer may have while
/// nothing is heard, so that a silent death is noticed in time.
const HEARTBEAT: Duration = Duration::from_secs(2);
/// Above this, a notification would not fit: PostgreSQL allows 8000 bytes.
const LONGEST_NOTE: i32 = 4000;

/// How many connections, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct PoolSize {
    /// Open at once, at most.
    pub open: u32,
    /// Kept open while idle, at most.
    pub idle: u32,
    /// Closed at this age.
    pub lifetime: Duration,
}

impl Default for PoolSize {
    fn default() -> Self {
        Self { open: 25, idle: 5, lifetime: Duration::from_secs(300) }
    }
}

/// Why the store could not be opened. No text shows the URL: it holds a password.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Not a PostgreSQL URL.
    #[error("invalid database URL: Expected format: postgresql://user:password@host:port/database")]
    Url,
    /// No connection.
    #[error("failed to connect to PostgreSQL: {0}")]
    Connect(sqlx::Error),
    /// No schema.
    #[error("failed to apply schema migrations: schema migration failed: {0}")]
    Migrate(#[from] MigrationError),
}

/// Keys in PostgreSQL.
#[derive(Clone, Debug)]
pub struct PostgresStore {
    pool: PgPool,
    options: PgConnectOptions,
    size: PoolSize,
}

impl PostgresStore {
    /// Connects, and brings the schema up to date.
    pub async fn open(url: &str, size: PoolSize) -> std::result::Result<Self, OpenError> {
        let url = url.trim();
        if !url.starts_with("postgresql://") && !url.starts_with("postgres://") {
            return Err(OpenError::Url);
        }
        let options = PgConnectOptions::from_str(url)
            .map_err(|_| OpenError::Url)?
            .application_name("maas-api")
            .disable_statement_logging(); // every lookup would be an event to filter out again
        let mut first = PgConnection::connect_with(&options).await.map_err(OpenError::Connect)?;
        migrations::run(&mut first).await?;
        let _ = first.close().await; // it held the migration lock's session; nothing depends on a polite goodbye
        let pool = PgPoolOptions::new()
            .max_connections(size.open)
            .max_lifetime(size.lifetime)
            .acquire_timeout(LOOKUP)
            .test_before_acquire(false) // a round trip per query; a dead connection is noticed by use, see `retry`
            .after_connect(|connection, _| {
                Box::pin(async move {
                    // For statements whose client has gone away.
                    sqlx::query("SELECT set_config('statement_timeout', '15000', false)")
                        .execute(connection)
                        .await?;
                    Ok(())
                })
            })
            .connect_lazy_with(options.clone());
        Ok(Self { pool, options, size })
    }

    /// Closes idle connections beyond the configured number; to be called now and then. Not on every release, as the
    /// original does: under load that closes and opens connections all the time.
    pub async fn trim(&self) {
        while self.pool.num_idle() > self.size.idle as usize
            && let Some(connection) = self.pool.try_acquire()
        {
            let _ = connection.close().await;
        }
    }

    /// For what must not run twice: a connection that was alive a moment ago.
    async fn proven(&self) -> Result<sqlx::pool::PoolConnection<sqlx::Postgres>> {
        for _ in 0..self.size.open {
            let mut connection = self.pool.acquire().await?;
            match connection.ping().await {
                Ok(()) => return Ok(connection),
                Err(_) => drop(connection.detach()),
            }
        }
        Ok(self.pool.acquire().await?)
    }

    async fn repeat<T, F: Future<Output = Result<T>>>(
        &self,
        limit: Duration,
        work: impl Fn() -> F,
    ) -> Result<T> {
        repeatable(limit, self.size.open, work).await
    }
}

const RECORD: &str = "id, username, name, description, subscription, created_at, expires_at, last_used_at, ephemeral, \
    CASE WHEN status = 'active' AND expires_at < now() THEN 'expired' ELSE status END AS effective";

#[async_trait]
impl KeyStore for PostgresStore {
    async fn insert(&self, key: &NewKey) -> Result<()> {
        self.repeat(OTHER, || async {
            // Repeated after a lost answer, it finds itself.
            sqlx::query(
                "INSERT INTO api_keys (id, username, name, description, key_hash, status, user_groups, created_at, \
                 expires_at, ephemeral, subscription) VALUES ($1, $2, $3, $4, $5, 'active', $6, $7, $8, $9, $10) \
                 ON CONFLICT (id) DO NOTHING",
            )
            .bind(&key.id)
            .bind(&key.username)
            .bind(&key.name)
            .bind(&key.description)
            .bind(key.hash.to_hex())
            .bind(&key.groups)
            .bind(PgTime(key.created_at))
            .bind(PgTime(key.expires_at))
            .bind(key.ephemeral)
            .bind(&key.subscription)
            .execute(&self.pool)
            .await?;
            Ok(())
        })
        .await
    }

    async fn find(&self, hashes: &[KeyHash]) -> Result<Vec<FoundKey>> {
        let hashes: Vec<String> = hashes.iter().map(|hash| hash.to_hex()).collect();
        let rows = self
            .repeat(LOOKUP, || async {
                Ok(sqlx::query(
                    "SELECT key_hash, id, username, user_groups, subscription, status, expires_at, last_used_at \
                     FROM api_keys WHERE key_hash = ANY($1)",
                )
                .bind(&hashes)
                .fetch_all(&self.pool)
                .await?)
            })
            .await?;
        rows.iter().map(found).collect()
    }

    async fn get(&self, id: &str) -> Result<Option<KeyRecord>> {
        let sql = AssertSqlSafe(format!("SELECT {RECORD} FROM api_keys WHERE id = $1"));
        let row = self
            .repeat(OTHER, || {
                let sql = AssertSqlSafe(sql.0.clone());
                async move { Ok(sqlx::query(sql).bind(id).fetch_optional(&self.pool).await?) }
            })
            .await?;
        row.as_ref().map(record).transpose()
    }

    async fn search(&self, search: &Search) -> Result<Vec<KeyRecord>> {
        // The order is made of constants; everything a client sends is bound.
        let sql = format!(
            "SELECT * FROM (SELECT {RECORD} FROM api_keys \
             WHERE ($1::text IS NULL OR username = $1) AND ($2 OR NOT ephemeral)) AS keys \
             WHERE (cardinality($3::text[]) = 0 OR effective = ANY($3)) ORDER BY {} LIMIT $4 OFFSET $5",
            search.sort.sql()
        );
        let statuses: Vec<&str> = search.statuses.iter().map(|status| status.as_str()).collect();
        let (sql, statuses) = (&sql, &statuses);
        let rows = self
            .repeat(OTHER, || async move {
                Ok(sqlx::query(AssertSqlSafe(sql.clone()))
                    .bind(&search.username)
                    .bind(search.include_ephemeral)
                    .bind(statuses)
                    .bind(i64::from(search.limit) + 1)
                    .bind(i64::try_from(search.offset).unwrap_or(i64::MAX))
                    .fetch_all(&self.pool)
                    .await?)
            })
            .await?;
        rows.iter().map(record).collect()
    }

    async fn revoke(&self, id: &str) -> Result<bool> {
        within(OTHER, async {
            let mut connection = self.proven().await?;
            let row = sqlx::query(
                "WITH revoked AS (UPDATE api_keys SET status = 'revoked' WHERE id = $1 AND status = 'active' RETURNING id) \
                 SELECT pg_notify($2, 'key ' || id) FROM revoked",
            )
            .bind(id)
            .bind(CHANNEL)
            .fetch_optional(&mut *connection)
            .await?;
            Ok(row.is_some())
        })
        .await
    }

    async fn revoke_all(&self, username: &str) -> Result<u64> {
        within(OTHER, async {
            let mut connection = self.proven().await?;
            let row = sqlx::query(
                "WITH revoked AS (UPDATE api_keys SET status = 'revoked' WHERE username = $1 AND status = 'active' \
                 RETURNING id), told AS (SELECT pg_notify($2, CASE WHEN octet_length($1) > $3 THEN 'all' \
                 ELSE 'user ' || $1 END) WHERE EXISTS (SELECT 1 FROM revoked)) \
                 SELECT (SELECT count(*) FROM revoked), (SELECT count(*) FROM told)",
            )
            .bind(username)
            .bind(CHANNEL)
            .bind(LONGEST_NOTE)
            .fetch_one(&mut *connection)
            .await?;
            Ok(row.try_get::<i64, _>(0)?.unsigned_abs())
        })
        .await
    }

    async fn expire(&self, id: &str) -> Result<()> {
        self.repeat(OTHER, || async {
            sqlx::query("UPDATE api_keys SET status = 'expired' WHERE id = $1 AND status = 'active'")
                .bind(id)
                .execute(&self.pool)
                .await?;
            Ok(())
        })
        .await
    }

    async fn touch(&self, used: &[(String, Timestamp)]) -> Result<()> {
        let (ids, times): (Vec<&str>, Vec<PgTime>) =
            used.iter().map(|(id, time)| (id.as_str(), PgTime(*time))).unzip();
        let (ids, times) = (&ids, &times);
        self.repeat(OTHER, || async move {
            sqlx::query(
                "UPDATE api_keys SET last_used_at = used.at FROM unnest($1::text[], $2::timestamptz[]) AS used (id, at) \
                 WHERE api_keys.id = used.id AND (last_used_at IS NULL OR last_used_at < used.at)",
            )
            .bind(ids)
            .bind(times)
            .execute(&self.pool)
            .await?;
            Ok(())
        })
        .await
    }

    async fn delete_expired_ephemeral(&self) -> Result<u64> {
        within(OTHER, async {
            let mut connection = self.proven().await?;
            let done = sqlx::query(
                "DELETE FROM api_keys WHERE ephemeral AND expires_at < now() - interval '30 minutes'",
            )
            .execute(&mut *connection)
            .await?;
            Ok(done.rows_affected())
        })
        .await
    }

    async fn ping(&self) -> Result<()> {
        self.repeat(LOOKUP, || async { Ok(self.pool.acquire().await?.ping().await?) }).await
    }

    async fn watch_revocations(&self, heard: &(dyn for<'a> Fn(Heard<'a>) + Send + Sync)) {
        loop {
            if let Err(error) = self.listen(heard).await {
                tracing::warn!(%error, "not hearing other replicas' revocations; cached answers are kept only briefly");
            }
            heard(Heard::Deaf);
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }

    async fn close(&self) {
        self.pool.close().await;
    }
}

impl PostgresStore {
    /// Listens until the connection breaks.
    async fn listen(&self, heard: &(dyn for<'a> Fn(Heard<'a>) + Send + Sync)) -> Result<()> {
        // A pool of its own: the listener keeps its connection for good.
        let pool = PgPoolOptions::new()
            .max_connections(1)
            .acquire_timeout(LOOKUP)
            .connect_lazy_with(self.options.clone());
        let mut listener = PgListener::connect_with(&pool).await?;
        listener.eager_reconnect(false); // reconnecting is to be seen, so that what was missed is forgotten
        listener.listen(CHANNEL).await?;
        heard(Heard::Listening);
        let mut heartbeat = tokio::time::interval(HEARTBEAT);
        loop {
            let note = tokio::select! {
                note = listener.try_recv() => note?,
                _ = heartbeat.tick() => {
                    within(HEARTBEAT, async { Ok(sqlx::query("SELECT 1").execute(&mut listener).await?) }).await?;
                    continue;
                }
            };
            let Some(note) = note else { return Ok(()) };
            match note.payload().split_once(' ') {
                Some(("key", id)) => heard(Heard::Key(id)),
                Some(("user", username)) => heard(Heard::User(username)),
                _ => heard(Heard::Listening), // too long to say who: forget everything
            }
        }
    }
}

fn found(row: &PgRow) -> Result<FoundKey> {
    let id: String = row.try_get("id")?;
    let hash: Cow<'_, str> = row.try_get("key_hash")?;
    let Some(hash) = KeyHash::from_hex(&hash) else { return Err(StoreError::Row { id, field: "key_hash" }) };
    Ok(FoundKey {
        hash,
        username: row.try_get("username")?,
        groups: row.try_get("user_groups")?,
        subscription: row.try_get("subscription")?,
        status: status(row.try_get("status")?, &id)?,
        expires_at: time(row, "expires_at")?,
        last_used_at: time(row, "last_used_at")?,
        id,
    })
}

fn record(row: &PgRow) -> Result<KeyRecord> {
    let id: String = row.try_get("id")?;
    Ok(KeyRecord {
        username: row.try_get("username")?,
        name: row.try_get("name")?,
        description: row.try_get::<Option<String>, _>("description")?.unwrap_or_default(),
        subscription: row.try_get("subscription")?,
        status: status(row.try_get("effective")?, &id)?,
        created_at: row.try_get::<PgTime, _>("created_at")?.0,
        expires_at: time(row, "expires_at")?,
        last_used_at: time(row, "last_used_at")?,
        ephemeral: row.try_get("ephemeral")?,
        id,
    })
}

fn status(text: &str, id: &str) -> Result<Status> {
    Status::parse(text).ok_or_else(|| StoreError::Row { id: id.to_owned(), field: "status" })
}

fn time(row: &PgRow, column: &str) -> Result<Option<Timestamp>> {
    Ok(row.try_get::<Option<PgTime>, _>(column)?.map(|time| time.0))
}
