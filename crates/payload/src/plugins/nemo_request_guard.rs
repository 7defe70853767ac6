//! `nemo-request-guard`: asks NeMo guardrails before a request goes on.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use serde::Deserialize;

use crate::config::PluginSpec;
use crate::exchange::Exchange;
use crate::failure::{Code, Failure};
use crate::json::{Object, Raw};

/// How long the guard may take unless configured.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(360);

/// How much of its answer is read.
const MAX_ANSWER: usize = 1024 * 1024;

/// Asks, and refuses what is not explicitly allowed.
#[derive(Debug)]
pub struct NemoRequestGuard {
    url: String,
    client: reqwest::Client,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Config {
    #[serde(rename = "nemoURL")]
    nemo_url: String,
    timeout_seconds: i64,
}

impl NemoRequestGuard {
    pub(super) fn new(spec: &PluginSpec) -> Result<Self, String> {
        let config: Config = spec.config().map_err(|e| {
            format!("failed to parse the parameters of the 'nemo-request-guard' plugin - {e}")
        })?;
        let failed = |cause: String| format!("failed to create 'nemo-request-guard' plugin - {cause}");
        if config.nemo_url.is_empty() {
            return Err(failed("nemoURL is required for plugin 'nemo-request-guard'".into()));
        }
        let timeout = u64::try_from(config.timeout_seconds).ok().filter(|s| *s > 0).map(Duration::from_secs);
        crate::tls::install_crypto();
        let client = reqwest::Client::builder()
            .timeout(timeout.unwrap_or(DEFAULT_TIMEOUT))
            .redirect(reqwest::redirect::Policy::none()) // what is checked stays with the guard that was configured
            .build()
            .map_err(|e| failed(e.to_string()))?;
        Ok(NemoRequestGuard { url: config.nemo_url, client })
    }

    pub(super) async fn request(&self, exchange: &Exchange) -> Result<(), Failure> {
        let Ok(body) = &exchange.body else { return Ok(()) }; // the chain refuses these when there is a guard
        let Some(question) = question(body)? else { return Ok(()) };
        let status = self.ask(question).await?;
        if status.trim().eq_ignore_ascii_case("success") {
            return Ok(());
        }
        Err(Failure::refused(Code::Forbidden, "request blocked by NeMo guardrails"))
    }

