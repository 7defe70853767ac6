//! Field selectors: `metadata.name`, `metadata.namespace` and the few fields each kind offers.

use crate::resource::Resource;
use crate::status::{Error, Result, go_quote};
use crate::store::Facts;

/// All terms must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldSelector {
    terms: Vec<Term>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Term {
    field: String,
    value: String,
    equal: bool,
}

impl FieldSelector {
    /// Parses `metadata.name=x,status.phase!=Running` and checks that the resource offers those fields.
    pub fn parse(text: &str, resource: &Resource) -> Result<Self> {
        let mut terms = Vec::new();
        for part in split(text) {
            if part.is_empty() {
                continue;
            }
            let Some(term) = Term::parse(&part) else {
                let message = format!("invalid selector: '{part}'; can't understand '{part}'");
                return Err(Error::bad_request(message));
            };
            known(&term.field, resource)?;
            terms.push(term);
        }
        Ok(Self { terms })
    }

    /// Whether nothing is required.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// The one name asked for, if the selector asks for one.
    pub fn name(&self) -> Option<&str> {
        self.terms.iter().find(|t| t.equal && t.field == "metadata.name").map(|t| t.value.as_str())
    }

    /// Whether the object satisfies all terms.
    pub fn matches(&self, facts: &Facts) -> bool {
        self.terms.iter().all(|term| (value(facts, &term.field) == term.value) == term.equal)
    }
}

fn value<'a>(facts: &'a Facts, field: &str) -> &'a str {
    match field {
        "metadata.name" => &facts.name,
        "metadata.namespace" => &facts.namespace,
        _ => facts.fields.iter().find(|(name, _)| name.as_ref() == field).map_or("", |(_, value)| value),
    }
}

fn known(field: &str, resource: &Resource) -> Result<()> {
    if matches!(field, "metadata.name" | "metadata.namespace")
        || resource.fields.iter().any(|f| f.name.as_ref() == field)
    {
        return Ok(());
    }
    let message = if resource.fields.is_empty() && !resource.is_custom() {
        format!(
            "{} is not a known field selector: only \"metadata.name\", \"metadata.namespace\"",
            go_quote(field)
        )
    } else {
        format!("field label not supported: {field}")
    };
    Err(Error::bad_request(message))
}

impl Term {
    fn parse(text: &str) -> Option<Self> {
        let (at, operator) = text.char_indices().find_map(|(i, _)| {
            ["!=", "==", "="].into_iter().find(|op| text[i..].starts_with(op)).map(|op| (i, op))
        })?;
        let value = unescape(&text[at + operator.len()..])?;
        Some(Self { field: text[..at].to_string(), value, equal: operator != "!=" })
    }
}

/// At commas that are not escaped.
fn split(text: &str) -> Vec<String> {
    let (mut parts, mut escaped) = (vec![String::new()], false);
    for c in text.chars() {
        if c == ',' && !escaped {
            parts.push(String::new());
        } else if let Some(last) = parts.last_mut() {
            last.push(c);
        }
        escaped = c == '\\' && !escaped;
    }
    parts
}

/// `\\`, `\,` and `\=`; a bare comma or equals sign in a value is an error.
fn unescape(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => out.push(chars.next().filter(|c| "\\,=".contains(*c))?),
            ',' | '=' => return None,
            c => out.push(c),
        }
    }
    Some(out)
}
