//! The JSONPath of printer columns: fields, indices, wildcards and one filter.

use serde_json::Value;

#[derive(Debug, Clone, PartialEq)]
enum Step {
    Field(String),
    Index(i64),
    All,
    /// `[?(@.path=="value")]`
    Filter {
        path: Vec<Step>,
        equal: bool,
        value: Value,
    },
    /// `[?(@.path)]`
    Has(Vec<Step>),
}

/// The first value the path leads to; `None` also for a path that cannot be read.
pub(super) fn first<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    let steps = parse(path)?;
    find(value, &steps)
}

fn find<'a>(value: &'a Value, steps: &[Step]) -> Option<&'a Value> {
    let Some((step, rest)) = steps.split_first() else { return Some(value) };
    match step {
        Step::Field(name) => find(value.get(name)?, rest),
        Step::Index(i) => {
            let all = value.as_array()?;
            let i = if *i < 0 { all.len() as i64 + i } else { *i };
            find(all.get(usize::try_from(i).ok()?)?, rest)
        }
        Step::All => match value {
            Value::Array(all) => all.iter().find_map(|item| find(item, rest)),
            Value::Object(all) => all.values().find_map(|item| find(item, rest)),
            _ => None,
        },
        Step::Filter { path, equal, value: wanted } => value
            .as_array()?
            .iter()
            .filter(|item| find(item, path).is_some_and(|found| (found == wanted) == *equal))
            .find_map(|item| find(item, rest)),
        Step::Has(path) => value
            .as_array()?
            .iter()
            .filter(|item| find(item, path).is_some())
            .find_map(|item| find(item, rest)),
    }
}

fn parse(path: &str) -> Option<Vec<Step>> {
    let path = path.trim();
    let path = path.strip_prefix('{').and_then(|p| p.strip_suffix('}')).unwrap_or(path);
    let mut rest = path.strip_prefix('$').unwrap_or(path);
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('.') {
            let (name, tail) = field(after)?;
            match name.as_str() {
                "" => {}
                "*" => steps.push(Step::All),
                _ => steps.push(Step::Field(name)),
            }
            rest = tail;
        } else if let Some(after) = rest.strip_prefix('[') {
            let end = closing(after)?;
            steps.push(bracket(&after[..end])?);
            rest = &after[end + 1..];
        } else {
            return None;
        }
    }
    Some(steps)
}

/// A field name up to the next step; a backslash escapes a dot in it.
fn field(text: &str) -> Option<(String, &str)> {
    let mut name = String::new();
    let mut chars = text.char_indices();
    while let Some((i, c)) = chars.next() {
        match c {
            '\\' => name.push(chars.next()?.1),
            '.' | '[' => return Some((name, &text[i..])),
            c => name.push(c),
        }
    }
    Some((name, ""))
}

/// The bracket that ends this one, quotes and parentheses considered.
fn closing(text: &str) -> Option<usize> {
    let (mut quote, mut depth) = (None, 0);
    for (i, c) in text.char_indices() {
        match (quote, c) {
            (Some(q), c) if c == q => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (None, '[' | '(') => depth += 1,
            (None, ')') => depth -= 1,
            (None, ']') if depth == 0 => return Some(i),
            (None, ']') => depth -= 1,
            _ => {}
        }
    }
    None
}

fn bracket(text: &str) -> Option<Step> {
    let text = text.trim();
    if text == "*" {
        return Some(Step::All);
    }
    if let Some(name) = quoted(text) {
        return Some(Step::Field(name));
    }
    if let Some(filter) = text.strip_prefix("?(").and_then(|t| t.strip_suffix(')')) {
        let filter = filter.trim();
        for (operator, equal) in [("==", true), ("!=", false)] {
            if let Some((path, value)) = filter.split_once(operator) {
                let value = value.trim();
                let value = quoted(value).map(Value::String).or_else(|| serde_json::from_str(value).ok())?;
                return Some(Step::Filter { path: parse(path.trim().strip_prefix('@')?)?, equal, value });
            }
        }
        return Some(Step::Has(parse(filter.strip_prefix('@')?)?));
    }
    text.parse().ok().map(Step::Index)
}

fn quoted(text: &str) -> Option<String> {
    let inner = ['\'', '"'].into_iter().find_map(|q| text.strip_prefix(q)?.strip_suffix(q))?;
    Some(inner.replace("\\\"", "\"").replace("\\'", "'"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn columns_find_their_value() {
        let object = json!({"spec": {"n": 3, "l": [1, 2], "a.b": "dotted"}, "status": {"conditions": [
            {"type": "Synced", "status": "False"}, {"type": "Ready", "status": "True"}]}});
        let look = |path: &str| first(&object, path).cloned();
        assert_eq!(look(".spec.n"), Some(json!(3)));
        assert_eq!(look("{.spec.n}"), Some(json!(3)));
        assert_eq!(look(".spec.l[1]"), Some(json!(2)));
        assert_eq!(look(".spec.l[-1]"), Some(json!(2)));
        assert_eq!(look(".spec.l[*]"), Some(json!(1)));
        assert_eq!(look(".spec['a.b']"), Some(json!("dotted")));
        assert_eq!(look(".spec.a\\.b"), Some(json!("dotted")));
        assert_eq!(look(r#".status.conditions[?(@.type=="Ready")].status"#), Some(json!("True")));
        assert_eq!(look(".status.conditions[?(@.type=='Gone')].status"), None);
        assert_eq!(look(".spec.missing.deeper"), None);
        assert_eq!(look("nonsense["), None);
    }

    proptest::proptest! {
        #[test]
        fn any_path_is_followed_or_ignored(path in r#"[.\[\]?()@='"*a0\\$ -]{0,20}"#) {
            let _ = first(&json!({"a": [{"a": 1}, "x"]}), &path);
        }
    }
}
