//! Writes a status when it differs.

use super::difference::difference;
use crate::error::{Failure, Retry, is_not_found, retry_of};
use crate::fence::{Closed, Fence};
use crate::hub::version;
use crate::key::ObjectKey;
use crate::kind::Kind;
use crate::metrics::{Metrics, WriteOutcome};
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::{Client, ResourceExt};
use parking_lot::Mutex;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;
use tokio::time::Instant;

/// What is not asked about for this long is forgotten.
const FORGET: Duration = Duration::from_secs(60);

/// Why a status was not written.
#[derive(Debug, Error)]
pub enum StatusError {
    /// The server refused, or could not be asked.
    #[error("writing status: {0}")]
    Api(#[from] kube::Error),
    /// The right to write was lost.
    #[error(transparent)]
    Closed(#[from] Closed),
}

impl Failure for StatusError {
    fn reason(&self) -> &'static str {
        match self {
            StatusError::Api(_) => "StatusWriteFailed",
            StatusError::Closed(_) => "NotLeading",
        }
    }
    fn retry(&self) -> Retry {
        match self {
            StatusError::Api(error) => retry_of(error),
            StatusError::Closed(_) => Retry::Backoff,
        }
    }
}

/// Writes a status when it differs: a merge patch of the difference only, bound to the version it was computed from.
/// It remembers what it wrote, so that a cache lagging behind makes it neither skip nor repeat a write.
#[derive(Clone)]
pub struct StatusWriter(Arc<Inner>);

impl std::fmt::Debug for StatusWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "StatusWriter({})", self.0.controller)
    }
}

struct Inner {
    controller: String,
    client: Client,
    manager: &'static str,
    fence: Fence,
    metrics: Metrics,
    wrote: Mutex<HashMap<String, Wrote>>,
}

#[derive(Clone, Debug)]
struct Wrote {
    resource_version: String,
    status: Value,
    at: Instant,
}

impl StatusWriter {
    /// A writer that remembers nothing yet.
    #[must_use]
    pub fn new(
        controller: &str,
        client: Client,
        manager: &'static str,
        fence: Fence,
        metrics: Metrics,
    ) -> Self {
        let controller = controller.to_owned();
        StatusWriter(Arc::new(Inner { controller, client, manager, fence, metrics, wrote: Mutex::default() }))
    }

    /// The status to compute the next one from: the object's own, or what was written since, if the cache does not show it
    /// yet. Conditions computed from the older one would get a new transition time at every look.
    #[must_use]
    pub fn latest<K: Kind, S: DeserializeOwned>(&self, object: &K, own: Option<S>) -> Option<S> {
        let seen = version(object.resource_version().as_deref());
        let wrote = self.wrote(&object.uid().unwrap_or_default());
        let newer = wrote.filter(|wrote| version(Some(&wrote.resource_version)) > seen);
        newer.and_then(|wrote| serde_json::from_value(wrote.status).ok()).or(own)
    }

    /// Writes `new` if it differs from the object's status `old`; both as they were computed from `object`. True if it
    /// was sent. An object that is gone needs no status.
    ///
    /// # Errors
    /// If the server refuses; a conflict means that the object changed, and the status must be computed anew.
    pub async fn write<K: Kind, S: Serialize>(
        &self,
        object: &K,
        old: Option<&S>,
        new: &S,
    ) -> Result<bool, StatusError> {
        let result = self.send(object, old, new).await;
        let outcome = match &result {
            Ok(true) => WriteOutcome::Sent,
            Ok(false) => WriteOutcome::Skipped,
            Err(_) => WriteOutcome::Failed,
        };
        self.0.metrics.write(&self.0.controller, &K::gvk(), "Status", outcome);
        result
    }

    async fn send<K: Kind, S: Serialize>(
        &self,
        object: &K,
        old: Option<&S>,
        new: &S,
    ) -> Result<bool, StatusError> {
        let uid = object.uid().unwrap_or_default();
        let new = serde_json::to_value(new).map_err(kube::Error::SerdeError)?;
        let mut base = match old {
            Some(old) => serde_json::to_value(old).map_err(kube::Error::SerdeError)?,
            None => json!({}),
        };
        let mut resource_version = object.resource_version();
        if let Some(wrote) = self.wrote(&uid)
            && version(Some(&wrote.resource_version)) > version(resource_version.as_deref())
        {
            (base, resource_version) = (wrote.status, Some(wrote.resource_version));
        }
        let Some(patch) = difference(&base, &new) else { return Ok(false) };
        let body =
            json!({ "metadata": { "uid": uid, "resourceVersion": resource_version }, "status": patch });
        let (key, params) = (
            ObjectKey::of(object),
            PatchParams { field_manager: Some(self.0.manager.into()), ..PatchParams::default() },
        );
        let api = self.api::<K>(&key);
        match self.0.fence.guard(api.patch_status(&key.name, &params, &Patch::Merge(body))).await? {
            Ok(answer) => {
                let resource_version = answer.resource_version().unwrap_or_default();
                self.0.wrote.lock().insert(uid, Wrote { resource_version, status: new, at: Instant::now() });
                Ok(true)
            }
            Err(error) if is_not_found(&error) => Ok(false),
            Err(error) => {
                self.0.wrote.lock().remove(&uid);
                Err(error.into())
            }
        }
    }

    /// What was written last, if the cache may not show it yet.
    fn wrote(&self, uid: &str) -> Option<Wrote> {
        let mut wrote = self.0.wrote.lock();
        wrote.retain(|_, wrote| wrote.at.elapsed() < FORGET);
        wrote.get(uid).cloned()
    }

    fn api<K: Kind>(&self, key: &ObjectKey) -> Api<DynamicObject> {
        let (client, resource) = (self.0.client.clone(), K::api_resource());
        match &key.namespace {
            Some(namespace) => Api::namespaced_with(client, namespace, &resource),
            None => Api::all_with(client, &resource),
        }
    }
}
