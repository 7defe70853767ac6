//! Finalizers: only for what lies outside the cluster and must be undone before an object may go.

use crate::error::is_not_found;
use crate::fence::{Closed, Fence};
use crate::key::ObjectKey;
use crate::kind::Kind;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::{Client, ResourceExt};
use serde_json::json;
use thiserror::Error;

/// Why a finalizer could not be set or removed.
#[derive(Debug, Error)]
pub enum FinalizerError {
    /// The server refused, or could not be asked.
    #[error("changing finalizers: {0}")]
    Api(#[from] kube::Error),
    /// The right to write was lost.
    #[error(transparent)]
    Closed(#[from] Closed),
}

impl crate::error::Failure for FinalizerError {
    fn reason(&self) -> &'static str {
        match self {
            FinalizerError::Api(_) => "FinalizerFailed",
            FinalizerError::Closed(_) => "NotLeading",
        }
    }
    fn retry(&self) -> crate::error::Retry {
        match self {
            FinalizerError::Api(error) => crate::error::retry_of(error),
            FinalizerError::Closed(_) => crate::error::Retry::Backoff,
        }
    }
}

/// Where an object stands with one finalizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It has the finalizer, or must get it: carry on, after [`Finalizer::add`].
    Live {
        /// It has the finalizer already.
        held: bool,
    },
    /// It is to be deleted and waits for us: clean up, then [`Finalizer::remove`].
    CleanUp,
    /// It is to be deleted and does not wait for us: nothing to do.
    Leaving,
}

/// Sets and removes one finalizer.
#[derive(Clone)]
pub struct Finalizer {
    client: Client,
    fence: Fence,
    manager: &'static str,
    name: &'static str,
}

impl std::fmt::Debug for Finalizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Finalizer({})", self.name)
    }
}

impl Finalizer {
    /// The finalizer of this name.
    #[must_use]
    pub fn new(client: Client, fence: Fence, manager: &'static str, name: &'static str) -> Self {
        Finalizer { client, fence, manager, name }
    }

    /// Where the object stands. Deletion comes first: an object that is going gets no new finalizer.
    #[must_use]
    pub fn stage<K: Kind>(&self, object: &K) -> Stage {
        let held = object.finalizers().iter().any(|name| name == self.name);
        match (object.meta().deletion_timestamp.is_some(), held) {
            (false, held) => Stage::Live { held },
            (true, true) => Stage::CleanUp,
            (true, false) => Stage::Leaving,
        }
    }

    /// Adds the finalizer, unless it is there.
    ///
    /// # Errors
    /// If the server refuses; a conflict means that the object changed.
    pub async fn add<K: Kind>(&self, object: &K) -> Result<(), FinalizerError> {
        if object.finalizers().iter().any(|name| name == self.name) {
            return Ok(());
        }
        let mut all = object.finalizers().to_vec();
        all.push(self.name.to_owned());
        self.set(object, &all).await
    }

    /// Removes the finalizer, and with it the last reason of ours for the object to stay.
    ///
    /// # Errors
    /// If the server refuses; a conflict means that the object changed.
    pub async fn remove<K: Kind>(&self, object: &K) -> Result<(), FinalizerError> {
        let all: Vec<_> = object.finalizers().iter().filter(|name| *name != self.name).cloned().collect();
        if all.len() == object.finalizers().len() {
            return Ok(());
        }
        match self.set(object, &all).await {
            Err(FinalizerError::Api(error)) if is_not_found(&error) => Ok(()),
            result => result,
        }
    }

    async fn set<K: Kind>(&self, object: &K, all: &[String]) -> Result<(), FinalizerError> {
        let key = ObjectKey::of(object);
        let resource = K::api_resource();
        let api: Api<DynamicObject> = match &key.namespace {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &resource),
            None => Api::all_with(self.client.clone(), &resource),
        };
        let patch = json!({ "metadata": {
            "uid": object.uid(), "resourceVersion": object.resource_version(), "finalizers": all } });
        let params = PatchParams { field_manager: Some(self.manager.into()), ..PatchParams::default() };
        self.fence.guard(api.patch(&key.name, &params, &Patch::Merge(patch))).await??;
        Ok(())
    }
}
