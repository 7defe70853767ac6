//! The members of one JSON object, each as text.

use std::fmt;

use bytes::{BufMut, Bytes, BytesMut};
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::{Kind, MAX_ITEMS, ParseError, Raw, TOO_MANY, check_depth};

/// One object: its members in the order they came, and its own text for as long as nothing was changed.
#[derive(Clone, Debug, Default)]
pub struct Object {
    members: Vec<(String, Raw)>,
    /// The text the members were read from; `None` once something was changed.
    unchanged: Option<Bytes>,
}

impl Object {
    /// An empty object to build on.
    pub fn new() -> Object {
        Object::default()
    }

    /// Reads an object; `null` counts as an empty one, as in the original.
    pub fn parse(text: &Bytes) -> Result<Object, ParseError> {
        check_depth(text)?;
        match text.iter().find(|b| !b.is_ascii_whitespace()) {
            Some(b'{') => {
                let found: Members<'_> =
                    serde_json::from_slice(text).map_err(|e| ParseError::from_serde(&e))?;
                let members =
                    found.0.into_iter().map(|(key, value)| (key, Raw::within(text, value))).collect();
                Ok(Object { members, unchanged: Some(text.clone()) })
            }
            _ => match Raw::parse(text)?.kind() {
                Kind::Null => Ok(Object { members: vec![], unchanged: Some(text.clone()) }),
                kind => Err(ParseError::NotAnObject(kind)),
            },
        }
    }

    /// The member `key`; of several, the last.
    pub fn get(&self, key: &str) -> Option<&Raw> {
        self.members.iter().rev().find(|(k, _)| k == key).map(|(_, value)| value)
    }

    /// The member `key` if it is a string.
    pub fn text_of(&self, key: &str) -> Option<String> {
        self.get(key)?.as_text()
    }

    /// How often `key` occurs.
    pub fn count(&self, key: &str) -> usize {
        self.members.iter().filter(|(k, _)| k == key).count()
    }

    /// True if it has no members.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The members, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Raw)> {
        self.members.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// Sets a member: in place if it is there, else at the end.
    pub fn set(&mut self, key: &str, value: impl Into<Raw>) {
        self.unchanged = None;
        let value = value.into();
        match self.members.iter().position(|(k, _)| k == key) {
            Some(at) => {
                self.members[at].1 = value;
                let mut index = 0;
                self.members.retain(|(k, _)| {
                    index += 1;
                    index - 1 <= at || k != key
                });
            }
            None => self.members.push((key.to_owned(), value)),
        }
    }

    /// [`Object::set`], for building.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Raw>) -> Object {
        self.set(key, value);
        self
    }

    /// [`Object::with`], if there is a value.
    #[must_use]
    pub fn with_some(self, key: &str, value: Option<impl Into<Raw>>) -> Object {
        match value {
            Some(value) => self.with(key, value),
            None => self,
        }
    }

    /// Removes a member; true if it was there.
    pub fn remove(&mut self, key: &str) -> bool {
        let before = self.members.len();
        self.members.retain(|(k, _)| k != key);
        let removed = self.members.len() != before;
        if removed {
            self.unchanged = None;
        }
        removed
    }

    /// True if the text is still the one it was read from.
    pub fn is_unchanged(&self) -> bool {
        self.unchanged.is_some()
    }

    /// The JSON text: what was read if nothing was changed, else written anew from the members.
    pub fn to_text(&self) -> Bytes {
        if let Some(text) = &self.unchanged {
            return text.clone();
        }
        let size =
            self.members.iter().map(|(key, value)| key.len() + value.text().len() + 4).sum::<usize>() + 2;
        let mut text = BytesMut::with_capacity(size);
        text.put_u8(b'{');
        for (index, (key, value)) in self.members.iter().enumerate() {
            if index > 0 {
                text.put_u8(b',');
            }
            text.extend_from_slice(Raw::string(key).text());
            text.put_u8(b':');
            text.extend_from_slice(value.text());
        }
        text.put_u8(b'}');
        text.freeze()
    }

    /// [`Object::to_text`], giving the object away.
    pub fn into_text(self) -> Bytes {
        self.to_text()
    }

    /// This object as a value.
    pub fn to_raw(&self) -> Raw {
        Raw::from_trusted(self.to_text())
    }
}

/// An object's members, at most [`MAX_ITEMS`].
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = Members<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry::<String, &RawValue>()? {
                    if members.len() == MAX_ITEMS {
                        return Err(A::Error::custom(TOO_MANY));
                    }
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(V)
    }
}
