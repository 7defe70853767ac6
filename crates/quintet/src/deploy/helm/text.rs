//! Manifests as text with template expressions.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use quintet_kit::install::settings_name;
use serde_json::Value;

use crate::output::{Format, document};

/// Stands for the value of `REGISTRIES_NAMESPACE`, which must look like a namespace until the text is printed.
pub(super) const STANDS_FOR_NAMESPACE: &str = "the-one-namespace-of-registries";
/// Stands for the number of replicas, which must be a number until then.
pub(super) const REPLICAS: i32 = 987_654_321;

/// What templates share: the suffix that kustomize gives a ConfigMap by its data.
pub(super) const HELPERS: &str = r#"{{- define "quintet.suffix" -}}
{{- dict "data" . "kind" "ConfigMap" "name" "" | toJson | sha256sum | trunc 10
  | replace "0" "g" | replace "1" "h" | replace "3" "k" | replace "a" "m" | replace "e" "t" -}}
{{- end -}}
"#;

/// Stands for a space inside an expression until the text is printed: YAML would break lines there.
const SPACE: &str = "~";

const END: &str = "{{- end }}";

/// An expression as part of a value. It has backquotes, as it may end up inside YAML's double quotes.
pub(super) fn expression(inner: &str) -> String {
    format!("{{{{ {inner} }}}}").replace(' ', SPACE)
}

/// What is inside a value that is one expression.
fn inner(value: &str) -> Option<&str> {
    let inner = value.strip_prefix("{{")?.strip_suffix("}}")?;
    Some(inner).filter(|inner| !inner.contains("{{")).map(|inner| inner.trim_matches([' ', '~']))
}

/// The value of a system's setting.
pub(super) fn setting(system: &str, name: &str) -> String {
    expression(&format!("index .Values.settings `{system}` `{name}`"))
}

/// True if a system runs.
pub(super) fn has(system: &str) -> String {
    format!("has `{system}` .Values.operators")
}

/// True if one of them does.
pub(super) fn any<'a>(systems: impl Iterator<Item = &'a str>) -> String {
    let each: Vec<String> = systems.map(has).collect();
    match each.as_slice() {
        [one] => one.clone(),
        many => format!("or ({})", many.join(") (")),
    }
}

/// True if all of them are; an empty text for none.
pub(super) fn all(conditions: &[String]) -> String {
    match conditions {
        [] => String::new(),
        [one] => one.clone(),
        many => format!("and ({})", many.join(") (")),
    }
}

/// An element of a list from which on elements are conditional.
pub(super) fn if_mark(condition: &str) -> Value {
    format!("{{{{- if {condition} }}}}").replace(' ', SPACE).into()
}

/// What parts a field's name from the condition under which it is there.
const WHEN: &str = "@@";

/// The name of a field that is conditional, until the text is printed.
pub(super) fn if_key(name: &str, condition: &str) -> String {
    format!("{name}{WHEN}{condition}").replace(' ', SPACE)
}

/// An element of a list after those that are.
pub(super) fn end_mark() -> Value {
    END.replace(' ', SPACE).into()
}

/// Text under a condition; an empty one always holds.
pub(super) fn guarded(condition: &str, text: &str) -> String {
    if condition.is_empty() || text.is_empty() {
        return text.to_owned();
    }
    format!("{{{{- if {condition} }}}}\n{text}{{{{- end }}}}\n")
}

/// One manifest. Beside rights, all are left out when only rights are wanted.
pub(super) fn manifest(mut object: Value) -> Result<String> {
    named_after_its_data(&mut object);
    let printed = document(&object, Format::Yaml)?;
    let printed = printed
        .replace(STANDS_FOR_NAMESPACE, &setting("model-registry", "REGISTRIES_NAMESPACE"))
        .replace(&REPLICAS.to_string(), "{{ .Values.replicas }}");
    let mut text = String::from("---\n");
    for line in conditional_fields(&printed)? {
        text += &expressed(&line)?;
        text.push('\n');
    }
    let about_rights = !quintet_kit::install::rights_only(vec![object.clone()]).is_empty();
    let is_definition = object["kind"] == "CustomResourceDefinition"; // guarded as a whole
    Ok(if about_rights || is_definition { text } else { guarded("not .Values.rbacOnly", &text) })
}

