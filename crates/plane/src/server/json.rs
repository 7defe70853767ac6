//! JSON as the API reads it: duplicates are noticed (the last one wins), and complaints sound like Go's.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// A parsed body.
#[derive(Debug, Default)]
pub(crate) struct Parsed {
    pub(crate) value: Value,
    /// Paths of fields given more than once, in order of appearance.
    pub(crate) duplicates: Vec<String>,
}

/// Parses a whole body; the error is Go's text for it.
pub(crate) fn parse(text: &[u8]) -> Result<Parsed, String> {
    let mut duplicates = Vec::new();
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    let value = Seed { path: String::new(), duplicates: &mut duplicates, places: &mut None }
        .deserialize(&mut deserializer)
        .and_then(|value| deserializer.end().map(|()| value))
        .map_err(|error| go_error(&error, text))?;
    Ok(Parsed { value, duplicates })
}

/// The paths of all fields of a text, in the order in which they stand there; none if it is no JSON.
pub(crate) fn places(text: &[u8]) -> Vec<String> {
    let mut places = Some(Vec::new());
    let seed = Seed { path: String::new(), duplicates: &mut Vec::new(), places: &mut places };
    let read = seed.deserialize(&mut serde_json::Deserializer::from_slice(text));
    places.filter(|_| read.is_ok()).unwrap_or_default()
}

/// What Go's decoder says about the same text.
fn go_error(error: &serde_json::Error, text: &[u8]) -> String {
    let at = offset(text, error.line(), error.column());
    let words = error.to_string();
    if error.is_eof() {
        return "unexpected end of JSON input".into();
    }
    if words.starts_with("recursion limit") {
        return "exceeded max depth".into();
    }
    let Some(byte) = text.get(at) else { return words };
    let shown = match byte {
        b'\'' => r"'\''".to_string(),
        b'"' => "'\"'".to_string(),
        byte if byte.is_ascii_graphic() || *byte == b' ' => format!("'{}'", *byte as char),
        byte => format!("'\\x{byte:02x}'"),
    };
    let place = if words.starts_with("trailing characters") {
        "after top-level value"
    } else if words.starts_with("key must be a string") {
        "looking for beginning of object key string"
    } else if words.starts_with("expected `,` or `}`") {
        "after object key:value pair"
    } else if words.starts_with("expected `,` or `]`") {
        "after array element"
    } else if words.starts_with("expected `:`") {
        "after object key"
    } else {
        "looking for beginning of value"
    };
    format!("invalid character {shown} {place}")
}

/// serde_json counts lines and columns from one; the column is the last byte read.
fn offset(text: &[u8], line: usize, column: usize) -> usize {
    let start = text
        .iter()
        .enumerate()
        .filter(|(_, b)| **b == b'\n')
        .map(|(i, _)| i + 1)
        .nth(line.saturating_sub(2))
        .filter(|_| line > 1)
        .unwrap_or(0);
    start + column.saturating_sub(1)
}

struct Seed<'a> {
    path: String,
    duplicates: &'a mut Vec<String>,
    /// Every path in order, if asked for.
    places: &'a mut Option<Vec<String>>,
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_string()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut out = Vec::new();
        loop {
            let path = format!("{}[{}]", self.path, out.len());
            match items.next_element_seed(Seed {
                path,
                duplicates: &mut *self.duplicates,
                places: &mut *self.places,
            })? {
                Some(item) => out.push(item),
                None => return Ok(Value::Array(out)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut out = Map::new();
        while let Some(name) = entries.next_key::<String>()? {
            let path = if self.path.is_empty() { name.clone() } else { format!("{}.{name}", self.path) };
            if out.contains_key(&name) {
                self.duplicates.push(path.clone());
            }
            if let Some(places) = &mut *self.places {
                places.push(path.clone());
            }
            let seed = Seed { path, duplicates: &mut *self.duplicates, places: &mut *self.places };
            let value = entries.next_value_seed(seed)?;
            out.insert(name, value);
        }
        Ok(Value::Object(out))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{parse, places};

    #[test]
    fn duplicates_are_told_and_the_last_one_wins() {
        let parsed = parse(br#"{"a":{"b":1,"b":2},"l":[{"c":1,"c":2}],"a":{"b":3}}"#).unwrap();
        assert_eq!(parsed.value, json!({"a": {"b": 3}, "l": [{"c": 2}]}));
        assert_eq!(parsed.duplicates, ["a.b", "l[0].c", "a"]);
    }

    #[test]
    fn places_are_told_in_the_order_of_the_text() {
        assert_eq!(places(br#"{"b":[{"z":1}],"a":{"y":1},"b":2}"#), ["b", "b[0].z", "a", "a.y", "b"]);
        assert_eq!(places(b"b: 1"), Vec::<String>::new());
    }

    #[test]
    fn complaints_sound_like_go() {
        let error = |text: &str| parse(text.as_bytes()).unwrap_err();
        assert_eq!(error("{"), "unexpected end of JSON input");
        assert_eq!(error("xyz"), "invalid character 'x' looking for beginning of value");
        assert_eq!(error("{} x"), "invalid character 'x' after top-level value");
        assert_eq!(error("{a"), "invalid character 'a' looking for beginning of object key string");
        assert_eq!(error(&"[".repeat(100_000)), "exceeded max depth");
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_parsed_like_serde_or_refused(text in r#"[\[\]{}:,"a0\-.\\n ]{0,24}"#) {
            let (ours, theirs) = (parse(text.as_bytes()), serde_json::from_str::<serde_json::Value>(&text));
            proptest::prop_assert_eq!(ours.ok().map(|p| p.value), theirs.ok());
        }
    }
}
