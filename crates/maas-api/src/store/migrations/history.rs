//! The bookkeeping of golang-migrate.

use std::time::Duration;

use sqlx::{Connection, PgConnection};

use super::MigrationError;

/// An advisory lock that every program migrating this schema takes.
pub(super) struct Lock(i64);

/// The lock's id, as golang-migrate makes it from the names of schema and database.
pub fn lock_id(schema: &str, database: &str) -> i64 {
    let name = format!("{schema}\0schema_migrations\0{database}");
    i64::from(crc32(name.as_bytes()).wrapping_mul(1_486_364_155))
}

/// CRC-32 as in IEEE 802.3.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| crc >> 1 ^ (0xedb8_8320 & (crc & 1).wrapping_neg()))
    })
}

pub(super) async fn lock_of(connection: &mut PgConnection) -> Result<Lock, MigrationError> {
    let (schema, database): (Option<String>, String) =
        sqlx::query_as("SELECT current_schema()::text, current_database()::text")
            .fetch_one(connection)
            .await?;
    Ok(Lock(lock_id(&schema.unwrap_or_default(), &database)))
}

impl Lock {
    /// Waits for the lock, for at most so long. The limit is the server's to keep: giving up on this side alone would
    /// leave the session in the queue for the lock.
    pub(super) async fn take(
        &self,
        connection: &mut PgConnection,
        limit: Option<Duration>,
    ) -> Result<(), MigrationError> {
        let millis = limit.map_or(0, |limit| limit.as_millis());
        set(connection, "lock_timeout", &millis.to_string()).await?;
        // The waiting is one statement, and the pool's statement timeout would end it early.
        set(connection, "statement_timeout", "0").await?;
        let taken = sqlx::query("SELECT pg_advisory_lock($1)").bind(self.0).execute(&mut *connection).await;
        match taken {
            Ok(_) => Ok(()),
            // 55P03: lock_not_available
            Err(sqlx::Error::Database(error)) if error.code().as_deref() == Some("55P03") => {
                Err(MigrationError::Locked)
            }
            Err(error) => Err(error.into()),
        }
    }

    pub(super) async fn release(&self, connection: &mut PgConnection) -> Result<(), MigrationError> {
        sqlx::query("SELECT pg_advisory_unlock($1)").bind(self.0).execute(connection).await?;
        Ok(())
    }
}

async fn set(connection: &mut PgConnection, name: &str, value: &str) -> Result<(), sqlx::Error> {
    sqlx::query("SELECT set_config($1, $2, false)").bind(name).bind(value).execute(connection).await.map(drop)
}

pub(super) async fn create(connection: &mut PgConnection) -> Result<(), MigrationError> {
    sqlx::query("CREATE TABLE IF NOT EXISTS schema_migrations (version bigint NOT NULL PRIMARY KEY, dirty boolean NOT NULL)")
        .execute(connection)
        .await?;
    Ok(())
}

/// The last migration and whether it was left half done.
pub(super) async fn version(connection: &mut PgConnection) -> Result<Option<(i64, bool)>, MigrationError> {
    Ok(sqlx::query_as("SELECT version, dirty FROM schema_migrations LIMIT 1")
        .fetch_optional(connection)
        .await?)
}

pub(super) async fn set_version(
    connection: &mut PgConnection,
    version: i64,
    dirty: bool,
) -> Result<(), MigrationError> {
    let mut transaction = connection.begin().await?;
    sqlx::query("TRUNCATE schema_migrations").execute(&mut *transaction).await?;
    sqlx::query("INSERT INTO schema_migrations (version, dirty) VALUES ($1, $2)")
        .bind(version)
        .bind(dirty)
        .execute(&mut *transaction)
        .await?;
    Ok(transaction.commit().await?)
}

#[cfg(test)]
mod tests {
    use super::lock_id;

    #[test]
    fn the_lock_is_the_originals() {
        assert_eq!(lock_id("public", "maas"), 3_787_702_691);
    }
}
