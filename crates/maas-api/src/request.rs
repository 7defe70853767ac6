//! Requests: bodies read as the original reads them.
//!
//! The content type is not looked at; names of members may be in any case; what is unknown, `null`, or after the first
//! value is ignored.

use std::fmt;

use serde_json::{Map, Value};

/// Why a body cannot be read. The text reaches the client.
#[derive(Debug, PartialEq, thiserror::Error)]
pub(crate) enum BodyError {
    /// There is none.
    #[error("EOF")]
    Empty,
    /// It ends too soon.
    #[error("unexpected EOF")]
    Truncated,
    /// It does not begin like JSON.
    #[error("invalid character {0} looking for beginning of value")]
    NotJson(Character),
    /// It is not JSON further on.
    #[error("invalid JSON: {0}")]
    Syntax(String),
    /// It is something other than an object.
    #[error("json: cannot unmarshal {found} into Go value of type {name}")]
    NotAnObject {
        /// What it is.
        found: &'static str,
        /// What it should be.
        name: &'static str,
    },
    /// A member is of the wrong type.
    #[error("json: cannot unmarshal {found} into Go struct field {name}.{field} of type {wanted}")]
    WrongType {
        /// What it is.
        found: &'static str,
        /// Whose member it is.
        name: &'static str,
        /// Which member.
        field: &'static str,
        /// What it should be.
        wanted: &'static str,
    },
    /// A member is missing.
    #[error("Key: '{name}.{field}' Error:Field validation for '{field}' failed on the 'required' tag")]
    Required {
        /// Whose member it is.
        name: &'static str,
        /// Which member.
        field: &'static str,
    },
}

/// A character in quotes.
#[derive(Debug, PartialEq)]
pub(crate) struct Character(char);

impl fmt::Display for Character {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

/// A JSON object of a request.
#[derive(Debug)]
pub(crate) struct Members {
    name: &'static str,
    map: Map<String, Value>,
}

impl Members {
    /// Reads a body. `name` is what errors call the object.
    pub(crate) fn read(name: &'static str, body: &[u8]) -> Result<Self, BodyError> {
        match serde_json::Deserializer::from_slice(body).into_iter::<Value>().next() {
            None => Err(BodyError::Empty),
            Some(Ok(value)) => Self::of(name, value),
            Some(Err(error)) if error.is_eof() => Err(BodyError::Truncated),
            Some(Err(error)) => Err(match String::from_utf8_lossy(body).trim_start().chars().next() {
                Some(first) if !first.is_ascii_digit() && !"{[\"-tfn".contains(first) => {
                    BodyError::NotJson(Character(first))
                }
                _ => BodyError::Syntax(error.to_string()),
            }),
        }
    }

    fn of(name: &'static str, value: Value) -> Result<Self, BodyError> {
        match value {
            Value::Object(map) => Ok(Self { name, map }),
            Value::Null => Ok(Self { name, map: Map::new() }),
            other => Err(BodyError::NotAnObject { found: kind(&other), name }),
        }
    }

    /// A member of any type; `None` if it is absent or null.
    pub(crate) fn value(&self, field: &str) -> Option<&Value> {
        let exact = self.map.get(field);
        let found = exact
            .or_else(|| self.map.iter().find(|(key, _)| key.eq_ignore_ascii_case(field)).map(|(_, v)| v));
        found.filter(|value| !value.is_null())
    }

    fn typed<T>(
        &self,
        field: &'static str,
        wanted: &'static str,
        read: impl FnOnce(&Value) -> Option<T>,
    ) -> Result<Option<T>, BodyError> {
        let Some(value) = self.value(field) else { return Ok(None) };
        let wrong = || BodyError::WrongType { found: kind(value), name: self.name, field, wanted };
        read(value).map(Some).ok_or_else(wrong)
    }

    /// A string; empty if absent.
    pub(crate) fn string(&self, field: &'static str) -> Result<String, BodyError> {
        Ok(self.typed(field, "string", |v| v.as_str().map(str::to_owned))?.unwrap_or_default())
    }

