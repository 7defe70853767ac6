//! Kubernetes' protobuf request bodies, turned into the JSON the rest of the plane works on.
//!
//! kubectl's typed commands send protobuf and do not fall back to JSON. Answers may be JSON, so nothing is encoded
//! here. What a message holds comes from a table of field numbers, `fields.txt`.

mod fields;
mod wire;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::{Map, Number, Value, json};

use fields::{Field, Message, Type};
use wire::{Item, Reader};

/// The media type of these bodies.
pub const MEDIA_TYPE: &str = "application/vnd.kubernetes.protobuf";

const MAGIC: &[u8] = b"k8s\0";

/// Why a body could not be read. Answered as 400.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The envelope's first bytes are missing.
    #[error("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")]
    Prefix,
    /// The bytes end early, or a field is not of its type.
    #[error("cannot decode the protobuf body: {0}")]
    Malformed(&'static str),
    /// A kind that has no protobuf form here.
    #[error("no protobuf form is known for kind {kind:?} of {api_version:?}; send application/json")]
    Unknown {
        /// From the envelope.
        api_version: String,
        /// From the envelope.
        kind: String,
    },
}

/// The object in a body, with `apiVersion` and `kind`.
pub fn decode(body: &[u8]) -> Result<Value, DecodeError> {
    let envelope = body.strip_prefix(MAGIC).ok_or(DecodeError::Prefix)?;
    let (mut api_version, mut kind, mut raw) = (String::new(), String::new(), &[][..]);
    for item in Reader::new(envelope) {
        match item? {
            (1, Item::Bytes(type_meta)) => {
                for item in Reader::new(type_meta) {
                    match item? {
                        (1, Item::Bytes(text)) => api_version = utf8(text)?,
                        (2, Item::Bytes(text)) => kind = utf8(text)?,
                        _ => {}
                    }
                }
            }
            (2, Item::Bytes(bytes)) => raw = bytes,
            _ => {}
        }
    }
    let Some(message) = fields::message_of(&api_version, &kind) else {
        return Err(DecodeError::Unknown { api_version, kind });
    };
    let mut object = Map::new();
    read_message(message, raw, &mut object)?;
    object.insert("apiVersion".into(), api_version.into());
    object.insert("kind".into(), kind.into());
    Ok(Value::Object(object))
}

fn utf8(bytes: &[u8]) -> Result<String, DecodeError> {
    String::from_utf8(bytes.to_vec()).map_err(|_| DecodeError::Malformed("a string is not UTF-8"))
}

/// Recursion ends because no message of the table contains itself.
fn read_message(message: &Message, bytes: &[u8], into: &mut Map<String, Value>) -> Result<(), DecodeError> {
    for item in Reader::new(bytes) {
        let (number, item) = item?;
        // Fields of a newer Kubernetes are skipped, as the real server does.
        let Some(field) = message.field(number) else { continue };
        read_field(field, item, into)?;
    }
    Ok(())
}

fn read_field(field: &Field, item: Item<'_>, into: &mut Map<String, Value>) -> Result<(), DecodeError> {
    let wrong = DecodeError::Malformed("a field has the wrong wire type");
    match (&field.kind, item) {
        (Type::Message(name), Item::Bytes(bytes)) if field.inline => {
            let message = fields::message(name).ok_or(wrong)?;
            read_message(message, bytes, into)?;
        }
        (Type::Map(of), Item::Bytes(entry)) => {
            let (mut key, mut value) = (String::new(), None);
            for item in Reader::new(entry) {
                match item? {
                    (1, Item::Bytes(text)) => key = utf8(text)?,
                    (2, item) => value = Some(read_value(of, item)?),
                    _ => {}
                }
            }
            let map = into.entry(field.name).or_insert_with(|| json!({}));
            if let Some(map) = map.as_object_mut() {
                map.insert(key, value.unwrap_or_else(|| of.zero()));
            }
        }
        (kind, item) => {
            let value = read_value(kind, item)?;
            if field.repeated {
                let list = into.entry(field.name).or_insert_with(|| json!([]));
                if let Some(list) = list.as_array_mut() {
                    list.push(value);
                }
            } else if field.keeps_zero || !is_zero(&value) {
                into.insert(field.name.into(), value);
            }
        }
    }
    Ok(())
}

fn read_value(kind: &Type, item: Item<'_>) -> Result<Value, DecodeError> {
    Ok(match (kind, item) {
        (Type::String, Item::Bytes(text)) => utf8(text)?.into(),
        (Type::Bytes, Item::Bytes(bytes)) => STANDARD.encode(bytes).into(),
        (Type::Int, Item::Varint(number)) => json!(number.cast_signed()),
        (Type::Bool, Item::Varint(number)) => json!(number != 0),
        (Type::Double, Item::Fixed64(bits)) => {
            Number::from_f64(f64::from_bits(bits)).map_or(Value::Null, Value::Number)
        }
        (Type::Message(name), Item::Bytes(bytes)) => {
            let message =
                fields::message(name).ok_or(DecodeError::Malformed("a message is not in the table"))?;
            let mut object = Map::new();
            read_message(message, bytes, &mut object)?;
            Value::Object(object)
        }
        (Type::Quantity, Item::Bytes(bytes)) => string_of(bytes, 1)?.into(),
        (Type::Time, Item::Bytes(bytes)) => time(bytes)?,
        (Type::IntOrString, Item::Bytes(bytes)) => {
            if number_of(bytes, 1)? == 0 {
                json!(number_of(bytes, 2)?)
            } else {
                string_of(bytes, 3)?.into()
            }
        }
        (Type::Raw, Item::Bytes(bytes)) => {
            let raw = string_of(bytes, 1)?;
            if raw.is_empty() {
                Value::Null
            } else {
                serde_json::from_str(&raw)
                    .map_err(|_| DecodeError::Malformed("embedded JSON cannot be read"))?
            }
        }
        (Type::Strings, Item::Bytes(bytes)) => {
            let texts = Reader::new(bytes).filter_map(|item| match item {
                Ok((1, Item::Bytes(text))) => Some(utf8(text).map(Value::from)),
                Ok(_) => None,
                Err(error) => Some(Err(error)),
            });
            texts.collect::<Result<Vec<_>, _>>()?.into()
        }
        _ => return Err(DecodeError::Malformed("a field has the wrong wire type")),
    })
}

/// Go leaves these out of JSON unless told otherwise. Empty objects stay: `omitempty` does not drop structs.
fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(set) => !set,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(_) | Value::Object(_) => false,
    }
}

fn string_of(bytes: &[u8], number: u32) -> Result<String, DecodeError> {
    let mut found = String::new();
    for item in Reader::new(bytes) {
        if let (n, Item::Bytes(text)) = item?
            && n == number
        {
            found = utf8(text)?;
        }
    }
    Ok(found)
}

fn number_of(bytes: &[u8], number: u32) -> Result<i64, DecodeError> {
    let mut found = 0;
    for item in Reader::new(bytes) {
        if let (n, Item::Varint(value)) = item?
            && n == number
        {
            found = value.cast_signed();
        }
    }
    Ok(found)
}

/// Whole seconds unless there is a fraction; no time at all when empty.
fn time(bytes: &[u8]) -> Result<Value, DecodeError> {
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    let nanos = i32::try_from(number_of(bytes, 2)?).unwrap_or_default();
    let time = Timestamp::new(number_of(bytes, 1)?, nanos)
        .map_err(|_| DecodeError::Malformed("a time is out of range"))?;
    Ok(time.to_string().into())
}

#[cfg(test)]
mod tests;