/// The lines, with marks before and after each field that is conditional.
fn conditional_fields(printed: &str) -> Result<Vec<String>> {
    let mut lines = vec![];
    let mut open: Vec<usize> = vec![];
    for line in printed.lines() {
        let indent = line.len() - line.trim_start().len();
        let is_within =
            |field: usize| indent > field || (indent == field && line.trim_start().starts_with("- "));
        while open.pop_if(|field| !is_within(*field)).is_some() {
            lines.push(END.to_owned());
        }
        let Some((name, rest)) = line.split_once(WHEN) else {
            lines.push(line.to_owned());
            continue;
        };
        let (condition, value) = rest.split_once(':').context("a conditional field has no value")?;
        ensure!(
            !name.trim_start().starts_with("- "),
            "the first field of an element cannot be conditional: {line}"
        );
        let conditions: Vec<String> =
            condition.trim_end_matches('"').split(WHEN).map(str::to_owned).collect();
        lines.push(format!("{{{{- if {} }}}}", all(&conditions)));
        lines.push(format!("{}:{value}", name.replacen('"', "", 1)));
        open.push(indent);
    }
    lines.extend(open.iter().map(|_| END.to_owned()));
    Ok(lines)
}

/// A line of YAML in which a value that is one expression is quoted when it is known, whatever it holds then.
fn expressed(line: &str) -> Result<String> {
    let Some(at) = line.find("{{") else { return Ok(line.to_owned()) };
    let item = line.trim_start().trim_start_matches("- ").trim_matches('"');
    if item.starts_with("{{-") {
        return Ok(spaced(item));
    }
    let (before, value) = line.split_at(at);
    let quoted = before.ends_with('"') && value.ends_with('"');
    let (before, value) =
        if quoted { (&before[..at - 1], &value[..value.len() - 1]) } else { (before, value) };
    match inner(value).filter(|_| before.ends_with(' ')) {
        Some(".Values.replicas") => Ok(line.to_owned()),
        Some(inner) => Ok(format!("{before}{}", spaced(&format!("{{{{ {inner} | quote }}}}")))),
        None => {
            let line = spaced(line);
            let ours = ["{{ .Release.", "{{ .Values.", "{{ index ", "{{ join "];
            let count: usize = ours.iter().map(|start| line.matches(start).count()).sum();
            ensure!(
                count == line.matches("{{").count(),
                "Helm would take this for a template of ours: {line}"
            );
            Ok(line)
        }
    }
}

/// The text with the spaces inside its expressions.
fn spaced(text: &str) -> String {
    let mut parts = text.split("{{");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |all, part| {
        let (inside, rest) =
            part.split_once("}}").map_or((part, None), |(inside, rest)| (inside, Some(rest)));
        let end = rest.map(|rest| format!("}}}}{rest}")).unwrap_or_default();
        format!("{all}{{{{{}{end}", inside.replace(SPACE, " "))
    })
}

/// A ConfigMap whose name follows from its data gets one that follows from the data's expressions.
fn named_after_its_data(object: &mut Value) {
    let data: BTreeMap<String, String> = match serde_json::from_value(object["data"].clone()) {
        Ok(data) if object["kind"] == "ConfigMap" => data,
        _ => return,
    };
    let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let Some((stem, _)) = name.rsplit_once('-') else { return };
    if settings_name(stem, &data) != name {
        return;
    }
    let given =
        |value: &String| inner(value).map_or_else(|| format!("`{value}`"), |inner| format!("({inner})"));
    let pairs: Vec<String> = data.iter().map(|(key, value)| format!("`{key}` {}", given(value))).collect();
    let suffix = format!("include `quintet.suffix` (dict {})", pairs.join(" "));
    object["metadata"]["name"] = expression(&format!("printf `{stem}-%s` ({suffix})")).into();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_is_an_expression_is_quoted_by_helm() {
        let shown = |line: &str| expressed(line).unwrap();
        let image = expression(".Values.image");
        assert_eq!(shown(&format!("  value: \"{image}\"")), "  value: {{ .Values.image | quote }}");
        let argument = format!("- \"--namespace={}\"", expression(".Release.Namespace"));
        assert_eq!(shown(&argument), "- \"--namespace={{ .Release.Namespace }}\"");
        let mark = format!("      - {}", if_mark("has `a` .Values.operators"));
        assert_eq!(shown(&mark), "{{- if has `a` .Values.operators }}");
        assert_eq!(shown("name: ~plain"), "name: ~plain");
        assert!(expressed("description: write {{ name }} here").is_err());
    }
}
