//! One JSON value, as text.

use std::borrow::Cow;
use std::fmt;

use bytes::{BufMut, Bytes, BytesMut};
use serde::de::{Deserialize, Deserializer, Error as _, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::{Kind, MAX_ITEMS, Object, ParseError, TOO_MANY, check_depth};

/// One valid JSON value as text, without white space around it.
#[derive(Clone, PartialEq, Eq)]
pub struct Raw(Bytes);

impl Raw {
    /// Checks that `text` is exactly one JSON value.
    pub fn parse(text: &Bytes) -> Result<Raw, ParseError> {
        check_depth(text)?;
        let value: &RawValue = serde_json::from_slice(text).map_err(|e| ParseError::from_serde(&e))?;
        Ok(Raw::within(text, value))
    }

    /// The part of `text` that `value` was read from, sharing its memory.
    pub(super) fn within(text: &Bytes, value: &RawValue) -> Raw {
        Raw(text.slice_ref(value.get().as_bytes()))
    }

    /// A JSON string.
    pub fn string(text: &str) -> Raw {
        Raw(serde_json::to_vec(text).expect("a string serialises").into())
    }

    /// A JSON integer.
    pub fn integer(value: i64) -> Raw {
        Raw(value.to_string().into())
    }

    /// `true` or `false`.
    pub fn bool(value: bool) -> Raw {
        Raw(Bytes::from_static(if value { b"true" } else { b"false" }))
    }

    /// `null`.
    pub fn null() -> Raw {
        Raw(Bytes::from_static(b"null"))
    }

    /// A JSON array of values.
    pub fn array<'a>(items: impl IntoIterator<Item = &'a Raw>) -> Raw {
        let mut text = BytesMut::from(&b"["[..]);
        for (index, item) in items.into_iter().enumerate() {
            if index > 0 {
                text.put_u8(b',');
            }
            text.extend_from_slice(&item.0);
        }
        text.put_u8(b']');
        Raw(text.freeze())
    }

    pub(super) fn from_trusted(text: Bytes) -> Raw {
        Raw(text)
    }

    /// The JSON text.
    pub fn text(&self) -> &Bytes {
        &self.0
    }

    /// The JSON text, given away.
    pub fn into_text(self) -> Bytes {
        self.0
    }

    /// What kind of value it is.
    pub fn kind(&self) -> Kind {
        match self.0.first() {
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::Array,
            Some(b'"') => Kind::String,
            Some(b't' | b'f') => Kind::Bool,
            Some(b'n') | None => Kind::Null,
            Some(_) => Kind::Number,
        }
    }

    /// True for `null`.
    pub fn is_null(&self) -> bool {
        self.kind() == Kind::Null
    }

    /// The string's content. Lone surrogates, which JSON can spell and UTF-8 cannot, become U+FFFD.
    pub fn as_text(&self) -> Option<String> {
        (self.kind() == Kind::String)
            .then(|| serde_json::from_slice::<Lossy>(&self.0).ok())
            .flatten()
            .map(|l| l.0)
    }

    /// The value of a boolean.
    pub fn as_bool(&self) -> Option<bool> {
        (self.kind() == Kind::Bool).then(|| self.0.first() == Some(&b't'))
    }

    /// The value of a number, to double precision.
    pub fn as_number(&self) -> Option<f64> {
        (self.kind() == Kind::Number).then(|| std::str::from_utf8(&self.0).ok()?.parse().ok()).flatten()
    }

    /// The items of an array.
    pub fn as_array(&self) -> Option<Vec<Raw>> {
        if self.kind() != Kind::Array {
            return None;
        }
        let items: Items<'_> = serde_json::from_slice(&self.0).ok()?;
        Some(items.0.into_iter().map(|item| Raw::within(&self.0, item)).collect())
    }

    /// The members of an object.
    pub fn as_object(&self) -> Option<Object> {
        if self.kind() != Kind::Object {
            return None;
        }
        Object::parse(&self.0).ok()
    }
}

impl fmt::Debug for Raw {
    /// Only the size: bodies hold what people say, and do not belong into logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Raw({:?}, {} bytes)", self.kind(), self.0.len())
    }
}

impl From<&str> for Raw {
    fn from(text: &str) -> Raw {
        Raw::string(text)
    }
}

impl From<String> for Raw {
    fn from(text: String) -> Raw {
        Raw::string(&text)
    }
}

impl From<i64> for Raw {
    fn from(value: i64) -> Raw {
        Raw::integer(value)
    }
}

impl From<bool> for Raw {
    fn from(value: bool) -> Raw {
        Raw::bool(value)
    }
}

impl From<Vec<Raw>> for Raw {
    fn from(items: Vec<Raw>) -> Raw {
        Raw::array(&items)
    }
}

impl From<Object> for Raw {
    fn from(object: Object) -> Raw {
        Raw(object.into_text())
    }
}

/// An array's items, at most [`MAX_ITEMS`].
struct Items<'a>(Vec<&'a RawValue>);

impl<'de> Deserialize<'de> for Items<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = Items<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = seq.next_element::<&RawValue>()? {
                    if items.len() == MAX_ITEMS {
                        return Err(A::Error::custom(TOO_MANY));
                    }
                    items.push(item);
                }
                Ok(Items(items))
            }
        }
        deserializer.deserialize_seq(V)
    }
}

/// A string in which what is not UTF-8 is replaced.
struct Lossy(String);

impl<'de> Deserialize<'de> for Lossy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V;
        impl Visitor<'_> for V {
            type Value = Lossy;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_str<E>(self, text: &str) -> Result<Lossy, E> {
                Ok(Lossy(text.to_owned()))
            }
            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Lossy, E> {
                Ok(Lossy(match String::from_utf8_lossy(bytes) {
                    Cow::Borrowed(text) => text.to_owned(),
                    Cow::Owned(text) => text,
                }))
            }
        }
        // Asked for bytes, serde_json lets lone surrogates through; asked for a string it refuses them.
        deserializer.deserialize_bytes(V)
    }
}
