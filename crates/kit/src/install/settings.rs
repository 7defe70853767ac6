//! The name of a settings ConfigMap.

use serde_json::json;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write;

/// `name` with the suffix that kustomize gives a generated ConfigMap with these settings. Whoever replaces an original
/// that kustomize installed then finds the same object, not a second one.
#[must_use]
pub fn settings_name(name: &str, data: &BTreeMap<String, String>) -> String {
    let hashed = as_go(&json!({"data": data, "kind": "ConfigMap", "name": ""}).to_string());
    let mut suffix = String::new();
    for byte in Sha256::digest(hashed).iter().take(5) {
        let _ = write!(suffix, "{byte:02x}"); // writing to a String cannot fail
    }
    // Without vowels, and without what looks like one, no suffix is an unlucky word.
    let readable = suffix.chars().map(|c| match c {
        '0' => 'g',
        '1' => 'h',
        '3' => 'k',
        'a' => 'm',
        'e' => 't',
        other => other,
    });
    format!("{name}-{}", readable.collect::<String>())
}

/// JSON as Go writes it, which escapes what HTML might misread. None of these stand outside of strings.
fn as_go(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                let _ = write!(text, "\\u{:04x}", u32::from(c)); // writing to a String cannot fail
            }
            other => text.push(other),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_html_might_misread_is_escaped_as_go_does() {
        assert_eq!(as_go(r#"{"u":"a?b=1&c=<d>é"}"#), r#"{"u":"a?b=1\u0026c=\u003cd\u003eé"}"#);
    }

    #[test]
    fn the_suffix_changes_with_the_settings_and_has_no_vowel() {
        let one = settings_name("params", &[("key".to_owned(), "one".to_owned())].into());
        let other = settings_name("params", &[("key".to_owned(), "two".to_owned())].into());
        assert_ne!(one, other);
        let suffix = one.strip_prefix("params-").expect("the name comes first");
        assert_eq!((suffix.len(), suffix.contains(['a', 'e', '0', '1', '3'])), (10, false));
    }
}
