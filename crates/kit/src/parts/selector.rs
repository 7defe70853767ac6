//! Label selectors as text, as `kubectl -l` takes them.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};

/// What a name is made of, as Kubernetes puts it.
const NAME: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
    alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
    '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const PREFIX: &str = "prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, \
    '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation \
    is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and \
    must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for \
    validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

/// Why a selector cannot be spelled, in the words of Kubernetes' own libraries: people know them, and search for them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectorError {
    /// An operator that Kubernetes does not know.
    #[error("{0:?} is not a valid label selector operator")]
    Operator(String),
    /// `In` or `NotIn` without values.
    #[error("values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty")]
    NoValues,
    /// `Exists` or `DoesNotExist` with values.
    #[error("values: Invalid value: {}: values set must be empty for exists and does not exist", serde_json::json!(.0))]
    Values(Vec<String>),
    /// A key that no label can have, and why.
    #[error("key: Invalid value: {0:?}: {1}")]
    Key(String, String),
    /// A value that no label can have: the label, the value's place, the value and why.
    #[error("values[{1}][{0}]: Invalid value: {2:?}: {3}")]
    Value(String, usize, String, &'static str),
}

/// The selector as text: requirements by key, values sorted. Empty for a selector that selects everything.
///
/// # Errors
/// If the selector is one that the API server would refuse where it checks selectors.
pub fn text(selector: &LabelSelector) -> Result<String, SelectorError> {
    let mut requirements: Vec<(&str, String)> = Vec::new();
    for (key, value) in selector.match_labels.iter().flatten() {
        check_key(key)?;
        check_value(key, 0, value)?;
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
    let given = values.as_deref().unwrap_or_default();
    let mut values: Vec<&str> = given.iter().map(String::as_str).collect();
    values.sort_unstable();
    let text = match operator.as_str() {
        "In" | "NotIn" if values.is_empty() => return Err(SelectorError::NoValues),
        "In" => format!("{key} in ({})", values.join(",")),
        "NotIn" => format!("{key} notin ({})", values.join(",")),
        "Exists" | "DoesNotExist" if !values.is_empty() => return Err(SelectorError::Values(given.to_vec())),
        "Exists" => key.clone(),
        "DoesNotExist" => format!("!{key}"),
        _ => return Err(SelectorError::Operator(operator.clone())),
    };
    check_key(key)?;
    given.iter().enumerate().try_for_each(|(index, value)| check_value(key, index, value))?;
    Ok(text)
}

/// A key is a name of at most 63 characters, with or without a DNS name and a slash before it.
fn check_key(key: &str) -> Result<(), SelectorError> {
    let parts: Vec<&str> = key.split('/').collect();
    let problem = match parts.as_slice() {
        [name] => name_problem(name),
        ["", _] => Some("prefix part must be non-empty".into()),
        [prefix, _] if prefix.len() > 253 => Some("prefix part must be no more than 253 bytes".into()),
        [prefix, _] if !is_dns(prefix) => Some(PREFIX.into()),
        [_, name] => name_problem(name),
        _ => Some(format!(
            "a qualified name {NAME} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        )),
    };
    problem.map_or(Ok(()), |problem| Err(SelectorError::Key(key.into(), problem)))
}

fn name_problem(name: &str) -> Option<String> {
    match name {
        "" => Some("name part must be non-empty".into()),
        long if long.len() > 63 => Some("name part must be no more than 63 bytes".into()),
        odd if !is_name(odd) => Some(format!("name part {NAME}")),
        _ => None,
    }
}

fn check_value(key: &str, index: usize, value: &str) -> Result<(), SelectorError> {
    let problem = match value {
        "" => return Ok(()),
        long if long.len() > 63 => "must be no more than 63 bytes",
        odd if !is_name(odd) => VALUE,
        _ => return Ok(()),
    };
    Err(SelectorError::Value(key.into(), index, value.into(), problem))
}

fn is_dns(prefix: &str) -> bool {
    let ends = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    prefix.split('.').all(|part| is_word(part, ends, |c| ends(c) || c == '-'))
}

fn is_name(name: &str) -> bool {
    let ends = |c: char| c.is_ascii_alphanumeric();
    is_word(name, ends, |c| ends(c) || "-_.".contains(c))
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
        let none = "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty";
        assert_eq!(one("a", "In", &[]), none);
        let many = r#"values: Invalid value: ["b"]: values set must be empty for exists and does not exist"#;
        assert_eq!(one("a", "Exists", &["b"]), many);
        let begins = |text: String, with: &str| assert!(text.starts_with(with), "{text}");
        begins(
            one("-a", "Exists", &[]),
            r#"key: Invalid value: "-a": name part must consist of alphanumeric"#,
        );
        begins(
            one("A.b/c", "Exists", &[]),
            r#"key: Invalid value: "A.b/c": prefix part a lowercase RFC 1123"#,
        );
        begins(one("/c", "Exists", &[]), r#"key: Invalid value: "/c": prefix part must be non-empty"#);
        begins(one("a/", "Exists", &[]), r#"key: Invalid value: "a/": name part must be non-empty"#);
        begins(one("a/b/c", "Exists", &[]), r#"key: Invalid value: "a/b/c": a qualified name must consist"#);
        begins(one("a", "In", &["b", "b c"]), r#"values[1][a]: Invalid value: "b c": a valid label must be"#);
        let long = spelled(json!({ "matchLabels": { "a": "x".repeat(64) } })).unwrap_err();
        assert!(long.ends_with(": must be no more than 63 bytes"), "{long}");
    }
}
