//! One rule as a schema gives it, parsed.

use std::sync::Arc;

use serde_json::Value;

use super::parse::{Outcome, parse};

/// The rules on one schema node.
#[derive(Debug, Clone, Default)]
pub struct Rules(pub(super) Vec<Arc<Rule>>);

#[derive(Debug)]
pub(super) struct Rule {
    pub(super) source: String,
    pub(super) message: String,
    pub(super) message_source: String,
    pub(super) reason: Option<String>,
    pub(super) field_path: String,
    pub(super) optional_old_self: Option<bool>,
    /// The expression, unless it cannot be parsed (which the CRD check refuses).
    pub(super) parsed: Outcome,
    pub(super) message_parsed: Option<Outcome>,
    /// Whether it looks at the old value.
    pub(super) transition: bool,
}

impl Rules {
    /// Reads and parses the rules of a schema node.
    pub fn parse(raw: Option<&Value>) -> Self {
        Rules(
            raw.and_then(Value::as_array)
                .into_iter()
                .flatten()
                .map(|rule| Arc::new(Rule::new(rule)))
                .collect(),
        )
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Rule {
    fn new(raw: &Value) -> Self {
        let text = |name: &str| raw[name].as_str().unwrap_or_default().to_owned();
        let source = text("rule");
        let parsed = parse(&source);
        let transition =
            parsed.as_ref().as_ref().is_ok_and(|parsed| parsed.root.references().has_variable("oldSelf"));
        let message_source = text("messageExpression");
        Rule {
            message: text("message"),
            message_parsed: (!message_source.is_empty()).then(|| parse(&message_source)),
            message_source,
            reason: raw["reason"].as_str().map(str::to_owned),
            field_path: text("fieldPath"),
            optional_old_self: raw["optionalOldSelf"].as_bool(),
            parsed,
            transition,
            source,
        }
    }

    /// The rule as the server prints it in errors about it.
    pub(super) fn shown(&self) -> String {
        let quote = |text: &str| {
            let json = Value::String(text.to_owned()).to_string();
            json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
        };
        let reason = self.reason.as_deref().map_or_else(|| "null".to_owned(), quote);
        let optional = self.optional_old_self.map_or_else(|| "null".to_owned(), |b| b.to_string());
        format!(
            "{{\"Rule\":{},\"Message\":{},\"MessageExpression\":{},\"Reason\":{reason},\"FieldPath\":{},\"OptionalOldSelf\":{optional}}}",
            quote(&self.source),
            quote(&self.message),
            quote(&self.message_source),
            quote(&self.field_path),
        )
    }

    /// The steps of `fieldPath`: `.a.b`, `.a['x.y']`. `None` when it cannot be read.
    pub(super) fn field_steps(&self) -> Option<Vec<String>> {
        let mut steps = Vec::new();
        let mut rest = self.field_path.trim();
        while !rest.is_empty() {
            if let Some(after) = rest.strip_prefix("['") {
                let end = after.find("']")?;
                steps.push(after[..end].to_owned());
                rest = &after[end + 2..];
            } else {
                let after = rest.strip_prefix('.')?;
                let end = after.find(['.', '[']).unwrap_or(after.len());
                if end == 0 {
                    return None;
                }
                steps.push(after[..end].to_owned());
                rest = &after[end..];
            }
        }
        Some(steps)
    }
}