    /// Posts the question; gives the answer's `status`.
    async fn ask(&self, question: Bytes) -> Result<String, Failure> {
        let unavailable = |text: String| Failure::refused(Code::ServiceUnavailable, text);
        let request = self.client.post(&self.url).header("content-type", "application/json").body(question);
        let request =
            request.build().map_err(|e| Failure::internal(format!("create request: {}", cause(&e))))?;
        let response = self
            .client
            .execute(request)
            .await
            .map_err(|e| unavailable(format!("call failed: {}", cause(&e))))?;
        if response.status().as_u16() != 200 {
            return Err(unavailable(format!("unexpected status {}", response.status().as_u16())));
        }
        let (mut answer, mut chunks) = (BytesMut::new(), response.bytes_stream());
        while answer.len() < MAX_ANSWER
            && let Some(chunk) = chunks.next().await
        {
            answer
                .extend_from_slice(&chunk.map_err(|e| unavailable(format!("read response: {}", cause(&e))))?);
        }
        answer.truncate(MAX_ANSWER);
        let answer =
            Object::parse(&answer.freeze()).map_err(|e| unavailable(format!("decode response: {e}")))?;
        tracing::debug!(status = answer.text_of("status"), rails = ?rails(&answer), "NeMo guardrails answered");
        Ok(answer.text_of("status").unwrap_or_default())
    }
}

/// What went wrong, without the guard's address: that is none of the client's business.
fn cause(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "timeout".into();
    }
    let mut innermost: &dyn std::error::Error = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

/// The names of the rails in an answer.
fn rails(answer: &Object) -> Vec<String> {
    let rails = answer.get("rails_status").and_then(Raw::as_object).unwrap_or_default();
    rails.iter().map(|(name, _)| name.to_owned()).collect()
}

/// What to ask, or `None` if there is nothing to check.
fn question(body: &Object) -> Result<Option<Bytes>, Failure> {
    let messages = match body.get("messages") {
        Some(messages) => {
            let malformed = || Failure::bad_request("malformed request body: messages is not an array");
            chat(&messages.as_array().ok_or_else(malformed)?)
        }
        None if body.get("jsonrpc").is_some() => tool_arguments(body),
        None => vec![],
    };
    if messages.is_empty() {
        return Ok(None);
    }
    let messages: Vec<Raw> = messages
        .into_iter()
        .map(|(role, content)| Object::new().with("role", role).with("content", content).into())
        .collect();
    let model = body.text_of("model").unwrap_or_default();
    Ok(Some(Object::new().with("model", model).with("messages", messages).into_text()))
}

/// The last user message, or all if there is none.
fn chat(messages: &[Raw]) -> Vec<(String, String)> {
    let all: Vec<(String, String)> = messages
        .iter()
        .filter_map(Raw::as_object)
        .map(|message| (message.text_of("role").unwrap_or_default(), text(message.get("content"))))
        .collect();
    match all.iter().rposition(|(role, _)| role == "user") {
        Some(last) => all.into_iter().nth(last).into_iter().collect(),
        None => all,
    }
}

/// A message's text: the parts of a multimodal message are joined, lest an image lets the words slip through.
fn text(content: Option<&Raw>) -> String {
    let Some(content) = content else { return String::new() };
    if let Some(text) = content.as_text() {
        return text;
    }
    let parts = content.as_array().unwrap_or_default();
    let texts = parts.iter().filter_map(|part| part.as_text().or_else(|| part.as_object()?.text_of("text")));
    texts.collect::<Vec<_>>().join("\n")
}

/// The string arguments of an MCP tool call, in key order, as one user message.
fn tool_arguments(body: &Object) -> Vec<(String, String)> {
    let arguments = || body.get("params")?.as_object()?.get("arguments")?.as_object();
    let arguments = arguments().unwrap_or_default();
    let mut strings: Vec<(&str, String)> =
        arguments.iter().filter_map(|(key, value)| Some((key, value.as_text()?))).collect();
    strings.sort_by_key(|(key, _)| *key);
    if strings.is_empty() {
        return vec![];
    }
    let joined = strings.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join("\n");
    vec![("user".into(), joined)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugins::testing::spec;

    fn asked(body: &str) -> Option<String> {
        let body = Object::parse(&Bytes::copy_from_slice(body.as_bytes())).unwrap();
        question(&body).unwrap().map(|q| String::from_utf8(q.to_vec()).unwrap())
    }

    #[test]
    fn what_is_asked() {
        for (body, expected) in [
            (
                r#"{"model":"m","messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"},{"role":"assistant","content":"d"}]}"#,
                Some(r#"{"model":"m","messages":[{"role":"user","content":"c"}]}"#),
            ),
            (
                r#"{"messages":[{"role":"system","content":"s"},{"role":"assistant","content":"b"}]}"#,
                Some(
                    r#"{"model":"","messages":[{"role":"system","content":"s"},{"role":"assistant","content":"b"}]}"#,
                ),
            ),
            (
                r#"{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"u"}},{"type":"text","text":"b"}]}]}"#,
                Some(r#"{"model":"","messages":[{"role":"user","content":"a\nb"}]}"#),
            ),
            (
                r#"{"jsonrpc":"2.0","params":{"arguments":{"subject":"b","n":1,"body":"a"}}}"#,
                Some(r#"{"model":"","messages":[{"role":"user","content":"a\nb"}]}"#),
            ),
            (r#"{"messages":[]}"#, None),
            (r#"{"jsonrpc":"2.0","params":{"arguments":{"n":1}}}"#, None),
            (r#"{"jsonrpc":"2.0","method":"tools/list"}"#, None),
            (r#"{"prompt":"x"}"#, None),
        ] {
            assert_eq!(asked(body).as_deref(), expected, "{body}");
        }
    }

    #[test]
    fn messages_that_are_no_array_are_refused() {
        let body = Object::parse(&Bytes::from_static(br#"{"messages":"x"}"#)).unwrap();
        let error = question(&body).unwrap_err().to_string();
        assert_eq!(error, "inference error: BadRequest - malformed request body: messages is not an array");
    }

    #[test]
    fn the_address_is_required() {
        let error = NemoRequestGuard::new(&spec("nemo-request-guard:n")).unwrap_err();
        let expected = "failed to create 'nemo-request-guard' plugin - nemoURL is required for plugin 'nemo-request-guard'";
        assert_eq!(error, expected);
    }
}
