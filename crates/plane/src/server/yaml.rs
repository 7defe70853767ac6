//! YAML as the API reads it: of a key given twice the last one wins, and it is noticed; complaints sound like go-yaml's.

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

/// Parses one document; the error is go-yaml's text for it.
pub(crate) fn parse(text: &str) -> Result<Document, String> {
    let error = match serde_saphyr::from_str(text) {
        Ok(value) => return Ok(Document { value, repeated: None }),
        Err(error) => error,
    };
    let (key, location) = match error.without_snippet() {
        Error::DuplicateMappingKey { key, location } => (key, location),
        // Of several documents the first one counts.
        Error::MultipleDocuments { .. } => {
            let all: Vec<Value> =
                serde_saphyr::from_multiple(text).map_err(|error| go_error(error.without_snippet(), text))?;
            return Ok(Document { value: all.into_iter().next().unwrap_or_default(), repeated: None });
        }
        other => return Err(go_error(other, text)),
    };
    let repeated = Repeated { key: key.clone().unwrap_or_default(), line: location.line() };
    let lenient = serde_saphyr::options! { duplicate_keys: DuplicateKeyPolicy::LastWins };
    let value = serde_saphyr::from_str_with_options(text, lenient)
        .map_err(|error| go_error(error.without_snippet(), text))?;
    Ok(Document { value, repeated: Some(repeated) })
}

/// Where go-yaml stands when it complains, in lines counted from 0.
enum Place {
    /// Its scanner knows the line, and counts it from 1.
    Scanned(usize),
    /// Its parser counts from 0: it names the line before.
    Parsed(usize),
}

/// What go-yaml says about the same text. It names no line where its count is 0.
fn go_error(error: &Error, text: &str) -> String {
    let words = match error {
        Error::ExternalMessage { msg, .. } => msg.as_str(),
        Error::UnknownAnchor { location } => {
            let name: String = text
                .lines()
                .nth(from_zero(location.line()))
                .into_iter()
                .flat_map(|line| line.chars().skip(from_zero(location.column())))
                .skip_while(|c| *c == '*')
                .take_while(|c| !c.is_whitespace())
                .collect();
            return format!("yaml: unknown anchor '{name}' referenced");
        }
        other => return format!("yaml: {other}"),
    };
    let here = error.location().map_or(0, |location| from_zero(location.line()));
    // At its end go-yaml's parser stands on the line after the last; its scanner still on the last.
    let (after, last) = (text.lines().count(), text.matches('\n').count());
    let (words, place) = match words {
        "unclosed quote" | "invalid indentation in multiline quoted scalar" => {
            ("found unexpected end of stream", Place::Scanned(last))
        }
        words
            if words.starts_with("unexpected EOF while parsing") || words.starts_with("unclosed bracket") =>
        {
            let open = text.trim_end().ends_with(['{', '[', ',', ':']);
            let words = match words.contains("sequence") || words.contains('[') {
                _ if open => "did not find expected node content",
                true => "did not find expected ',' or ']'",
                false => "did not find expected ',' or '}'",
            };
            (words, Place::Parsed(after))
        }
        // Noticed on the next line.
        "simple key expected ':'" => ("could not find expected ':'", Place::Scanned(here + 1)),
        "unsupported YAML major version" => ("found incompatible YAML document", Place::Parsed(here)),
        words if words.starts_with("mismatched bracket '['") => {
            ("did not find expected ',' or ']'", Place::Parsed(here))
        }
        words if words.starts_with("mismatched bracket") => {
            ("did not find expected ',' or '}'", Place::Parsed(here))
        }
        words if words.starts_with("invalid trailing content after") => {
            ("did not find expected key", Place::Parsed(here))
        }
        words if words.starts_with("unexpected character") || words.starts_with("tab") => {
            ("found character that cannot start any token", Place::Scanned(here))
        }
        words => match words.split_once(", ") {
            // What goes on inside a scalar or a tag its scanner says, too, whatever it calls that.
            Some(("while parsing a quoted scalar" | "while parsing a tag", words)) => {
                (words, Place::Scanned(here))
            }
            Some((context, words)) if context.starts_with("while parsing") => (words, Place::Parsed(here)),
            Some((context, words)) if context.starts_with("while scanning") => (words, Place::Scanned(here)),
            _ => (words, Place::Scanned(here)),
        },
    };
    match place {
        Place::Scanned(0) | Place::Parsed(0) => format!("yaml: {words}"),
        Place::Scanned(line) => format!("yaml: line {}: {words}", line + 1),
        Place::Parsed(line) => format!("yaml: line {line}: {words}"),
    }
}

fn from_zero(count: u64) -> usize {
    usize::try_from(count.saturating_sub(1)).unwrap_or(usize::MAX)
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
        assert_eq!(parse("{").unwrap_err(), "yaml: line 1: did not find expected node content");
    }
}
