//! Providers that speak OpenAI's API: the path changes, the body does not.

use crate::exchange::Exchange;
use crate::failure::Failure;
use crate::json::{Kind, Object, Raw};

use super::strip;

/// How one OpenAI-shaped provider differs.
#[derive(Debug, Clone)]
pub struct Passthrough {
    /// The path requests are sent to.
    pub path: String,
    /// Sets `content-type: application/json`.
    pub sets_content_type: bool,
    /// Refuses requests without messages before the provider does.
    pub requires_messages: bool,
    /// What is taken out of every answer: paths as in [`strip()`].
    pub strip: &'static [&'static str],
}

impl Passthrough {
    pub(super) fn request(&self, exchange: &mut Exchange) -> Result<(), Failure> {
        let body = exchange
            .body
            .as_ref()
            .map_err(|e| Failure::bad_request(format!("failed to parse request body: {e}")))?;
        if body.text_of("model").is_none_or(|model| model.is_empty()) {
            return Err(Failure::bad_request("model field is required"));
        }
        if self.requires_messages && !body.get("messages").is_some_and(is_filled_array) {
            return Err(Failure::bad_request("messages field is required and must not be empty"));
        }
        exchange.headers.set(":path", self.path.clone());
        if self.sets_content_type {
            exchange.headers.set("content-type", "application/json");
        }
        Ok(())
    }

    pub(super) fn response(&self, body: &Object) -> Option<Object> {
        let mut body = body.clone();
        let mut changed = false;
        for path in self.strip {
            changed |= strip(&mut body, path);
        }
        changed.then_some(body)
    }
}

fn is_filled_array(value: &Raw) -> bool {
    value.kind() == Kind::Array && value.text()[1..].iter().find(|b| !b.is_ascii_whitespace()) != Some(&b']')
}
