//! One request on its way through the chain.

use bytes::Bytes;

use crate::headers::Headers;
use crate::json::{Object, ParseError};

/// A request as the plugins see it: headers, body, and what earlier plugins found out.
#[derive(Debug)]
pub struct Exchange {
    /// The headers, pseudo headers included.
    pub headers: Headers,
    /// The body, if it is a JSON object; else why it is not.
    pub body: Result<Object, ParseError>,
    /// The bytes the body was read from.
    received: Bytes,
    /// What the chain found out, kept until the response has been processed.
    pub cycle: Cycle,
}

impl Exchange {
    /// A request whose body has arrived completely.
    pub fn new(headers: Headers, received: Bytes) -> Exchange {
        Exchange { body: Object::parse(&received), headers, received, cycle: Cycle::default() }
    }

    /// The body as a new text, if a plugin changed it.
    pub fn changed_body(&self) -> Option<Bytes> {
        self.body.as_ref().ok().filter(|body| !body.is_unchanged()).map(Object::to_text)
    }

    /// The bytes as received.
    pub fn received(&self) -> &Bytes {
        &self.received
    }

    /// A top-level string of the body.
    pub fn body_text(&self, field: &str) -> Option<String> {
        self.body.as_ref().ok()?.text_of(field)
    }
}

/// What the chain knows of one HTTP request, from the first plugin to the end of the response.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cycle {
    /// Set when the request is for an external model.
    pub external: Option<External>,
    /// The client asked for a usage chunk at the end of the stream.
    pub include_usage: bool,
}

/// The external model a request was resolved to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct External {
    /// `spec.provider`: selects translator and credential header.
    pub provider: String,
    /// `spec.targetModel`.
    pub model: String,
    /// Name of the Secret with the provider's key.
    pub credential_name: String,
    /// Its namespace: the ExternalModel's own, never one that the request names.
    pub credential_namespace: String,
}
