//! Continue tokens: where a list in pages goes on, and at which revision.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

use crate::status::{Error, Result};

const VERSION: &str = "meta.k8s.io/v1";

#[derive(Serialize, Deserialize)]
struct Token {
    #[serde(rename = "v")]
    version: String,
    #[serde(default)]
    rv: i64,
    #[serde(default)]
    start: String,
}

/// A place in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Continuation {
    /// The revision of the first page; `None` to go on with the latest state.
    pub(super) revision: Option<u64>,
    /// The key to start from, below the resource (and the namespace, if the list is of one).
    pub(super) start: String,
}

impl Continuation {
    pub(super) fn encode(&self) -> String {
        let token = Token {
            version: VERSION.into(),
            rv: self.revision.map_or(-1, |r| i64::try_from(r).unwrap_or(i64::MAX)),
            start: format!("/{}", self.start),
        };
        URL_SAFE_NO_PAD.encode(serde_json::to_vec(&token).unwrap_or_default())
    }

    pub(super) fn decode(text: &str) -> Result<Self> {
        let bad = |why: &str| Error::bad_request(format!("invalid continue token: {why}"));
        let bytes = URL_SAFE_NO_PAD
            .decode(text.trim_end_matches('='))
            .map_err(|error| bad(&format!("continue key is not valid: {error}")))?;
        crate::server::json::parse(&bytes)
            .map_err(|why| bad(&format!("continue key is not valid: {why}")))?;
        let token: Token = serde_json::from_slice(&bytes)
            .map_err(|error| bad(&format!("continue key is not valid: {error}")))?;
        if token.version != VERSION {
            return Err(bad(&format!("server does not recognize this encoded version {:?}", token.version)));
        }
        if token.rv == 0 {
            return Err(bad("incorrect encoded start resourceVersion (version meta.k8s.io/v1)"));
        }
        let start = token.start.strip_prefix('/').unwrap_or(&token.start);
        if start.is_empty() {
            return Err(bad("continue key is not valid: encoded start key empty (version meta.k8s.io/v1)"));
        }
        if start.split('/').any(|part| part == ".." || part == ".") {
            return Err(bad("continue key is not valid: encoded start key contains path elements"));
        }
        Ok(Self { revision: u64::try_from(token.rv).ok(), start: start.to_string() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_comes_back_as_it_went() {
        for revision in [Some(471), None] {
            let place = Continuation { revision, start: "ns/bad\0".into() };
            assert_eq!(Continuation::decode(&place.encode()).unwrap(), place);
        }
    }

    #[test]
    fn a_token_is_what_the_real_server_makes() {
        let text = Continuation { revision: Some(471), start: "bad\0".into() }.encode();
        let json = URL_SAFE_NO_PAD.decode(text).unwrap();
        assert_eq!(json, br#"{"v":"meta.k8s.io/v1","rv":471,"start":"/bad\u0000"}"#);
    }

    #[test]
    fn nonsense_is_refused() {
        for bad in ["???", "e30", &URL_SAFE_NO_PAD.encode(r#"{"v":"meta.k8s.io/v1","rv":0,"start":"/x"}"#)] {
            assert_eq!(Continuation::decode(bad).unwrap_err().code, 400, "{bad}");
        }
    }
}
