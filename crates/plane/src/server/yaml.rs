//! YAML as the API reads it: of a key given twice the last one wins, and it is noticed.

use serde_json::Value;
use serde_saphyr::Error;
use serde_saphyr::options::DuplicateKeyPolicy;

/// A parsed document.
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) value: Value,
    /// The first key that is given twice.
    pub(crate) repeated: Option<Repeated>,
}

/// A key that a mapping has already.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Repeated {
    pub(crate) key: String,
    line: u64,
}

/// As the real server's decoder complains when it is strict.
impl std::fmt::Display for Repeated {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { key, line } = self;
        write!(
            f,
            "yaml: unmarshal errors:\n  line {line}: key {} already set in map",
            crate::status::go_quote(key)
        )
    }
}

/// Parses one document; the error is our parser's text.
pub(crate) fn parse(text: &str) -> Result<Document, String> {
    let error = match serde_saphyr::from_str(text) {
        Ok(value) => return Ok(Document { value, repeated: None }),
        Err(error) => error,
    };
    let Error::DuplicateMappingKey { key, location } = error.without_snippet() else {
        return Err(error.to_string());
    };
    let repeated = Repeated { key: key.clone().unwrap_or_default(), line: location.line() };
    let lenient = serde_saphyr::options! { duplicate_keys: DuplicateKeyPolicy::LastWins };
    let value = serde_saphyr::from_str_with_options(text, lenient).map_err(|error| error.to_string())?;
    Ok(Document { value, repeated: Some(repeated) })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_last_of_two_wins_and_the_second_is_told() {
        let read = parse("a: 1\nb:\n  x: 1\n  x: 2\n").unwrap();
        assert_eq!(read.value, json!({"a": 1, "b": {"x": 2}}));
        assert_eq!(
            read.repeated.unwrap().to_string(),
            "yaml: unmarshal errors:\n  line 4: key \"x\" already set in map"
        );
        assert_eq!(parse("a: 1").unwrap().repeated, None);
        assert!(parse("{").is_err());
    }
}
