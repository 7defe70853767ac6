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

#[cfg(test)]
mod tests {
    use std::{cell::Cell, io};

    use tokio::time::Instant;

    use super::*;

    fn broken() -> StoreError {
        sqlx::Error::Io(io::Error::from(io::ErrorKind::ConnectionReset)).into()
    }

    #[tokio::test(start_paused = true)]
    async fn what_hangs_is_given_up_at_its_limit() {
        for limit in [LOOKUP, OTHER] {
            let start = Instant::now();
            let outcome = within(limit, std::future::pending::<Result<()>>()).await;
            assert!(matches!(outcome, Err(StoreError::Timeout(at)) if at == limit), "{outcome:?}");
            assert_eq!(start.elapsed(), limit);
        }
        assert_eq!((LOOKUP.as_secs(), OTHER.as_secs()), (5, 15), "as promised in the documentation");
    }

    #[tokio::test]
    async fn dead_connections_are_tried_through() {
        let tries = Cell::new(0);
        let outcome = repeatable(LOOKUP, 3, || async {
            tries.set(tries.get() + 1);
            if tries.get() <= 3 { Err(broken()) } else { Ok(tries.get()) }
        })
        .await;
        assert_eq!(outcome.expect("the fourth is a fresh one"), 4);
    }

    #[tokio::test]
    async fn a_database_that_is_down_is_not_asked_for_ever() {
        let tries = Cell::new(0);
        let outcome = repeatable(LOOKUP, 3, || async {
            tries.set(tries.get() + 1);
            Err::<(), _>(broken())
        })
        .await;
        assert!(outcome.expect_err("down").is_connection());
        assert_eq!(tries.get(), 4, "one for each pooled connection, and one more");
    }

    #[tokio::test]
    async fn what_is_no_fault_of_the_connection_is_not_repeated() {
        let tries = Cell::new(0);
        let outcome = repeatable(LOOKUP, 3, || async {
            tries.set(tries.get() + 1);
            Err::<(), _>(StoreError::from(sqlx::Error::RowNotFound))
        })
        .await;
        assert!(outcome.is_err());
        assert_eq!(tries.get(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn the_limit_holds_for_all_tries_together() {
        let start = Instant::now();
        let outcome = repeatable(LOOKUP, 100, || async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Err::<(), _>(broken())
        })
        .await;
        assert!(matches!(outcome, Err(StoreError::Timeout(_))), "{outcome:?}");
        assert_eq!(start.elapsed(), LOOKUP);
    }
}