    /// A string that must be there. `shown` is what the error calls it.
    pub(crate) fn required(&self, field: &'static str, shown: &'static str) -> Result<String, BodyError> {
        let value = self.string(field)?;
        if value.is_empty() { Err(BodyError::Required { name: self.name, field: shown }) } else { Ok(value) }
    }

    /// A truth value; false if absent.
    pub(crate) fn bool(&self, field: &'static str) -> Result<bool, BodyError> {
        Ok(self.typed(field, "bool", Value::as_bool)?.unwrap_or_default())
    }

    /// A whole number; 0 if absent.
    pub(crate) fn int(&self, field: &'static str) -> Result<i64, BodyError> {
        Ok(self.typed(field, "int", Value::as_i64)?.unwrap_or_default())
    }

    /// A list of strings; empty if absent.
    pub(crate) fn strings(&self, field: &'static str) -> Result<Vec<String>, BodyError> {
        let read = |value: &Value| {
            let text = |item: &Value| match item {
                Value::Null => Some(String::new()),
                item => item.as_str().map(str::to_owned),
            };
            value.as_array()?.iter().map(text).collect::<Option<Vec<_>>>()
        };
        Ok(self.typed(field, "[]string", read)?.unwrap_or_default())
    }

    /// An object; `None` if absent. `name` is what errors call it.
    pub(crate) fn object(&self, field: &'static str, name: &'static str) -> Result<Option<Self>, BodyError> {
        Ok(self.typed(field, name, |v| v.as_object().cloned())?.map(|map| Self { name, map }))
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(body: &str) -> Result<Members, String> {
        Members::read("CreateAPIKeyRequest", body.as_bytes()).map_err(|error| error.to_string())
    }

    #[test]
    fn bodies_are_read_as_the_original_reads_them() {
        let body = read(r#"{"Name":"a","EPHEMERAL":true,"extra":{},"description":null} {"name":"ignored"}"#)
            .unwrap();
        assert_eq!(body.string("name").unwrap(), "a");
        assert!(body.bool("ephemeral").unwrap());
        assert_eq!(body.string("description").unwrap(), "");
        assert_eq!(read("null").unwrap().string("name").unwrap(), "");
        assert_eq!(read(r#"{"NAME":"other","name":"exact"}"#).unwrap().string("name").unwrap(), "exact");
    }

    #[test]
    fn what_cannot_be_read_says_why() {
        for (body, expected) in [
            ("", "EOF"),
            ("  \n", "EOF"),
            ("{", "unexpected EOF"),
            (r#"{"a""#, "unexpected EOF"),
            ("xyz", "invalid character 'x' looking for beginning of value"),
            ("ß", "invalid character 'ß' looking for beginning of value"),
            ("[]", "json: cannot unmarshal array into Go value of type CreateAPIKeyRequest"),
        ] {
            assert_eq!(read(body).unwrap_err(), expected, "{body:?}");
        }
        assert!(read(r#"{"a" 1}"#).unwrap_err().starts_with("invalid JSON: "));
        let body = read(r#"{"ephemeral":"yes","n":1.5,"s":[1],"o":3}"#).unwrap();
        assert_eq!(
            body.bool("ephemeral").unwrap_err().to_string(),
            "json: cannot unmarshal string into Go struct field CreateAPIKeyRequest.ephemeral of type bool"
        );
        assert!(body.int("n").unwrap_err().to_string().contains("CreateAPIKeyRequest.n of type int"));
        assert!(body.strings("s").unwrap_err().to_string().contains("of type []string"));
        assert!(body.object("o", "X").unwrap_err().to_string().contains("of type X"));
        assert_eq!(
            body.required("name", "Name").unwrap_err().to_string(),
            "Key: 'CreateAPIKeyRequest.Name' Error:Field validation for 'Name' failed on the 'required' tag"
        );
    }

    proptest! {
        #[test]
        fn no_body_panics(body in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = Members::read("X", &body);
        }
    }
}
