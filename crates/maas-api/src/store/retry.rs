//! Deadlines, and one more try on a fresh connection.

use std::time::Duration;

use super::{Result, StoreError};

/// For the lookups that every inference request waits for.
pub(super) const LOOKUP: Duration = Duration::from_secs(5);
/// For everything else.
pub(super) const OTHER: Duration = Duration::from_secs(15);

/// Runs something within a time.
pub(super) async fn within<T>(limit: Duration, work: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::time::timeout(limit, work).await.unwrap_or(Err(StoreError::Timeout(limit)))
}

/// Runs something that may be repeated, and repeats it as long as it fails because of its connection: after the
/// database was restarted, every pooled connection is dead but does not know it yet.
pub(super) async fn repeatable<T, F: Future<Output = Result<T>>>(
    limit: Duration,
    connections: u32,
    work: impl Fn() -> F,
) -> Result<T> {
    within(limit, async {
        for _ in 0..connections {
            match work().await {
                Err(error) if error.is_connection() => tracing::debug!(%error, "trying another connection"),
                outcome => return outcome,
            }
        }
        work().await
    })
    .await
}
