//! The headers of one message, and what plugins did to them.

use std::fmt;

use bytes::Bytes;

/// Headers whose values are credentials: never printed, and never handed on to a provider they are not meant for.
pub const CREDENTIAL_HEADERS: [&str; 4] = ["authorization", "x-api-key", "api-key", "x-goog-api-key"];

/// The headers of one message (names in lower case, pseudo headers included) with a record of the changes.
#[derive(Clone, Default)]
pub struct Headers {
    current: Vec<(String, Bytes)>,
    changes: Changes,
}

/// What has to be told to Envoy, which applies removals first, then sets.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// Headers to set, replacing what is there.
    pub set: Vec<(String, Bytes)>,
    /// Headers to remove.
    pub removed: Vec<String>,
}

impl Headers {
    /// The headers as received; of a repeated one the last counts.
    pub fn received<N: Into<String>, V: Into<Bytes>>(headers: impl IntoIterator<Item = (N, V)>) -> Headers {
        let mut all = Headers::default();
        for (name, value) in headers {
            let mut name: String = name.into();
            name.make_ascii_lowercase();
            put(&mut all.current, name, value.into());
        }
        all
    }

    /// A header's value.
    pub fn get(&self, name: &str) -> Option<&Bytes> {
        self.current.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// A header's value, if it is text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(|value| std::str::from_utf8(value).ok())
    }

    /// The namespace and name that the path claims: its first two segments, if there are two.
    pub fn claimed_model(&self) -> Option<(&str, &str)> {
        let mut segments = self.bare_path()?.split('/');
        let (namespace, name) = (segments.next()?, segments.next()?);
        (!namespace.is_empty() && !name.is_empty()).then_some((namespace, name))
    }

    /// The path without query and without slashes at the ends. Nothing is percent-decoded: what Envoy routed on counts.
    pub fn bare_path(&self) -> Option<&str> {
        let path = self.text(":path")?.trim();
        Some(path.split_once('?').map_or(path, |(path, _)| path).trim_matches('/'))
    }

    /// Sets a header. Nothing is recorded if it has that value already.
    pub fn set(&mut self, name: &str, value: impl Into<Bytes>) {
        let (name, value) = (name.to_ascii_lowercase(), value.into());
        if self.get(&name) == Some(&value) {
            return;
        }
        self.changes.removed.retain(|removed| *removed != name);
        put(&mut self.changes.set, name.clone(), value.clone());
        put(&mut self.current, name, value);
    }

    /// Removes a header, if it is there.
    pub fn remove(&mut self, name: &str) {
        let name = name.to_ascii_lowercase();
        if self.get(&name).is_none() {
            return;
        }
        self.current.retain(|(n, _)| *n != name);
        self.changes.set.retain(|(n, _)| *n != name);
        self.changes.removed.push(name);
    }

    /// What was changed since the headers were received.
    pub fn changes(&self) -> &Changes {
        &self.changes
    }

    /// The headers' names and values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Bytes)> {
        self.current.iter().map(|(name, value)| (name.as_str(), value))
    }
}

impl fmt::Debug for Headers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Headers")
            .field("current", &Redacted(&self.current))
            .field("changes", &self.changes)
            .finish()
    }
}

impl fmt::Debug for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Changes").field("set", &Redacted(&self.set)).field("removed", &self.removed).finish()
    }
}

/// Prints headers without credentials.
struct Redacted<'a>(&'a [(String, Bytes)]);

impl fmt::Debug for Redacted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.0.iter().map(|(name, value)| {
            let secret = CREDENTIAL_HEADERS.contains(&name.as_str()) || name == "cookie";
            (name, if secret { "<redacted>".into() } else { String::from_utf8_lossy(value) })
        });
        f.debug_map().entries(shown).finish()
    }
}

fn put(list: &mut Vec<(String, Bytes)>, name: String, value: Bytes) {
    match list.iter_mut().find(|(n, _)| *n == name) {
        Some(entry) => entry.1 = value,
        None => list.push((name, value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers() -> Headers {
        Headers::received([("A", "1"), ("authorization", "Bearer secret"), ("a", "2")])
    }

    #[test]
    fn of_repeated_headers_the_last_counts_whatever_the_case() {
        assert_eq!(headers().text("A"), Some("2"));
    }

    #[test]
    fn setting_what_is_there_records_nothing() {
        let mut headers = headers();
        headers.set("A", "2");
        headers.remove("missing");
        assert_eq!(headers.changes(), &Changes::default());
    }

    #[test]
    fn remove_then_set_is_a_set_and_set_then_remove_a_removal() {
        let mut headers = headers();
        headers.remove("Authorization");
        headers.set("authorization", "x");
        headers.set("new", "1");
        headers.remove("new");
        let expected =
            Changes { set: vec![("authorization".into(), "x".into())], removed: vec!["new".to_owned()] };
        assert_eq!(headers.changes(), &expected);
        assert_eq!(headers.text("authorization"), Some("x"));
    }

    #[test]
    fn credentials_are_not_printed() {
        let mut headers = headers();
        headers.set("x-api-key", "sk-1");
        let printed = format!("{headers:?}");
        assert!(!printed.contains("secret") && !printed.contains("sk-1"), "{printed}");
    }

    #[test]
    fn the_path_claims_a_model_by_its_first_two_segments() {
        let claimed = |path: &'static str| {
            let headers = Headers::received([(":path", path)]);
            headers.claimed_model().map(|(ns, name)| format!("{ns} {name}"))
        };
        for (path, expected) in [
            ("/llm/gpt/v1/chat/completions", Some("llm gpt")),
            (" /llm/gpt?x=/a/b ", Some("llm gpt")),
            ("//llm/gpt/", Some("llm gpt")),
            ("/llm", None),
            ("/llm//gpt", None),
            ("/", None),
            ("/llm%2Fgpt/x", Some("llm%2Fgpt x")),
        ] {
            assert_eq!(claimed(path).as_deref(), expected, "{path}");
        }
    }
}
