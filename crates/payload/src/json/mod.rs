//! JSON that is only looked at where it matters.
//!
//! A body is kept as the text it came in. [`Raw`] is one valid JSON value as text, [`Object`] the members of one
//! object, each still text. Going down one level costs one scan without recursion; what nobody touches goes out as it
//! came in: key order, large integers and number spelling survive, and deep nesting costs no stack.

mod object;
mod raw;

pub use object::Object;
pub use raw::Raw;

use std::fmt;

/// Deepest nesting that is accepted: the same bound the original's parser has.
pub const MAX_DEPTH: usize = 10_000;

/// Most members of one object, or items of one array, that we will index. The index costs some 80 bytes each, so a
/// body of empty members would otherwise cost far more memory than its size.
pub const MAX_ITEMS: usize = 65_536;

/// Why a text is not the JSON that was asked for. The wording follows the original's parser where clients know it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// The text ends inside a value.
    #[error("unexpected end of JSON input")]
    UnexpectedEnd,
    /// A valid value, but not an object.
    #[error("json: cannot unmarshal {0} into Go value of type map[string]interface {{}}")]
    NotAnObject(Kind),
    /// Nested deeper than [`MAX_DEPTH`].
    #[error("exceeded max depth")]
    TooDeep,
    /// An object or array with more than [`MAX_ITEMS`] members.
    #[error("more than {MAX_ITEMS} members in one object or array")]
    TooManyItems,
    /// Everything else; the text names a position, never content.
    #[error("{0}")]
    Syntax(String),
}

impl ParseError {
    fn from_serde(error: &serde_json::Error) -> Self {
        if error.is_eof() {
            return ParseError::UnexpectedEnd;
        }
        let text = error.to_string();
        if text.contains(TOO_MANY) { ParseError::TooManyItems } else { ParseError::Syntax(text) }
    }
}

/// Marks our own error inside serde's.
const TOO_MANY: &str = "too many members";

/// What a JSON value is, by its first character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `null`
    Null,
    /// `true` or `false`
    Bool,
    /// any number
    Number,
    /// any string
    String,
    /// `[…]`
    Array,
    /// `{…}`
    Object,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Null => "null",
            Kind::Bool => "bool",
            Kind::Number => "number",
            Kind::String => "string",
            Kind::Array => "array",
            Kind::Object => "object",
        })
    }
}

/// Refuses text nested deeper than [`MAX_DEPTH`], before any parser looks at it.
fn check_depth(text: &[u8]) -> Result<(), ParseError> {
    if text.len() <= MAX_DEPTH {
        return Ok(()); // cannot be deeper than it is long
    }
    let (mut depth, mut in_string, mut escaped) = (0usize, false, false);
    for byte in text {
        match (in_string, byte) {
            (true, _) if escaped => escaped = false,
            (true, b'\\') => escaped = true,
            (_, b'"') => in_string = !in_string,
            (false, b'{' | b'[') => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return Err(ParseError::TooDeep);
                }
            }
            (false, b'}' | b']') => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
