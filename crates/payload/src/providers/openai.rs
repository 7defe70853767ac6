//! OpenAI itself.

use super::{Passthrough, Provider};

/// The translator for `openai`.
pub fn provider() -> Provider {
    Provider::Passthrough(Passthrough {
        path: "/v1/chat/completions".into(),
        sets_content_type: false,
        requires_messages: true,
        strip: &[],
    })
}
