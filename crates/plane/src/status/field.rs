//! Field errors: a path, a kind of failure and its body, printed as the real server prints them.

use std::fmt;

use serde_json::Value;

use super::go_quote;

/// Where in an object: `spec.containers[0].env[KEY]`.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path(String);

/// One step of a [`Path`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathSegment<'a> {
    /// `.child`
    Child(&'a str),
    /// `[0]`
    Index(usize),
    /// `[key]`
    Key(&'a str),
}

impl Path {
    /// The root: prints as `<nil>` in an error.
    pub fn root() -> Self {
        Self::default()
    }

    /// A path from its printed form.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// This path and one step more.
    pub fn join(&self, segment: PathSegment<'_>) -> Self {
        match segment {
            PathSegment::Child(name) if self.0.is_empty() => Self(name.to_string()),
            PathSegment::Child(name) => Self(format!("{}.{name}", self.0)),
            PathSegment::Index(i) => Self(format!("{}[{i}]", self.0)),
            PathSegment::Key(key) => Self(format!("{}[{key}]", self.0)),
        }
    }

    /// `.name`
    pub fn child(&self, name: &str) -> Self {
        self.join(PathSegment::Child(name))
    }

    /// `[i]`
    pub fn index(&self, i: usize) -> Self {
        self.join(PathSegment::Index(i))
    }

    /// `[key]`
    pub fn key(&self, key: &str) -> Self {
        self.join(PathSegment::Key(key))
    }

    /// The printed form; empty for the root.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for Path {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

/// What is wrong with a field. The variant decides the cause's `reason` and how the body reads.
#[derive(Debug, Clone, PartialEq)]
pub enum FieldErrorKind {
    /// `Required value[: detail]`
    Required(String),
    /// `Invalid value: <v>: detail`
    Invalid(Value, String),
    /// As `Invalid`, for a value of the wrong type.
    TypeInvalid(Value, String),
    /// `Invalid value: detail`, for a failed CEL rule on an object or array, which prints no value.
    InvalidRule(String),
    /// `Unsupported value: <v>: supported values: "a", "b"`
    NotSupported(Value, Vec<String>),
    /// `Duplicate value: <v>`
    Duplicate(Value),
    /// `Duplicate value`, from a CEL rule with that reason.
    DuplicateRule,
    /// `Not found: <v>`
    NotFound(Value),
    /// `Forbidden: detail`
    Forbidden(String),
    /// `Too long: may not be more than N bytes`
    TooLong(usize),
    /// `Too many: n: must have at most N items`
    TooMany(usize, usize),
    /// `Too short: must be at least N characters`
    TooShort(usize),
    /// `Too few: n: must have at least N items`
    TooFew(usize, usize),
    /// `Internal error: detail`
    Internal(String),
    /// A finished body under a given reason, where the real server's text follows no rule.
    Verbatim(&'static str, String),
}

impl FieldErrorKind {
    /// The `reason` of the cause.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Required(_) => "FieldValueRequired",
            Self::Invalid(..) | Self::InvalidRule(_) => "FieldValueInvalid",
            Self::TypeInvalid(..) => "FieldValueTypeInvalid",
            Self::NotSupported(..) => "FieldValueNotSupported",
            Self::Duplicate(_) | Self::DuplicateRule => "FieldValueDuplicate",
            Self::NotFound(_) => "FieldValueNotFound",
            Self::Forbidden(_) => "FieldValueForbidden",
            Self::TooLong(_) => "FieldValueTooLong",
            Self::TooMany(..) => "FieldValueTooMany",
            Self::TooShort(_) => "FieldValueTooShort",
            Self::TooFew(..) => "FieldValueTooFew",
            Self::Internal(_) => "InternalError",
            Self::Verbatim(reason, _) => reason,
        }
    }
}

/// One thing wrong with one field.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldError {
    /// The field.
    pub path: Path,
    /// What is wrong with it.
    pub kind: FieldErrorKind,
}

impl FieldError {
    /// An error at a path.
    pub fn new(path: impl Into<Path>, kind: FieldErrorKind) -> Self {
        Self { path: path.into(), kind }
    }

