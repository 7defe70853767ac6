//! Calling webhooks: admission and conversion share how a `clientConfig` is reached and how failures read.
//!
//! There is no Service network, so references to Services are resolved from a table that whoever runs the plane
//! fills: an address, or a router in this very process.

mod backends;
mod call;
mod tls;

pub use backends::{Backend, Backends};
pub use call::{CallError, Caller};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use crate::server::json;

/// How a webhook is reached.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientConfig {
    url: Option<String>,
    service: Option<ServiceReference>,
    ca_bundle: Option<String>,
}

/// A Service, a path and a port.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct ServiceReference {
    namespace: String,
    name: String,
    path: Option<String>,
    port: Option<u16>,
}

impl ClientConfig {
    /// The URL called, with the timeout that the webhook should keep to.
    pub fn url(&self, timeout_seconds: u64) -> String {
        let base = match (&self.url, &self.service) {
            (Some(url), _) => url.clone(),
            (None, Some(s)) => {
                let path = s.path.as_deref().unwrap_or_default();
                let slash = if path.is_empty() || path.starts_with('/') { "" } else { "/" };
                format!("https://{}.{}.svc:{}{slash}{path}", s.name, s.namespace, s.port.unwrap_or(443))
            }
            (None, None) => String::new(),
        };
        let mark = if base.contains('?') { '&' } else { '?' };
        format!("{base}{mark}timeout={timeout_seconds}s")
    }

    /// The Service referred to: namespace, name and port.
    pub fn service(&self) -> Option<(&str, &str, u16)> {
        let service = self.service.as_ref().filter(|_| self.url.is_none())?;
        Some((&service.namespace, &service.name, service.port.unwrap_or(443)))
    }

    /// The PEM certificates to trust.
    fn ca_bundle(&self) -> Vec<u8> {
        self.ca_bundle.as_deref().and_then(|text| STANDARD.decode(text).ok()).unwrap_or_default()
    }
}

/// What the real server says of an answer that it cannot read. It takes YAML too, so that mere words are a string to it.
pub(crate) fn unreadable(body: &[u8]) -> String {
    let is_json =
        body.iter().find(|byte| !byte.is_ascii_whitespace()).is_some_and(|byte| b"{[".contains(byte));
    let why = match json::parse(body) {
        Err(why) if is_json => why,
        _ => r#"json: cannot unmarshal string into Go value of type struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#.into(),
    };
    format!("couldn't get version/kind; json parse error: {why}")
}

#[cfg(test)]
mod tests;
