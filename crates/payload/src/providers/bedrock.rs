//! Amazon Bedrock's OpenAI-compatible endpoint (`bedrock-mantle.<region>.api.aws`). Native Bedrock (SigV4, Converse) is
//! not offered.

use super::{Passthrough, Provider};

/// The translator for `bedrock-openai`.
pub fn provider() -> Provider {
    Provider::Passthrough(Passthrough {
        path: "/v1/chat/completions".into(),
        sets_content_type: true,
        requires_messages: true,
        strip: &[],
    })
}
