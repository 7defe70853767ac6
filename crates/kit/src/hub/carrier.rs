//! How an object comes off the wire.

use crate::kind::Kind;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use kube::core::DynamicResourceScope;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use std::borrow::Cow;

/// An object as it came, which its type may not be able to hold: one stored before the schema had its rules must not
/// stop the list of all others. Its scope is decided at run time, as one hub type serves both.
#[derive(Clone, Debug)]
pub(super) enum Carrier<K> {
    Good(K),
    Bad { metadata: Box<ObjectMeta>, error: String },
}

impl<K: Kind> Carrier<K> {
    /// The object.
    pub(super) fn into_object(self) -> kube::Result<K> {
        match self {
            Carrier::Good(object) => Ok(object),
            Carrier::Bad { error, .. } => Err(kube::Error::SerdeError(serde::de::Error::custom(error))),
        }
    }
}

impl<'de, K: Kind> Deserialize<'de> for Carrier<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        match K::deserialize(&value) {
            Ok(object) => Ok(Carrier::Good(object)),
            Err(error) => {
                let metadata = value.get("metadata").map(ObjectMeta::deserialize).transpose();
                let metadata = metadata.map_err(serde::de::Error::custom)?.unwrap_or_default();
                Ok(Carrier::Bad { metadata: Box::new(metadata), error: error.to_string() })
            }
        }
    }
}

impl<K: Kind> Resource for Carrier<K> {
    type DynamicType = ();
    type Scope = DynamicResourceScope;

    fn kind((): &()) -> Cow<'_, str> {
        K::kind(&())
    }
    fn group((): &()) -> Cow<'_, str> {
        K::group(&())
    }
    fn version((): &()) -> Cow<'_, str> {
        K::version(&())
    }
    fn plural((): &()) -> Cow<'_, str> {
        K::plural(&())
    }
    fn metadata_api() -> bool {
        K::metadata_api()
    }
    fn meta(&self) -> &ObjectMeta {
        match self {
            Carrier::Good(object) => object.meta(),
            Carrier::Bad { metadata, .. } => metadata,
        }
    }
    fn meta_mut(&mut self) -> &mut ObjectMeta {
        match self {
            Carrier::Good(object) => object.meta_mut(),
            Carrier::Bad { metadata, .. } => metadata,
        }
    }
}
