//! The table of field numbers, read once.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde_json::{Value, json};

static MESSAGES: LazyLock<HashMap<&'static str, Message>> = LazyLock::new(|| {
    let lines = include_str!("fields.txt").lines().filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| line.split_once(' ').or(Some((line, ""))))
        .map(|(name, rest)| (name, Message::of(rest)))
        .collect()
});

/// A message's fields by number.
pub(super) struct Message(HashMap<u32, Field>);

/// One field.
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) kind: Type,
    pub(super) repeated: bool,
    pub(super) inline: bool,
    pub(super) keeps_zero: bool,
}

/// What a field holds.
pub(super) enum Type {
    String,
    Bytes,
    Int,
    Bool,
    Double,
    Quantity,
    Time,
    IntOrString,
    Raw,
    Strings,
    Map(Box<Type>),
    Message(&'static str),
}

impl Type {
    fn of(text: &'static str) -> Self {
        if let Some(of) = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')) {
            return Self::Map(Box::new(Self::of(of)));
        }
        match text {
            "string" => Self::String,
            "bytes" => Self::Bytes,
            "int32" | "int64" => Self::Int,
            "bool" => Self::Bool,
            "double" => Self::Double,
            "Quantity" => Self::Quantity,
            "Time" => Self::Time,
            "IntOrString" => Self::IntOrString,
            "Raw" => Self::Raw,
            "Strings" => Self::Strings,
            message => Self::Message(message),
        }
    }

    /// The value of a map entry that was written without one.
    pub(super) fn zero(&self) -> Value {
        match self {
            Self::String | Self::Bytes | Self::Quantity => json!(""),
            Self::Int | Self::IntOrString | Self::Double => json!(0),
            Self::Bool => json!(false),
            Self::Time | Self::Raw => Value::Null,
            Self::Strings => json!([]),
            Self::Map(_) | Self::Message(_) => json!({}),
        }
    }
}

impl Message {
    fn of(text: &'static str) -> Self {
        Self(text.split_whitespace().filter_map(Field::of).collect())
    }

    pub(super) fn field(&self, number: u32) -> Option<&Field> {
        self.0.get(&number)
    }
}

impl Field {
    fn of(text: &'static str) -> Option<(u32, Self)> {
        let mut parts = text.split(':');
        let (number, name, kind) = (parts.next()?.parse().ok()?, parts.next()?, parts.next()?);
        let flags = parts.next().unwrap_or_default();
        let field = Self {
            name,
            kind: Type::of(kind),
            repeated: flags.contains('*'),
            inline: flags.contains('^'),
            keeps_zero: flags.contains(['?', '!']),
        };
        Some((number, field))
    }
}

/// A message by its name in the table.
pub(super) fn message(name: &str) -> Option<&'static Message> {
    MESSAGES.get(name)
}

/// The message of a kind: `apps/v1` is in `apps.v1`, `rbac.authorization.k8s.io/v1` in `rbac.v1`, `v1` in `core.v1`.
pub(super) fn message_of(api_version: &str, kind: &str) -> Option<&'static Message> {
    if kind == "DeleteOptions" {
        return message("meta.DeleteOptions");
    }
    let (group, version) = api_version.split_once('/').unwrap_or(("core", api_version));
    let package = group.split('.').next().unwrap_or_default();
    message(&format!("{package}.{version}.{kind}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_whole() {
        fn known(kind: &Type) -> bool {
            match kind {
                Type::Message(name) => message(name).is_some(),
                Type::Map(of) => known(of),
                _ => true,
            }
        }
        for (name, message) in MESSAGES.iter() {
            for field in message.0.values() {
                assert!(known(&field.kind), "{name}.{} is of an unknown type", field.name);
            }
        }
        let lines: Vec<&str> =
            include_str!("fields.txt").lines().filter(|line| !line.starts_with('#')).collect();
        let fields: usize = lines.iter().map(|line| line.split(' ').count() - 1).sum();
        assert_eq!(MESSAGES.len(), lines.len());
        assert_eq!(
            MESSAGES.values().map(|message| message.0.len()).sum::<usize>(),
            fields,
            "every field was read"
        );
    }

    #[test]
    fn no_message_contains_itself() {
        fn walk(name: &str, above: &mut Vec<String>) {
            assert!(!above.iter().any(|a| a == name), "{name} contains itself: {above:?}");
            above.push(name.to_owned());
            for field in message(name).unwrap().0.values() {
                match &field.kind {
                    Type::Message(inner) => walk(inner, above),
                    Type::Map(of) => {
                        if let Type::Message(inner) = **of {
                            walk(inner, above);
                        }
                    }
                    _ => {}
                }
            }
            above.pop();
        }
        for name in MESSAGES.keys() {
            walk(name, &mut vec![]);
        }
    }
}
