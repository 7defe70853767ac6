//! The conversation: OpenAI's messages as Anthropic's, with the system text apart.

use crate::json::{Kind, Object, Raw};

use super::content::{self, text_of};
use super::tools::tool_use;

/// What Anthropic wants of `messages`.
pub(super) struct Conversation {
    /// All system and developer texts, if any.
    pub(super) system: Option<String>,
    /// Everybody else's.
    pub(super) messages: Raw,
}

/// One message under construction. Tool results are collected in the user message that follows the tool calls.
enum Message {
    Plain { role: &'static str, content: Raw },
    Blocks { role: &'static str, blocks: Vec<Raw> },
}

/// Translates `body.messages`; the error is what the client reads.
pub(super) fn conversation(body: &Object) -> Result<Conversation, String> {
    let list = body.get("messages").filter(|value| !value.is_null());
    let list = list.ok_or("failed to extract messages: messages field is required")?;
    let list = list.as_array().ok_or("failed to extract messages: messages must be an array")?;
    let objects = list.iter().enumerate().map(|(index, message)| {
        message
            .as_object()
            .ok_or_else(|| format!("failed to extract messages: message at index {index} is not an object"))
    });
    let objects = objects.collect::<Result<Vec<_>, _>>()?;

    let (mut system, mut messages) = (Vec::new(), Vec::<Message>::new());
    for (index, message) in objects.iter().enumerate() {
        let role = message.text_of("role").unwrap_or_default();
        match role.as_str() {
            "system" | "developer" => system.push(text_of(message)),
            "user" => messages.push(user(message)),
            "assistant" => messages.push(assistant(message)),
            "tool" => tool(index, message, &mut messages)?,
            _ => return Err(format!("message at index {index} has unknown role '{role}'")),
        }
    }
    if messages.is_empty() {
        return Err("at least one non-system message is required".into());
    }
    let system = Some(system.join("\n")).filter(|text| !text.is_empty());
    let messages = messages.into_iter().map(Raw::from).collect::<Vec<_>>().into();
    Ok(Conversation { system, messages })
}

fn user(message: &Object) -> Message {
    match content::blocks_with_images(message) {
        Some(blocks) => Message::Blocks { role: "user", blocks },
        None => Message::Plain { role: "user", content: text_of(message).into() },
    }
}

fn assistant(message: &Object) -> Message {
    let text = text_of(message);
    let calls = message.get("tool_calls").and_then(Raw::as_array).unwrap_or_default();
    let mut blocks: Vec<Raw> = calls.iter().filter_map(tool_use).collect();
    if blocks.is_empty() {
        return Message::Plain { role: "assistant", content: text.into() };
    }
    if !text.is_empty() {
        blocks.insert(0, content::text_block(&text));
    }
    Message::Blocks { role: "assistant", blocks }
}

fn tool(index: usize, message: &Object, messages: &mut Vec<Message>) -> Result<(), String> {
    let id = message.get("tool_call_id").filter(|id| id.kind() == Kind::String && id.text().len() > 2);
    let id = id.ok_or_else(|| {
        format!("message at index {index}: tool message missing required 'tool_call_id' field")
    })?;
    let text = text_of(message);
    let result: Raw = Object::new()
        .with("type", "tool_result")
        .with("tool_use_id", id.clone())
        .with_some("content", Some(text).filter(|text| !text.is_empty()))
        .into();
    match messages.last_mut() {
        Some(Message::Blocks { role: "user", blocks }) => blocks.push(result),
        _ => messages.push(Message::Blocks { role: "user", blocks: vec![result] }),
    }
    Ok(())
}

impl From<Message> for Raw {
    fn from(message: Message) -> Raw {
        let (role, content) = match message {
            Message::Plain { role, content } => (role, content),
            Message::Blocks { role, blocks } => (role, blocks.into()),
        };
        Object::new().with("role", role).with("content", content).into()
    }
}
