//! Where keys are kept: one small trait, two databases behind it.
//!
//! A store knows rows, not rules. Who may see or revoke what, and what a status means, is decided by
//! [`crate::keys`].

mod error;
pub mod migrations;
mod pg_time;
pub mod postgres;
mod retry;
pub mod sqlite;

use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;

pub use error::StoreError;

use crate::keys::KeyHash;

/// A store of keys, shared by all tasks.
pub type SharedStore = Arc<dyn KeyStore>;

/// The outcome of a store operation.
pub type Result<T> = std::result::Result<T, StoreError>;

/// What can be done with stored keys. Every operation is one statement, so none leaves half of itself behind.
#[async_trait]
pub trait KeyStore: Send + Sync + 'static {
    /// Stores a key. Durable once it returns. Storing the same key again changes nothing.
    async fn insert(&self, key: &NewKey) -> Result<()>;

    /// The keys with these hashes, in no order; hashes of no key have no entry.
    async fn find(&self, hashes: &[KeyHash]) -> Result<Vec<FoundKey>>;

    /// The key of that id.
    async fn get(&self, id: &str) -> Result<Option<KeyRecord>>;

    /// A page of keys, with one more than the limit if there are more.
    async fn search(&self, search: &Search) -> Result<Vec<KeyRecord>>;

    /// Revokes one active key. False if it is none.
    async fn revoke(&self, id: &str) -> Result<bool>;

    /// Revokes all active keys of a user, and says how many.
    async fn revoke_all(&self, username: &str) -> Result<u64>;

    /// Marks an active key as expired.
    async fn expire(&self, id: &str) -> Result<()>;

    /// Notes when keys were last used. A later time that is already there stays.
    async fn touch(&self, used: &[(String, Timestamp)]) -> Result<()>;

    /// Deletes ephemeral keys that expired more than half an hour ago, and says how many.
    async fn delete_expired_ephemeral(&self) -> Result<u64>;

    /// Whether the store answers.
    async fn ping(&self) -> Result<()>;

    /// Reports, for as long as it runs, what others have revoked. The default is for a store that has no others.
    async fn watch_revocations(&self, heard: &(dyn for<'a> Fn(Heard<'a>) + Send + Sync)) {
        heard(Heard::Listening);
        std::future::pending().await
    }

    /// Closes all connections.
    async fn close(&self);
}

/// What is heard from other replicas.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Heard<'a> {
    /// From now on nothing is missed. What happened before may have been.
    Listening,
    /// From now on revocations may be missed.
    Deaf,
    /// One key was revoked or expired.
    Key(&'a str),
    /// All keys of a user were revoked.
    User(&'a str),
}

/// A key to be stored.
#[derive(Clone, Debug)]
pub struct NewKey {
    /// Random id.
    pub id: String,
    /// Owner.
    pub username: String,
    /// For the owner.
    pub name: String,
    /// For the owner; may be empty.
    pub description: String,
    /// The only trace of the key itself.
    pub hash: KeyHash,
    /// The owner's groups, now and for the life of the key.
    pub groups: Vec<String>,
    /// The subscription it is bound to.
    pub subscription: String,
    /// Made by a program, for a program, to be thrown away.
    pub ephemeral: bool,
    /// Now.
    pub created_at: Timestamp,
    /// When it ends.
    pub expires_at: Timestamp,
}

/// What validation needs of a stored key.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundKey {
    /// The hash it was found by.
    pub hash: KeyHash,
    /// Its id.
    pub id: String,
    /// Its owner.
    pub username: String,
    /// The owner's groups when it was made.
    pub groups: Vec<String>,
    /// The subscription it is bound to; blank for keys older than subscriptions.
    pub subscription: String,
    /// As stored: an expired key may still say active.
    pub status: Status,
    /// When it ends, if ever.
    pub expires_at: Option<Timestamp>,
    /// When it was last used, give or take a minute.
    pub last_used_at: Option<Timestamp>,
}

/// What people may see of a stored key.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyRecord {
    /// Its id.
    pub id: String,
    /// Its owner.
    pub username: String,
    /// For the owner.
    pub name: String,
    /// For the owner; may be empty.
    pub description: String,
    /// The subscription it is bound to.
    pub subscription: String,
    /// Effective: a key past its end is expired, whatever is stored.
    pub status: Status,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it ends, if ever.
    pub expires_at: Option<Timestamp>,
    /// When it was last used, give or take a minute.
    pub last_used_at: Option<Timestamp>,
    /// Made by a program, for a program, to be thrown away.
    pub ephemeral: bool,
}

/// The state of a key.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Status {
    /// It works.
    Active,
    /// Somebody took it back.
    Revoked,
    /// Its time is over.
    Expired,
}

impl Status {
    /// As stored and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Revoked => "revoked",
            Self::Expired => "expired",
        }
    }

    /// Reads what [`as_str`](Self::as_str) writes.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Active, Self::Revoked, Self::Expired].into_iter().find(|status| status.as_str() == text)
    }
}

/// Which keys, in which order, which page.
#[derive(Clone, Debug, PartialEq)]
pub struct Search {
    /// Of this user only.
    pub username: Option<String>,
    /// With one of these effective statuses; none means any.
    pub statuses: Vec<Status>,
    /// Ephemeral ones too.
    pub include_ephemeral: bool,
    /// The order. Ties are broken by id, so that pages neither repeat nor miss a key.
    pub sort: Sort,
    /// How many at most.
    pub limit: u32,
    /// How many to pass over.
    pub offset: u64,
}

/// An order of keys.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Sort {
    /// By which field.
    pub by: SortBy,
    /// From high to low.
    pub descending: bool,
}

/// The fields keys can be ordered by.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SortBy {
    /// When it was made.
    CreatedAt,
    /// When it ends; those that never do come last.
    ExpiresAt,
    /// When it was last used; those that never were come last.
    LastUsedAt,
    /// The name its owner gave it.
    Name,
}

impl SortBy {
    /// As clients write it, which is also the column.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::CreatedAt => "created_at",
            Self::ExpiresAt => "expires_at",
            Self::LastUsedAt => "last_used_at",
            Self::Name => "name",
        }
    }

    /// Reads what [`as_str`](Self::as_str) writes.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::CreatedAt, Self::ExpiresAt, Self::LastUsedAt, Self::Name]
            .into_iter()
            .find(|by| by.as_str() == text)
    }
}

impl Sort {
    /// The `ORDER BY` of both databases. Made of constants only.
    fn sql(self) -> String {
        let nulls =
            if matches!(self.by, SortBy::ExpiresAt | SortBy::LastUsedAt) { " NULLS LAST" } else { "" };
        let order = if self.descending { "DESC" } else { "ASC" };
        format!("{} {order}{nulls}, id {order}", self.by.as_str())
    }
}
