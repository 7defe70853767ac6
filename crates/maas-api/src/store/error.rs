//! What can go wrong with a store.

/// A store operation that failed. The texts are for logs; clients get the route's own.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database said no, or nothing.
    #[error("database: {0}")]
    Database(#[from] sqlx::Error),
    /// No answer in time.
    #[error("the database did not answer within {0:?}")]
    Timeout(std::time::Duration),
    /// A row that this program did not write.
    #[error("key {id} has an unreadable {field}")]
    Row {
        /// The key's id.
        id: String,
        /// The column.
        field: &'static str,
    },
    /// A file that a newer program wrote.
    #[error(
        "the key file has schema version {found}, and this program knows versions up to {known}; start the newer one again"
    )]
    Newer {
        /// Its version.
        found: usize,
        /// The newest known here.
        known: usize,
    },
}

impl StoreError {
    /// Whether the connection is at fault rather than the statement, so that another connection may do better.
    pub fn is_connection(&self) -> bool {
        match self {
            Self::Database(sqlx::Error::Io(_) | sqlx::Error::Protocol(_) | sqlx::Error::Tls(_)) => true,
            // class 57: the administrator, or a crash, shut the session down; class 08: the session broke
            Self::Database(sqlx::Error::Database(error)) => {
                error.code().is_some_and(|code| code.starts_with("57P") || code.starts_with("08"))
            }
            _ => false,
        }
    }
}
