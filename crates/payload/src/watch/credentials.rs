//! What a labelled Secret means to request processing.

use k8s_openapi::api::core::v1::Secret;

use super::Reading;
use crate::stores::{Credential, Key};

/// All its fields as text. A broken one is told once; the next edit tries again.
pub(super) fn read(key: &Key, secret: &Secret) -> Reading<Credential> {
    let data = secret.data.iter().flatten();
    let fields = data.map(|(field, value)| (field.clone(), String::from_utf8_lossy(&value.0).into_owned()));
    let (namespace, name) = key;
    Credential::new(key, fields)
        .map(Some)
        .map_err(|cause| format!("unable to add or update Secret {namespace}/{name}: {cause}"))
}
