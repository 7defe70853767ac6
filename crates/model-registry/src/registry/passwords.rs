//! Passwords that do not fit into a URL.
//!
//! The kubelet puts a PostgreSQL password into the server's URL as it is. One that the URL cannot carry has never worked
//! there, so that such a server may be told it in another way without anybody's pods being restarted in vain. Of the
//! password nothing is kept but whether it fits; and whoever may name a Secret in a registry can read it anyway, in the
//! registry's own pod.

use std::collections::HashMap;

use k8s_openapi::api::core::v1::Secret;
use kube::{Api, ResourceExt};
use parking_lot::Mutex;
use quintet_api::model_registry::KeyRef;
use quintet_kit::{Hubs, Meta, ObjectKey};

/// Secrets whose passwords are remembered to fit or not; more are read again.
const KEPT: usize = 1024;

/// Which passwords fit into a URL.
#[derive(Debug, Default)]
pub(super) struct Passwords(Mutex<HashMap<(ObjectKey, String), Known>>);

/// What is known of a password, and from which version of its Secret. None is a Secret that the caches do not show.
#[derive(Debug)]
struct Known {
    version: Option<String>,
    fits: bool,
}

impl Passwords {
    /// True if the URL can carry the password. One that is not there yet may.
    pub(super) async fn fits(&self, hubs: &Hubs, namespace: &str, key: &KeyRef) -> kube::Result<bool> {
        let secret = ObjectKey::namespaced(namespace, &key.name);
        let version = hubs.get::<Meta<Secret>>(&secret).and_then(|secret| secret.resource_version());
        let entry = (secret, key.key.clone());
        if let Some(known) = self.0.lock().get(&entry).filter(|known| known.version == version) {
            return Ok(known.fits);
        }
        let api: Api<Secret> = Api::namespaced(hubs.client().clone(), namespace);
        let found = api.get_opt(&key.name).await?;
        let fits = found.is_none_or(|secret| fits_in(&secret, &key.key));
        let mut known = self.0.lock();
        if known.len() >= KEPT {
            known.clear();
        }
        known.insert(entry, Known { version, fits });
        Ok(fits)
    }
}

/// True if a URL can carry what the Secret holds under this key.
pub(crate) fn fits_in(secret: &Secret, key: &str) -> bool {
    let plain = secret.string_data.as_ref().and_then(|data| data.get(key)).map(String::as_bytes);
    let stored = || secret.data.as_ref().and_then(|data| data.get(key)).map(|value| value.0.as_slice());
    plain.or_else(stored).is_none_or(fits_url)
}

/// What Go's parser lets pass between `user:` and `@host`. What users percent-encoded, since it has to be, fits.
fn fits_url(password: &[u8]) -> bool {
    let is_allowed = |c: &u8| c.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(c);
    let is_escape = |rest: &[u8]| rest.len() >= 2 && rest[..2].iter().all(u8::is_ascii_hexdigit);
    password.iter().all(is_allowed)
        && password.iter().enumerate().all(|(at, &c)| c != b'%' || is_escape(&password[at + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_always_worked_fits_and_what_never_did_does_not() {
        for password in ["", "abc-DEF_123==", "p@ss:word", "a!$&'()*+,;=~.", "p%2Fw", "%41"] {
            assert!(fits_url(password.as_bytes()), "{password}");
        }
        for password in
            ["a/b", "a?b", "a#b", "a b", "100%", "%zz", "a%2", "ä", "[x]", "\"", "a\nb", "\\", "^"]
        {
            assert!(!fits_url(password.as_bytes()), "{password}");
        }
    }
}
