//! A chat completion request as a Messages request.

use crate::exchange::Exchange;
use crate::failure::Failure;
use crate::json::{Kind, Object, Raw};

use super::messages::{Conversation, conversation};
use super::{DEFAULT_MAX_TOKENS, PATH, VERSION, tools};

/// Replaces the body by its translation and sets path and headers.
pub fn request(exchange: &mut Exchange) -> Result<(), Failure> {
    let body = exchange
        .body
        .as_ref()
        .map_err(|e| Failure::bad_request(format!("failed to parse request body: {e}")))?;
    exchange.cycle.include_usage = asks_for_usage(body);
    exchange.body = Ok(translate(body)?);
    exchange.headers.set("anthropic-version", VERSION);
    exchange.headers.set("content-type", "application/json");
    exchange.headers.set(":path", PATH);
    Ok(())
}

fn translate(body: &Object) -> Result<Object, Failure> {
    let model = body.text_of("model").filter(|model| !model.is_empty());
    let model = model.ok_or_else(|| Failure::bad_request("model field is required"))?;
    let Conversation { system, messages } = conversation(body).map_err(Failure::bad_request)?;
    let number = |field: &str| body.get(field).filter(|value| value.kind() == Kind::Number).cloned();
    let tools = tools::translate(body);
    Ok(Object::new()
        .with("model", model)
        .with("max_tokens", max_tokens(body))
        .with_some("temperature", number("temperature"))
        .with_some("top_p", number("top_p"))
        .with_some("top_k", number("top_k"))
        .with_some("stop_sequences", stop_sequences(body))
        .with_some("stream", body.get("stream").and_then(Raw::as_bool))
        .with_some("system", system)
        .with("messages", messages)
        .with_some("tools", tools.definitions)
        .with_some("tool_choice", tools.choice))
}

fn max_tokens(body: &Object) -> i64 {
    let whole =
        |field: &str| body.get(field)?.as_number().map(f64::trunc).filter(|n| *n > 0.0).map(|n| n as i64);
    whole("max_completion_tokens").or_else(|| whole("max_tokens")).unwrap_or(DEFAULT_MAX_TOKENS)
}

fn stop_sequences(body: &Object) -> Option<Raw> {
    let stop = body.get("stop")?;
    let sequences = match stop.kind() {
        Kind::String if stop.as_text()?.is_empty() => vec![],
        Kind::String => vec![stop.clone()],
        Kind::Array => stop.as_array()?.into_iter().filter(|item| item.kind() == Kind::String).collect(),
        _ => vec![],
    };
    (!sequences.is_empty()).then(|| sequences.into())
}

fn asks_for_usage(body: &Object) -> bool {
    let options = body.get("stream_options").and_then(Raw::as_object);
    options.and_then(|options| options.get("include_usage")?.as_bool()).unwrap_or(false)
}
