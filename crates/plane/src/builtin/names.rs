//! Names, labels and keys: the shapes they must have, and the words when they have not.

use std::sync::LazyLock;

use regex::Regex;

type Check = Result<(), String>;
type Lazy = LazyLock<Option<Regex>>;

const SUBDOMAIN: &str = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const LABEL_1035: &str = "[a-z]([-a-z0-9]*[a-z0-9])?";
const LABEL_VALUE: &str = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?";
const QUALIFIED: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const CONFIG_KEY: &str = "[-._a-zA-Z0-9]+";

fn matches(regex: &Lazy, text: &str) -> bool {
    regex.as_ref().is_some_and(|regex| regex.is_match(text))
}

macro_rules! whole {
    ($name:ident, $pattern:expr) => {
        static $name: Lazy = LazyLock::new(|| Regex::new(&format!("^(?:{})$", $pattern)).ok());
    };
}
whole!(SUBDOMAIN_RE, SUBDOMAIN);
whole!(LABEL_RE, LABEL);
whole!(LABEL_1035_RE, LABEL_1035);
whole!(LABEL_VALUE_RE, LABEL_VALUE);
whole!(QUALIFIED_RE, QUALIFIED);
whole!(CONFIG_KEY_RE, CONFIG_KEY);

fn no_longer_than(max: usize, text: &str) -> Check {
    if text.len() > max { Err(format!("must be no more than {max} bytes")) } else { Ok(()) }
}

/// A DNS subdomain, the name of most objects.
pub fn dns_subdomain(text: &str) -> Check {
    no_longer_than(253, text)?;
    if matches(&SUBDOMAIN_RE, text) {
        return Ok(());
    }
    Err(format!(
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start \
         and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{SUBDOMAIN}')"
    ))
}

/// A DNS label.
pub fn dns_label(text: &str) -> Check {
    no_longer_than(63, text)?;
    if matches(&LABEL_RE, text) {
        return Ok(());
    }
    Err(format!(
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end \
         with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '{LABEL}')"
    ))
}

/// A DNS label that begins with a letter.
pub fn dns_1035_label(text: &str) -> Check {
    no_longer_than(63, text)?;
    if matches(&LABEL_1035_RE, text) {
        return Ok(());
    }
    Err(format!(
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, \
         and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '{LABEL_1035}')"
    ))
}

/// A label's value.
pub fn label_value(text: &str) -> Check {
    no_longer_than(63, text)?;
    if matches(&LABEL_VALUE_RE, text) {
        return Ok(());
    }
    Err(format!(
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and \
         end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is \
         '{LABEL_VALUE}')"
    ))
}

/// A label's or annotation's key: a name, with a DNS subdomain and a slash before it or not.
pub fn qualified_name(text: &str) -> Check {
    let parts: Vec<&str> = text.split('/').collect();
    let name = match parts.as_slice() {
        [name] => name,
        [prefix, name] => {
            if prefix.is_empty() {
                return Err("prefix part must be non-empty".into());
            }
            dns_subdomain(prefix).map_err(|why| format!("prefix part {why}"))?;
            name
        }
        _ => {
            return Err(format!(
                "a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must start and end with \
                 an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
                 '{QUALIFIED}') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            ));
        }
    };
    if name.is_empty() {
        return Err("name part must be non-empty".into());
    }
    no_longer_than(63, name).map_err(|why| format!("name part {why}"))?;
    if matches(&QUALIFIED_RE, name) {
        return Ok(());
    }
    Err(format!(
        "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric \
         character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{QUALIFIED}')"
    ))
}

/// A key of a ConfigMap or Secret.
pub fn config_key(text: &str) -> Check {
    no_longer_than(253, text)?;
    if !matches(&CONFIG_KEY_RE, text) {
        return Err(format!(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  \
             or 'key-name', regex used for validation is '{CONFIG_KEY}')"
        ));
    }
    match text {
        "." => Err("must not be '.'".into()),
        ".." => Err("must not be '..'".into()),
        other if other.starts_with("..") => Err("must not start with '..'".into()),
        _ => Ok(()),
    }
}

/// The last part of a path: roles and other names that may hold nearly anything.
pub fn path_segment(text: &str) -> Check {
    match text {
        "." | ".." => Err(format!("may not be '{text}'")),
        _ if text.contains('/') => Err("may not contain '/'".into()),
        _ if text.contains('%') => Err("may not contain '%'".into()),
        _ => Ok(()),
    }
}

/// The name of a port; all that is wrong with it.
pub fn port_name(text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    if text.len() > 15 {
        wrong.push("must be no more than 15 characters".to_owned());
    }
    if !text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-') {
        wrong.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)".to_owned());
    }
    if !text.bytes().any(|b| b.is_ascii_lowercase()) {
        wrong.push("must contain at least one letter (a-z)".to_owned());
    }
    if text.contains("--") {
        wrong.push("must not contain consecutive hyphens".to_owned());
    }
    if text.starts_with('-') || text.ends_with('-') {
        wrong.push("must not begin or end with a hyphen".to_owned());
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes() {
        assert!(dns_subdomain("a.b-c").is_ok() && dns_subdomain("A").is_err() && dns_subdomain("").is_err());
        assert!(dns_label("1-a").is_ok() && dns_label("a.b").is_err());
        assert!(dns_1035_label("a1").is_ok() && dns_1035_label("1a").is_err());
        assert!(label_value("").is_ok() && label_value("A_b.c").is_ok() && label_value("-a").is_err());
        assert!(
            qualified_name("a.io/B_c").is_ok()
                && qualified_name("a/b/c").is_err()
                && qualified_name("/a").is_err()
        );
        assert!(config_key("A.b-c_").is_ok() && config_key("..a").is_err() && config_key("a/b").is_err());
        assert!(port_name("http-1").is_empty() && port_name("80").len() == 1 && port_name("Ab").len() == 1);
        assert_eq!(label_value(&"a".repeat(64)).unwrap_err(), "must be no more than 63 bytes");
    }
}
