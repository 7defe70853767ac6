//! Names, labels and annotations: what Kubernetes allows, and what it says otherwise.

use std::sync::LazyLock;

use regex::Regex;

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const NAME_PART: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const QUALIFIED: &str = "a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";

static IS_SUBDOMAIN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$").expect("a constant")
});
static IS_NAME_PART: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$").expect("a constant"));

/// Problems of a DNS subdomain: most object names.
pub fn subdomain(name: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if name.len() > 253 {
        problems.push("must be no more than 253 bytes".to_string());
    }
    if !IS_SUBDOMAIN.is_match(name) {
        problems.push(SUBDOMAIN.to_string());
    }
    problems
}

/// Problems of a DNS label: namespaces and a few other kinds.
pub fn label(name: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if name.len() > 63 {
        problems.push("must be no more than 63 bytes".to_string());
    }
    if name.contains('.') {
        problems.push("must not contain dots".to_string());
    } else if !IS_SUBDOMAIN.is_match(name) {
        problems.push(LABEL.to_string());
    }
    problems
}

/// Problems of a name that may be anything a path segment can be (RBAC kinds).
pub fn path_segment(name: &str) -> Vec<String> {
    if name == "." || name == ".." {
        return vec![format!("may not be '{name}'")];
    }
    ["/", "%"].iter().filter(|s| name.contains(**s)).map(|s| format!("may not contain '{s}'")).collect()
}

/// Problems of a label or annotation key.
pub fn label_key(key: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let name = match key.split('/').collect::<Vec<_>>().as_slice() {
        [name] => *name,
        [prefix, name] => {
            if prefix.is_empty() {
                problems.push("prefix part must be non-empty".to_string());
            } else {
                problems.extend(subdomain(prefix).into_iter().map(|p| format!("prefix part {p}")));
            }
            *name
        }
        _ => return vec![QUALIFIED.to_string()],
    };
    if name.is_empty() {
        problems.push("name part must be non-empty".to_string());
    } else if name.len() > 63 {
        problems.push("name part must be no more than 63 bytes".to_string());
    }
    if !IS_NAME_PART.is_match(name) {
        problems.push(NAME_PART.to_string());
    }
    problems
}

/// Problems of a label value.
pub fn label_value(value: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if value.len() > 63 {
        problems.push("must be no more than 63 bytes".to_string());
    }
    if !value.is_empty() && !IS_NAME_PART.is_match(value) {
        problems.push(LABEL_VALUE.to_string());
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_judged_like_the_real_server_does() {
        assert!(subdomain("a.b-c.d1").is_empty());
        assert_eq!(subdomain("A"), [SUBDOMAIN]);
        assert_eq!(subdomain("a..b"), [SUBDOMAIN]);
        assert_eq!(label("a.b"), ["must not contain dots"]);
        assert_eq!(label("A"), [LABEL]);
        assert!(label_key("app.kubernetes.io/name").is_empty());
        assert_eq!(label_key("a/b/c"), [QUALIFIED]);
        assert_eq!(label_value("-x"), [LABEL_VALUE]);
        assert_eq!(label_value(&"x".repeat(64)), ["must be no more than 63 bytes"]);
        assert_eq!(path_segment("a/b"), ["may not contain '/'"]);
        assert!(path_segment("system:x").is_empty());
    }
}
