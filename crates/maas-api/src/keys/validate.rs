//! Whether a key is valid, and whose it is: asked on every inference request.

use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::{KeyHash, Keys};
use crate::{
    cache::{CachedKey, LookupError, Refusal},
    reply::encode,
    store::{FoundKey, Status},
};

/// There is no answer: the database failed, or holds something unreadable.
#[derive(Debug, thiserror::Error)]
pub enum ValidateError {
    /// The lookup failed.
    #[error(transparent)]
    Lookup(#[from] LookupError),
    /// A row that this program did not write.
    #[error("key id {0:?} is not a UUID")]
    BadId(String),
}

/// The answer to a validation, as JSON.
#[derive(Clone, Debug)]
pub struct Verdict(Bytes);

impl Verdict {
    /// The JSON.
    pub fn into_json(self) -> Bytes {
        self.0
    }

    const fn refusal(json: &'static str) -> Self {
        Self(Bytes::from_static(json.as_bytes()))
    }
}

/// The answer about a valid key.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ValidKey<'a> {
    /// True.
    valid: bool,
    /// The key's id: there is no other id of a user.
    user_id: &'a str,
    /// The owner's name.
    username: &'a str,
    /// The key's id.
    key_id: &'a str,
    /// The owner's groups when the key was made.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    groups: &'a [String],
    /// The subscription the key is bound to.
    subscription: &'a str,
}

const BAD_FORMAT: Verdict = Verdict::refusal(r#"{"valid":false,"reason":"invalid key format"}"#);
const NOT_FOUND: Verdict = Verdict::refusal(r#"{"valid":false,"reason":"key not found"}"#);
const DEAD: Verdict = Verdict::refusal(r#"{"valid":false,"reason":"key revoked or expired"}"#);
const UNBOUND: Verdict = Verdict::refusal(r#"{"valid":false,"reason":"key has no subscription bound"}"#);

impl From<Refusal> for Verdict {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::NotFound => NOT_FOUND,
            Refusal::RevokedOrExpired => DEAD,
        }
    }
}

impl Keys {
    /// Validates a key.
    pub async fn validate(&self, key: &str) -> Result<Verdict, ValidateError> {
        let Some(hash) = KeyHash::of(key) else { return Ok(BAD_FORMAT) };
        if let Some(known) = self.cache.key(&hash) {
            self.metrics.validation_hits.inc();
            return Ok(self.answer(hash, &known).await);
        }
        if let Some(refusal) = self.cache.refusal(&hash) {
            self.metrics.validation_hits.inc();
            return Ok(refusal.into());
        }
        self.metrics.validation_misses.inc();
        let ticket = self.cache.ticket();
        let known = match self.lookups.find(hash).await? {
            None => return Ok(self.refuse(hash, Refusal::NotFound)),
            Some(found) if found.status != Status::Active => {
                return Ok(self.refuse(hash, Refusal::RevokedOrExpired));
            }
            Some(found) => Arc::new(known(&found)?),
        };
        self.cache.keep(hash, known.clone(), ticket);
        Ok(self.answer(hash, &known).await)
    }

    async fn answer(&self, hash: KeyHash, key: &CachedKey) -> Verdict {
        let now = self.clock.now();
        if key.is_expired(now) {
            // Best effort: whoever reads the row knows that it is expired anyway.
            if let Err(error) = self.store.expire(&key.id.to_string()).await {
                tracing::warn!(%error, key = %key.id, "not marked as expired");
            }
            return self.refuse(hash, Refusal::RevokedOrExpired);
        }
        if key.should_note(now) {
            self.last_used.note(key.id, now);
        }
        Verdict(key.answer.clone())
    }

    fn refuse(&self, hash: KeyHash, refusal: Refusal) -> Verdict {
        self.cache.refuse(hash, refusal);
        refusal.into()
    }
}

fn known(found: &FoundKey) -> Result<CachedKey, ValidateError> {
    let id = Uuid::parse_str(&found.id).map_err(|_| ValidateError::BadId(found.id.clone()))?;
    let answer = if found.subscription.trim().is_empty() {
        UNBOUND.into_json()
    } else {
        encode(&ValidKey {
            valid: true,
            user_id: &found.id,
            username: &found.username,
            key_id: &found.id,
            groups: &found.groups,
            subscription: &found.subscription,
        })
    };
    Ok(CachedKey::new(id, &found.username, found.expires_at, found.last_used_at, answer))
}
