//! More ways to make a [`FieldError`], and how Go prints values in them.

use serde_json::{Number, Value};

use crate::status::{FieldError, FieldErrorKind, Path};

impl From<String> for Path {
    fn from(text: String) -> Self {
        Path::new(text)
    }
}

impl FieldError {
    /// `Invalid value: <value>: <detail>` with the reason of a type error.
    pub fn type_invalid(path: impl Into<Path>, value: impl Into<Value>, detail: impl Into<String>) -> Self {
        Self::new(path, FieldErrorKind::TypeInvalid(value.into(), detail.into()))
    }

    /// As [`FieldError::invalid`], for a value the server prints in its internal form.
    pub fn invalid_text(path: impl Into<Path>, value: &str, detail: &str) -> Self {
        let body = format!("Invalid value: {value}: {detail}");
        Self::new(path, FieldErrorKind::Verbatim("FieldValueInvalid", body))
    }

    /// `Unsupported value: <value>: supported values: …`, in the order given.
    pub fn unsupported(path: impl Into<Path>, value: impl Into<Value>, supported: Vec<String>) -> Self {
        Self::new(path, FieldErrorKind::NotSupported(value.into(), supported))
    }

    /// `Duplicate value: <value>`.
    pub fn duplicate(path: impl Into<Path>, value: impl Into<Value>) -> Self {
        Self::new(path, FieldErrorKind::Duplicate(value.into()))
    }

    /// `Not found: <value>`.
    pub fn not_found(path: impl Into<Path>, value: impl Into<Value>) -> Self {
        Self::new(path, FieldErrorKind::NotFound(value.into()))
    }

    /// `Too long: may not be more than <max> bytes`.
    pub fn too_long(path: impl Into<Path>, max: usize) -> Self {
        Self::new(path, FieldErrorKind::TooLong(max))
    }

    /// `Too many: <actual>: must have at most <max> items`.
    pub fn too_many(path: impl Into<Path>, actual: usize, max: usize) -> Self {
        Self::new(path, FieldErrorKind::TooMany(actual, max))
    }

    /// The same error with `prefix` in front of its path.
    pub fn under(mut self, prefix: &str) -> Self {
        self.path = Path::new(join(prefix, self.path.as_str()));
        self
    }
}

/// `parent.child`, where either may be empty and a child may begin with `[`.
pub fn join(parent: &str, child: &str) -> String {
    if parent.is_empty() {
        child.to_owned()
    } else if child.is_empty() {
        parent.to_owned()
    } else if child.starts_with('[') {
        format!("{parent}{child}")
    } else {
        format!("{parent}.{child}")
    }
}

/// A number as Go prints it with `%v`: whole floats without a fraction.
pub fn go_number(number: &Number) -> String {
    match number.as_f64() {
        Some(float) if number.is_f64() => go_float(float),
        _ => number.to_string(),
    }
}

/// A float as Go prints it with `%v`: shortest form, exponents from 1e21 on and below 1e-4.
pub fn go_float(float: f64) -> String {
    let size = float.abs();
    if size != 0.0 && !(1e-4..1e21).contains(&size) {
        let text = format!("{float:e}");
        return match text.split_once('e') {
            Some((mantissa, exponent)) => {
                let (sign, digits) = match exponent.strip_prefix('-') {
                    Some(digits) => ('-', digits),
                    None => ('+', exponent),
                };
                format!("{mantissa}e{sign}{digits:0>2}")
            }
            None => text,
        };
    }
    format!("{float}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn floats_print_as_in_go() {
        for (float, text) in [(1.0, "1"), (0.3, "0.3"), (1e21, "1e+21"), (1.5e-7, "1.5e-07"), (0.0, "0")] {
            assert_eq!(go_float(float), text);
        }
    }

    #[test]
    fn paths_join() {
        let error = FieldError::duplicate("[1]".to_owned(), json!({"name": "a"})).under("spec.set");
        assert_eq!(error.to_string(), r#"spec.set[1]: Duplicate value: {"name":"a"}"#);
        assert_eq!(join("", "a"), "a");
        assert_eq!(join("a", ""), "a");
    }
}
