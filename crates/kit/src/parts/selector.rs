//! Label selectors as text, as `kubectl -l` takes them.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};

/// Why a selector cannot be spelled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectorError {
    /// An operator that Kubernetes does not know.
    #[error("{0:?} is not a valid label selector operator")]
    Operator(String),
    /// `In` or `NotIn` without values.
    #[error("key {0:?}: operator {1} needs at least one value")]
    NoValues(String, String),
    /// `Exists` or `DoesNotExist` with values.
    #[error("key {0:?}: operator {1} takes no values")]
    Values(String, String),
    /// A key that no label can have.
    #[error("{0:?} is not a valid label key")]
    Key(String),
    /// A value that no label can have.
    #[error("{1:?} is not a valid value of label {0:?}")]
    Value(String, String),
}

/// The selector as text: requirements by key, values sorted. Empty for a selector that selects everything.
///
/// # Errors
/// If the selector is one that the API server would refuse where it checks selectors.
pub fn text(selector: &LabelSelector) -> Result<String, SelectorError> {
    let mut requirements: Vec<(&str, String)> = Vec::new();
    for (key, value) in selector.match_labels.iter().flatten() {
        check_key(key)?;
        check_value(key, value)?;
        requirements.push((key, format!("{key}={value}")));
    }
    for requirement in selector.match_expressions.iter().flatten() {
        requirements.push((&requirement.key, expression(requirement)?));
    }
    requirements.sort_by_key(|(key, _)| *key);
    Ok(requirements.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(","))
}

fn expression(requirement: &LabelSelectorRequirement) -> Result<String, SelectorError> {
    let LabelSelectorRequirement { key, operator, values } = requirement;
    let mut values: Vec<&str> = values.iter().flatten().map(String::as_str).collect();
    values.sort_unstable();
    let text = match operator.as_str() {
        "In" | "NotIn" if values.is_empty() => {
            return Err(SelectorError::NoValues(key.clone(), operator.clone()));
        }
        "In" => format!("{key} in ({})", values.join(",")),
        "NotIn" => format!("{key} notin ({})", values.join(",")),
        "Exists" | "DoesNotExist" if !values.is_empty() => {
            return Err(SelectorError::Values(key.clone(), operator.clone()));
        }
        "Exists" => key.clone(),
        "DoesNotExist" => format!("!{key}"),
        _ => return Err(SelectorError::Operator(operator.clone())),
    };
    check_key(key)?;
    values.iter().try_for_each(|value| check_value(key, value))?;
    Ok(text)
}

/// A key is a name of at most 63 characters, with or without a DNS name and a slash before it.
fn check_key(key: &str) -> Result<(), SelectorError> {
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    let is_dns = |prefix: &str| {
        let ends = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        prefix.len() <= 253 && prefix.split('.').all(|part| is_word(part, ends, |c| ends(c) || c == '-'))
    };
    if is_name(name) && prefix.is_none_or(is_dns) { Ok(()) } else { Err(SelectorError::Key(key.into())) }
}

fn check_value(key: &str, value: &str) -> Result<(), SelectorError> {
    if value.is_empty() || is_name(value) {
        Ok(())
    } else {
        Err(SelectorError::Value(key.into(), value.into()))
    }
}

fn is_name(name: &str) -> bool {
    let ends = |c: char| c.is_ascii_alphanumeric();
    name.len() <= 63 && is_word(name, ends, |c| ends(c) || "-_.".contains(c))
}

fn is_word(word: &str, ends: impl Fn(char) -> bool, inside: impl Fn(char) -> bool) -> bool {
    word.starts_with(&ends) && word.ends_with(&ends) && word.chars().all(inside)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn spelled(selector: serde_json::Value) -> Result<String, String> {
        text(&serde_json::from_value(selector).unwrap()).map_err(|e| e.to_string())
    }

    #[test]
    fn requirements_come_by_key_and_values_sorted() {
        let selector = json!({
            "matchLabels": { "team": "a", "member-enabled": "true", "empty": "" },
            "matchExpressions": [
                { "key": "environment", "operator": "In", "values": ["staging", "prod"] },
                { "key": "tier", "operator": "NotIn", "values": ["x"] },
                { "key": "legacy", "operator": "DoesNotExist" },
                { "key": "example.dev/a", "operator": "Exists" },
            ],
        });
        let text = "empty=,environment in (prod,staging),example.dev/a,!legacy,member-enabled=true,team=a,tier notin (x)";
        assert_eq!(spelled(selector).unwrap(), text);
        assert_eq!(spelled(json!({})).unwrap(), "");
    }

    #[test]
    fn what_the_server_refuses_is_refused() {
        let one = |key: &str, operator: &str, values: &[&str]| {
            spelled(json!({ "matchExpressions": [{ "key": key, "operator": operator, "values": values }] }))
                .unwrap_err()
        };
        assert_eq!(one("a", "InvalidOp", &[]), r#""InvalidOp" is not a valid label selector operator"#);
        assert_eq!(one("a", "In", &[]), r#"key "a": operator In needs at least one value"#);
        assert_eq!(one("a", "Exists", &["b"]), r#"key "a": operator Exists takes no values"#);
        assert_eq!(one("-a", "Exists", &[]), r#""-a" is not a valid label key"#);
        assert_eq!(one("A.b/c", "Exists", &[]), r#""A.b/c" is not a valid label key"#);
        assert_eq!(one("a", "In", &["b c"]), r#""b c" is not a valid value of label "a""#);
        assert!(spelled(json!({ "matchLabels": { "a": "x".repeat(64) } })).is_err());
    }
}
