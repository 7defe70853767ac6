//! What an ExternalModel means to request processing.

use kube::core::DynamicObject;

use super::Reading;
use crate::stores::{Key, Model};

/// Read without its schema: one that is missing a field is an entry with an empty one, not a watch that fails.
pub(super) fn read(_: &Key, object: &DynamicObject) -> Reading<Model> {
    let spec = &object.data["spec"];
    let text = |pointer: &str| spec.pointer(pointer).and_then(|v| v.as_str()).unwrap_or_default().to_owned();
    Ok(Some(Model {
        provider: text("/provider"),
        target_model: text("/targetModel"),
        endpoint: text("/endpoint"),
        credential: text("/credentialRef/name"),
        created: object.metadata.creation_timestamp.as_ref().map_or(0, |time| time.0.as_second()),
    }))
}
