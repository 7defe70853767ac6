//! Anthropic's Messages API, spoken to clients of OpenAI's Chat Completions.

mod content;
mod error;
mod messages;
mod request;
mod response;
mod stream;
mod tools;
mod usage;

pub use request::request;
pub use response::response;
pub use stream::Stream;

/// The path requests are sent to.
pub const PATH: &str = "/v1/messages";

/// The API version we speak.
pub const VERSION: &str = "2023-06-01";

/// `max_tokens` when the client names none; Anthropic insists on one.
pub const DEFAULT_MAX_TOKENS: i64 = 4096;

/// OpenAI's `finish_reason` for Anthropic's `stop_reason`.
fn finish_reason(stop_reason: Option<&str>) -> &'static str {
    match stop_reason {
        Some("max_tokens" | "model_context_window_exceeded") => "length",
        Some("tool_use") => "tool_calls",
        Some("refusal") => "content_filter",
        _ => "stop",
    }
}
