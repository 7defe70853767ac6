//! The providers: what each wants to be sent, and how its answers become OpenAI's.
//!
//! | `spec.provider` | module | request | response |
//! |---|---|---|---|
//! | `openai` | [`openai`] | as sent | as received |
//! | `azure-openai` | [`azure`] | as sent | content filter results stripped |
//! | `bedrock-openai` | [`bedrock`] | as sent | as received |
//! | `vertex-openai` | [`vertex`] | as sent | `usage.extra_properties` stripped |
//! | `anthropic` | [`anthropic`] | translated | translated |

pub mod anthropic;
pub mod azure;
pub mod bedrock;
pub mod openai;
mod passthrough;
mod strip;
pub mod vertex;

pub use passthrough::Passthrough;
pub use strip::{StripStream, strip};

use bytes::Bytes;

use crate::exchange::{Cycle, Exchange};
use crate::failure::Failure;
use crate::json::Object;

/// A provider's translator.
#[derive(Debug, Clone)]
pub enum Provider {
    /// Speaks OpenAI's API, with small differences.
    Passthrough(Passthrough),
    /// Speaks Anthropic's Messages API.
    Anthropic,
}

/// Turns a provider's event stream into OpenAI's, chunk by chunk.
pub trait StreamTranslator: Send {
    /// Takes what arrived and gives what can be sent on.
    fn push(&mut self, chunk: &[u8]) -> Bytes;

    /// The provider's stream has ended: gives what is left.
    fn finish(&mut self) -> Bytes;
}

impl Provider {
    /// Sets path, headers and body for the provider.
    pub fn request(&self, exchange: &mut Exchange) -> Result<(), Failure> {
        match self {
            Provider::Passthrough(passthrough) => passthrough.request(exchange),
            Provider::Anthropic => anthropic::request(exchange),
        }
    }

    /// True if answers have to be read at all; if not, they go straight to the client.
    pub fn changes_responses(&self) -> bool {
        match self {
            Provider::Passthrough(passthrough) => !passthrough.strip.is_empty(),
            Provider::Anthropic => true,
        }
    }

    /// The answer in OpenAI's shape, or `None` if it is so already. `now` is in Unix seconds.
    pub fn response(&self, cycle: &Cycle, body: &Object, now: i64) -> Option<Object> {
        match self {
            Provider::Passthrough(passthrough) => passthrough.response(body),
            Provider::Anthropic => Some(anthropic::response(cycle, body, now)),
        }
    }

    /// The translator for an event stream.
    pub fn stream(&self, cycle: &Cycle, now: i64) -> Box<dyn StreamTranslator> {
        match self {
            Provider::Passthrough(passthrough) => Box::new(StripStream::new(passthrough.strip)),
            Provider::Anthropic => Box::new(anthropic::Stream::new(cycle, now)),
        }
    }
}
