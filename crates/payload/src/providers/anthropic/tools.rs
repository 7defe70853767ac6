//! Tools: their definitions, which one to choose, and calls made earlier.

use bytes::Bytes;

use crate::json::{Kind, Object, Raw};

/// The tool part of a request.
#[derive(Default)]
pub(super) struct Tools {
    /// `tools`
    pub(super) definitions: Option<Raw>,
    /// `tool_choice`
    pub(super) choice: Option<Object>,
}

/// Translates `tools`, `tool_choice` and `parallel_tool_calls`.
pub(super) fn translate(body: &Object) -> Tools {
    let choice = body.get("tool_choice");
    if choice.and_then(Raw::as_text).as_deref() == Some("none") {
        return Tools::default(); // offered tools would be used
    }
    let tools = body.get("tools").and_then(Raw::as_array).unwrap_or_default();
    let definitions: Vec<Raw> = tools.iter().filter_map(definition).collect();
    if definitions.is_empty() {
        return Tools::default();
    }
    let mut choice = choice.and_then(tool_choice);
    if body.get("parallel_tool_calls").and_then(Raw::as_bool) == Some(false) {
        let one = choice.unwrap_or_else(|| Object::new().with("type", "auto"));
        choice = Some(one.with("disable_parallel_tool_use", true));
    }
    Tools { definitions: Some(definitions.into()), choice }
}

fn definition(tool: &Raw) -> Option<Raw> {
    let function = tool.as_object()?.get("function")?.as_object()?;
    let schema = function.get("parameters").filter(|schema| !schema.is_null()).cloned();
    let description = function.text_of("description").filter(|text| !text.is_empty());
    let definition = Object::new()
        .with("name", function.get("name").cloned().unwrap_or_else(Raw::null))
        .with_some("description", description)
        .with("input_schema", schema.unwrap_or_else(|| Object::new().with("type", "object").into()));
    Some(definition.into())
}

fn tool_choice(choice: &Raw) -> Option<Object> {
    let of_type = |kind: &str| Object::new().with("type", kind);
    if let Some(word) = choice.as_text() {
        return match word.as_str() {
            "auto" => Some(of_type("auto")),
            "required" => Some(of_type("any")),
            _ => None,
        };
    }
    let name = choice
        .as_object()?
        .get("function")?
        .as_object()?
        .get("name")
        .filter(|n| n.kind() == Kind::String)?
        .clone();
    Some(of_type("tool").with("name", name))
}

/// An earlier call as a `tool_use` block; `None` for what is not a function call.
pub(super) fn tool_use(call: &Raw) -> Option<Raw> {
    let call = call.as_object()?;
    let function = call.get("function")?.as_object()?;
    let block = Object::new()
        .with("type", "tool_use")
        .with("id", call.text_of("id").unwrap_or_default())
        .with("name", function.text_of("name").unwrap_or_default())
        .with("input", arguments(function.get("arguments")));
    Some(block.into())
}

/// The arguments as a value: OpenAI sends them as JSON inside a string.
fn arguments(value: Option<&Raw>) -> Raw {
    let empty = || Raw::from(Object::new());
    match value {
        None => empty(),
        Some(value) => match (value.kind(), value.as_text()) {
            (Kind::Null, _) => empty(),
            (_, Some(text)) => Raw::parse(&Bytes::from(text)).unwrap_or_else(|_| empty()),
            (_, None) => value.clone(),
        },
    }
}
