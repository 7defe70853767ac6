//! Making, reading and revoking keys.

use jiff::{SignedDuration, Timestamp, Unit};
use uuid::Uuid;

use super::{ApiKey, ExpiresIn, ExpiryError, Keys};
use crate::{
    store::{KeyRecord, NewKey, Result, Search, StoreError},
    subscriptions::{Caller, SelectError, highest_priority, select},
};

/// The longest name, in characters.
const LONGEST_NAME: usize = 253;
/// The longest description, in characters.
const LONGEST_DESCRIPTION: usize = 2048;

/// A key that somebody asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateKey {
    /// For the owner; may be empty for an ephemeral key.
    pub name: String,
    /// For the owner.
    pub description: String,
    /// The subscription to bind it to; empty to have one chosen.
    pub subscription: String,
    /// How long it shall live.
    pub expires_in: ExpiresIn,
    /// Made by a program, for a program, to be thrown away.
    pub ephemeral: bool,
}

/// A new key. The only place where it is in plain.
#[derive(Debug)]
pub struct Created {
    /// The key.
    pub key: ApiKey,
    /// What was stored.
    pub stored: NewKey,
}

/// Why no key was made. Nothing was stored.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    /// It has no name.
    #[error("name is required for non-ephemeral keys")]
    NameRequired,
    /// A text is too long.
    #[error("{field} must be at most {most} characters")]
    TooLong {
        /// Which.
        field: &'static str,
        /// The limit.
        most: usize,
    },
    /// A text holds what no database stores.
    #[error("{0} must not contain NUL characters")]
    Nul(&'static str),
    /// It would live too long, or not at all.
    #[error(transparent)]
    Expiry(#[from] ExpiryError),
    /// It cannot be bound.
    #[error(transparent)]
    Subscription(#[from] SelectError),
    /// It cannot be stored.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Keys {
    /// Makes a key for the caller.
    pub async fn create(
        &self,
        caller: Caller<'_>,
        wish: CreateKey,
    ) -> std::result::Result<Created, CreateError> {
        check_texts(&wish)?;
        let life = wish.expires_in.resolve(wish.ephemeral, self.max_days)?;
        let now = self.clock.now();
        let name =
            if wish.name.is_empty() { format!("ephemeral-{}", now.as_nanosecond()) } else { wish.name };
        let key = ApiKey::generate(&mut rand::rng());
        let subscription = self.bind(caller, wish.subscription.trim())?;
        let stored = NewKey {
            id: Uuid::new_v4().to_string(),
            username: caller.username.to_owned(),
            name,
            description: wish.description,
            hash: key.hash(),
            groups: caller.groups.to_vec(),
            subscription,
            ephemeral: wish.ephemeral,
            created_at: micros(now),
            expires_at: micros(
                now.saturating_add(SignedDuration::from_nanos(life.as_nanos())).unwrap_or(Timestamp::MAX),
            ),
        };
        self.store.insert(&stored).await?;
        self.cache.forget_refusal(&stored.hash);
        tracing::info!(
            key = stored.id,
            username = stored.username,
            subscription = stored.subscription,
            "key created"
        );
        Ok(Created { key, stored })
    }

    /// The name of the subscription a new key is bound to.
    fn bind(&self, caller: Caller<'_>, requested: &str) -> std::result::Result<String, SelectError> {
        let all = self.cluster.subscriptions();
        let chosen = match requested {
            "" => highest_priority(&all, caller)?,
            requested => select(&all, caller, requested, "")?,
        };
        Ok(chosen.name.clone())
    }

    /// The key of that id.
    pub async fn get(&self, id: &str) -> Result<Option<KeyRecord>> {
        if id.contains('\0') {
            return Ok(None); // no database stores that
        }
        self.store.get(id).await
    }

    /// A page of keys, and whether there are more.
    pub async fn search(&self, search: &Search) -> Result<(Vec<KeyRecord>, bool)> {
        let mut found = self.store.search(search).await?;
        let more = found.len() > search.limit as usize;
        found.truncate(search.limit as usize);
        Ok((found, more))
    }

    /// Revokes one key. Once it returns, this process calls it valid no more. False if there was nothing to revoke.
    pub async fn revoke(&self, id: &str) -> Result<bool> {
        let revoked = self.store.revoke(id).await;
        // Also after a failure: it may have happened all the same.
        self.cache.forget_key(id);
        if matches!(revoked, Ok(true)) {
            tracing::info!(key = id, "key revoked");
        }
        revoked
    }

    /// Revokes all keys of a user, and says how many.
    pub async fn revoke_all(&self, username: &str) -> Result<u64> {
        let revoked = self.store.revoke_all(username).await;
        self.cache.forget_user(username);
        if let Ok(count) = revoked {
            tracing::info!(username, count, "all keys of a user revoked");
        }
        revoked
    }

    /// Deletes ephemeral keys that expired a while ago, and says how many.
    pub async fn cleanup(&self) -> Result<u64> {
        self.store.delete_expired_ephemeral().await
    }
}

fn check_texts(wish: &CreateKey) -> std::result::Result<(), CreateError> {
    if wish.name.is_empty() && !wish.ephemeral {
        return Err(CreateError::NameRequired);
    }
    for (field, text, most) in
        [("name", &wish.name, LONGEST_NAME), ("description", &wish.description, LONGEST_DESCRIPTION)]
    {
        if text.chars().nth(most).is_some() {
            return Err(CreateError::TooLong { field, most });
        }
        if text.contains('\0') {
            return Err(CreateError::Nul(field));
        }
    }
    Ok(())
}

/// To the microsecond, as databases keep it; what is answered is what will be read.
fn micros(time: Timestamp) -> Timestamp {
    time.round(Unit::Microsecond).unwrap_or(time)
}
