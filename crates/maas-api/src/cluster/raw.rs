//! Objects of a kind whose fields may be anything.

use std::{borrow::Cow, fmt, marker::PhantomData};

use kube::{Resource, core::ObjectMeta};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An object that has its place in the API from `K` but not its fields: one object that does not fit the type must
/// not fail the list of all.
#[derive(Deserialize, Serialize)]
#[serde(bound = "")]
pub(super) struct Raw<K> {
    pub(super) metadata: ObjectMeta,
    #[serde(default)]
    pub(super) spec: Value,
    #[serde(default)]
    pub(super) status: Value,
    #[serde(skip)]
    kind: PhantomData<fn() -> K>,
}

impl<K> Clone for Raw<K> {
    fn clone(&self) -> Self {
        Self {
            metadata: self.metadata.clone(),
            spec: self.spec.clone(),
            status: self.status.clone(),
            kind: PhantomData,
        }
    }
}

impl<K> fmt::Debug for Raw<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Raw").field("metadata", &self.metadata).finish_non_exhaustive()
    }
}

impl<K: Resource<DynamicType = ()>> Resource for Raw<K> {
    type DynamicType = ();
    type Scope = K::Scope;

    fn kind(_: &()) -> Cow<'_, str> {
        K::kind(&())
    }

    fn group(_: &()) -> Cow<'_, str> {
        K::group(&())
    }

    fn version(_: &()) -> Cow<'_, str> {
        K::version(&())
    }

    fn plural(_: &()) -> Cow<'_, str> {
        K::plural(&())
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}
