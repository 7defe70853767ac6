//! Azure OpenAI: OpenAI's API plus content filter results, which OpenAI clients do not know.

use super::{Passthrough, Provider};

/// The translator for `azure-openai`.
pub fn provider() -> Provider {
    Provider::Passthrough(Passthrough {
        path: "/openai/v1/chat/completions".into(),
        sets_content_type: true,
        requires_messages: false,
        strip: &["prompt_filter_results", "choices[].content_filter_results"],
    })
}
