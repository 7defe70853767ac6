//! A whole answer.

use crate::exchange::Cycle;
use crate::json::{Kind, Object, Raw};

use super::usage::Usage;
use super::{error, finish_reason};

/// A Messages answer as a chat completion, or an error as an error.
pub fn response(cycle: &Cycle, body: &Object, now: i64) -> Object {
    if body.text_of("type").as_deref() == Some("error") {
        return error::translate(body);
    }
    let blocks = body.get("content").and_then(Raw::as_array).unwrap_or_default();
    let blocks: Vec<Object> = blocks.iter().filter_map(Raw::as_object).collect();
    let of_type =
        |kind: &'static str| blocks.iter().filter(move |b| b.text_of("type").as_deref() == Some(kind));

    let text: String = of_type("text").filter_map(|block| block.text_of("text")).collect();
    let finish = finish_reason(body.text_of("stop_reason").as_deref());
    let mut message = Object::new().with("role", "assistant").with("content", text);
    if finish == "tool_calls" {
        let calls: Vec<Raw> = of_type("tool_use").enumerate().map(|(n, block)| tool_call(n, block)).collect();
        if !calls.is_empty() {
            message.set("tool_calls", calls);
        }
    }
    let mut usage = Usage::default();
    usage.read(body.get("usage"));
    let choice = Object::new().with("index", 0).with("message", message).with("finish_reason", finish);
    Object::new()
        .with("id", body.text_of("id").unwrap_or_default())
        .with("object", "chat.completion")
        .with("created", now)
        .with("model", model(cycle, body))
        .with("choices", vec![choice.into()])
        .with("usage", usage.to_openai())
}

/// The model's name as the client knows it.
pub(super) fn model(cycle: &Cycle, body: &Object) -> String {
    let asked =
        cycle.external.as_ref().map(|external| external.model.clone()).filter(|model| !model.is_empty());
    asked.or_else(|| body.text_of("model")).unwrap_or_default()
}

fn tool_call(index: usize, block: &Object) -> Raw {
    let arguments = match block.get("input") {
        Some(input) if input.kind() == Kind::String => input.as_text().unwrap_or_default(),
        Some(input) if !input.is_null() => String::from_utf8_lossy(input.text()).into_owned(),
        _ => "{}".into(),
    };
    let function =
        Object::new().with("name", block.text_of("name").unwrap_or_default()).with("arguments", arguments);
    Object::new()
        .with("id", block.text_of("id").unwrap_or_default())
        .with("index", index as i64)
        .with("type", "function")
        .with("function", function)
        .into()
}