    /// `Required value`.
    pub fn required(path: impl Into<Path>, detail: impl Into<String>) -> Self {
        Self::new(path, FieldErrorKind::Required(detail.into()))
    }

    /// `Invalid value: <v>: detail`.
    pub fn invalid(path: impl Into<Path>, value: impl Into<Value>, detail: impl Into<String>) -> Self {
        Self::new(path, FieldErrorKind::Invalid(value.into(), detail.into()))
    }

    /// `Forbidden: detail`.
    pub fn forbidden(path: impl Into<Path>, detail: impl Into<String>) -> Self {
        Self::new(path, FieldErrorKind::Forbidden(detail.into()))
    }

    /// `Unsupported value: …`.
    pub fn not_supported(path: impl Into<Path>, value: impl Into<Value>, supported: &[&str]) -> Self {
        let supported = supported.iter().map(ToString::to_string).collect();
        Self::new(path, FieldErrorKind::NotSupported(value.into(), supported))
    }

    /// The text after the path.
    pub fn body(&self) -> String {
        use FieldErrorKind as K;
        match &self.kind {
            K::Required(detail) if detail.is_empty() => "Required value".into(),
            K::Required(detail) => format!("Required value: {detail}"),
            K::Invalid(value, detail) | K::TypeInvalid(value, detail) => {
                format!("Invalid value: {}: {detail}", show(value))
            }
            K::InvalidRule(detail) => format!("Invalid value: {detail}"),
            K::NotSupported(value, supported) => {
                let quoted: Vec<String> = supported.iter().map(|s| go_quote(s)).collect();
                format!("Unsupported value: {}: supported values: {}", show(value), quoted.join(", "))
            }
            K::Duplicate(value) => format!("Duplicate value: {}", show(value)),
            K::DuplicateRule => "Duplicate value".into(),
            K::NotFound(value) => format!("Not found: {}", show(value)),
            K::Forbidden(detail) => format!("Forbidden: {detail}"),
            K::TooLong(max) => {
                format!("Too long: may not be more than {max} {}", plural(*max, "byte"))
            }
            K::TooMany(got, max) => {
                format!("Too many: {got}: must have at most {max} {}", plural(*max, "item"))
            }
            K::TooShort(min) => format!("Too short: must be at least {min} {}", plural(*min, "character")),
            K::TooFew(got, min) => {
                format!("Too few: {got}: must have at least {min} {}", plural(*min, "item"))
            }
            K::Internal(detail) => format!("Internal error: {detail}"),
            K::Verbatim(_, body) => body.clone(),
        }
    }

    /// The printed path, `<nil>` for the root.
    pub fn path_text(&self) -> &str {
        match self.path.as_str() {
            "" => "<nil>",
            text => text,
        }
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path_text(), self.body())
    }
}

fn plural(n: usize, word: &str) -> String {
    if n == 1 { word.to_string() } else { format!("{word}s") }
}

/// Strings Go-quoted, everything else as compact JSON.
fn show(value: &Value) -> String {
    match value {
        Value::String(s) => go_quote(s),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn bodies_read_as_the_real_server_prints_them() {
        let path = Path::new("spec").child("ports").index(0).key("k");
        assert_eq!(path.as_str(), "spec.ports[0][k]");
        let show = |kind| FieldError::new("spec.x", kind).to_string();
        assert_eq!(show(FieldErrorKind::Required(String::new())), "spec.x: Required value");
        assert_eq!(
            show(FieldErrorKind::NotSupported(json!("blue"), vec!["red".into(), "green".into()])),
            r#"spec.x: Unsupported value: "blue": supported values: "red", "green""#
        );
        assert_eq!(show(FieldErrorKind::TooLong(1)), "spec.x: Too long: may not be more than 1 byte");
        assert_eq!(show(FieldErrorKind::TooMany(3, 2)), "spec.x: Too many: 3: must have at most 2 items");
        assert_eq!(
            FieldError::new(Path::root(), FieldErrorKind::Invalid(Value::Null, "why".into())).to_string(),
            "<nil>: Invalid value: null: why"
        );
    }
}
