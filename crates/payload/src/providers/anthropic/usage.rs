//! Token counts.

use crate::json::{Object, Raw};

/// Anthropic's counts, gathered from one answer or over a stream.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Usage {
    input: i64,
    output: i64,
    cached: Option<i64>,
}

impl Usage {
    /// Takes over the counts that `usage` names.
    pub(super) fn read(&mut self, usage: Option<&Raw>) {
        let Some(usage) = usage.and_then(Raw::as_object) else { return };
        let count = |field: &str| usage.get(field)?.as_number().map(|n| n as i64);
        self.input = count("input_tokens").unwrap_or(self.input);
        self.output = count("output_tokens").unwrap_or(self.output);
        self.cached = count("cache_read_input_tokens").or(self.cached);
    }

    /// The same in OpenAI's words.
    pub(super) fn to_openai(self) -> Object {
        let details = self.cached.map(|cached| Object::new().with("cached_tokens", cached));
        Object::new()
            .with("prompt_tokens", self.input)
            .with("completion_tokens", self.output)
            .with("total_tokens", self.input.saturating_add(self.output))
            .with_some("prompt_tokens_details", details)
    }
}
