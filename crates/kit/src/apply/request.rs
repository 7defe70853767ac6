//! The writes themselves: each asks the fence first, and none keeps an object's type, so that fields unknown to us
//! survive.

use super::error::ApplyError;
use crate::error::{is_not_found, says_not_found};
use crate::fence::Fence;
use crate::key::ObjectKey;
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams, PostParams, Preconditions};
use kube::discovery::ApiResource;
use kube::{Client, core::Status};
use serde::Serialize;
use std::fmt::Debug;

/// One object to be read and written.
pub(super) struct Target<'a> {
    pub(super) client: &'a Client,
    pub(super) fence: &'a Fence,
    pub(super) manager: &'a str,
    pub(super) resource: ApiResource,
    pub(super) key: &'a ObjectKey,
}

impl Target<'_> {
    fn api(&self) -> Api<DynamicObject> {
        match &self.key.namespace {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &self.resource),
            None => Api::all_with(self.client.clone(), &self.resource),
        }
    }

    pub(super) fn error(&self, source: kube::Error) -> ApplyError {
        ApplyError::Api { kind: self.resource.kind.clone(), key: self.key.clone(), source: Box::new(source) }
    }

    async fn write<T>(&self, request: impl Future<Output = kube::Result<T>>) -> Result<T, ApplyError> {
        self.fence.guard(request).await?.map_err(|error| self.error(error))
    }

    pub(super) async fn get(&self) -> Result<Option<DynamicObject>, ApplyError> {
        match self.api().get(&self.key.name).await {
            Ok(object) => Ok(Some(object)),
            Err(error) if is_not_found(&error) => Ok(None), // nor is it there if its kind is not served
            Err(error) => Err(self.error(error)),
        }
    }

    pub(super) async fn apply(&self, intent: &(impl Serialize + Debug)) -> Result<DynamicObject, ApplyError> {
        let params = PatchParams::apply(self.manager).force();
        self.write(self.api().patch(&self.key.name, &params, &Patch::Apply(intent))).await
    }

    pub(super) async fn merge(&self, patch: &(impl Serialize + Debug)) -> Result<DynamicObject, ApplyError> {
        let params = PatchParams { field_manager: Some(self.manager.into()), ..PatchParams::default() };
        self.write(self.api().patch(&self.key.name, &params, &Patch::Merge(patch))).await
    }

    pub(super) async fn create(&self, object: &DynamicObject) -> Result<DynamicObject, ApplyError> {
        self.write(self.api().create(&self.posting(), object)).await
    }

    pub(super) async fn replace(&self, object: &DynamicObject) -> Result<DynamicObject, ApplyError> {
        self.write(self.api().replace(&self.key.name, &self.posting(), object)).await
    }

    fn posting(&self) -> PostParams {
        PostParams { field_manager: Some(self.manager.into()), ..PostParams::default() }
    }

    /// Deletes the object if it still has this uid. One that is gone already counts as deleted.
    pub(super) async fn delete(&self, uid: Option<&str>) -> Result<bool, ApplyError> {
        let mut params = DeleteParams::background();
        if let Some(uid) = uid {
            params = params.preconditions(Preconditions { uid: Some(uid.into()), resource_version: None });
        }
        match self.write(self.api().delete(&self.key.name, &params)).await {
            Ok(_) => Ok(true),
            Err(error) if status(&error).is_some_and(says_not_found) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// What the server said, if it said something.
pub(super) fn status(error: &ApplyError) -> Option<&Status> {
    match error {
        ApplyError::Api { source, .. } => match &**source {
            kube::Error::Api(status) => Some(status),
            _ => None,
        },
        _ => None,
    }
}

/// True if the server refused a change because a field may never change.
pub(super) fn is_immutable(error: &ApplyError) -> bool {
    const WORDS: [&str; 4] = [
        "is immutable",
        "cannot change roleRef",
        "updates to statefulset spec for fields other than",
        "may not be changed",
    ];
    status(error).is_some_and(|status| {
        (status.code == 422 || status.is_invalid())
            && WORDS.iter().any(|words| status.message.contains(words))
    })
}

/// True if the server refused a Deployment's strategy because of what it had filled in for the one before: nobody owns
/// that, so no apply takes it away.
pub(super) fn is_other_strategy(error: &ApplyError) -> bool {
    let words = "spec.strategy.rollingUpdate: Forbidden";
    status(error).is_some_and(|status| status.is_invalid() && status.message.contains(words))
}
