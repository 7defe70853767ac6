//! The schema of the PostgreSQL store, with the history its original keeps, so that either program can take over a
//! database from the other.
//!
//! The history is that of golang-migrate: table `schema_migrations` has one row, the number of the last migration and
//! whether it was left half done. Programs that start together take turns by an advisory lock.

mod history;

use std::time::Duration;

use sqlx::PgConnection;

pub use history::lock_id;

/// How long to wait for another program's migrations.
const TURN: Duration = Duration::from_secs(15);

/// The migrations, by number from 1.
const MIGRATIONS: [&str; 3] = [
    include_str!("0001_create_api_keys.sql"),
    include_str!("0002_add_ephemeral.sql"),
    include_str!("0003_add_subscription.sql"),
];

/// Why the schema could not be brought up to date.
#[derive(Debug, thiserror::Error)]
pub enum MigrationError {
    /// A migration was interrupted; somebody has to look.
    #[error("Dirty database version {0}. Fix and force version.")]
    Dirty(i64),
    /// The database is ahead of this program.
    #[error("no migration found for version {0}: the database was written by a newer maas-api; this one knows versions up to {newest}", newest = MIGRATIONS.len())]
    Unknown(i64),
    /// Another program has been migrating for too long.
    #[error("timeout: can't acquire database lock")]
    Locked,
    /// The database said no.
    #[error("{0}")]
    Database(#[from] sqlx::Error),
}

/// Brings the schema up to date.
pub async fn run(connection: &mut PgConnection) -> Result<(), MigrationError> {
    let lock = history::lock_of(connection).await?;
    lock.take(connection, None).await?;
    let created = history::create(connection).await;
    lock.release(connection).await?;
    created?;

    lock.take(connection, Some(TURN)).await?;
    let migrated = catch_up(connection).await;
    lock.release(connection).await?;
    migrated
}

async fn catch_up(connection: &mut PgConnection) -> Result<(), MigrationError> {
    let done = match history::version(connection).await? {
        None => 0,
        Some((version, true)) => return Err(MigrationError::Dirty(version)),
        Some((version, false)) => usize::try_from(version)
            .ok()
            .filter(|done| (1..=MIGRATIONS.len()).contains(done))
            .ok_or(MigrationError::Unknown(version))?,
    };
    for (number, sql) in (1_i64..).zip(MIGRATIONS).skip(done) {
        history::set_version(connection, number, true).await?;
        // One command of several statements: PostgreSQL makes one transaction of it.
        sqlx::raw_sql(sql).execute(&mut *connection).await?;
        history::set_version(connection, number, false).await?;
        tracing::info!(version = number, "migrated the database");
    }
    Ok(())
}
