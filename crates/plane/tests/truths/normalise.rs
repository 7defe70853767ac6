use std::{collections::HashMap, sync::LazyLock};

use regex::{Captures, Regex};
use serde_json::{Value, json};

/// Replaces what chance decides by placeholders, the same for the same value throughout one scenario: that two answers
/// carry one resourceVersion is a truth worth keeping, which number it is is not.
pub(crate) struct Normaliser {
    webhook: String,
    uids: HashMap<String, usize>,
    versions: HashMap<String, usize>,
}

static UID: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}").expect("valid")
});
static TIME: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)").expect("valid"));
static ADDRESS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\b10\.(0\.0|\d+\.\d+)\.(\d+)\b").expect("valid"));
static VERSION_IN_TEXT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(resource version: |ResourceVersion in record |current: |version: \d+ )\(?\d+\)?")
        .expect("valid")
});
static AGE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"^(\d+[smhd])+$").expect("valid"));
// Where in its source the server keeps its types depends on how it was built.
static SCHEME: LazyLock<Regex> = LazyLock::new(|| Regex::new(r#"in scheme "[^"]*""#).expect("valid"));
static CLIENT_PORT: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"127\.0\.0\.1:\d+->").expect("valid"));

impl Normaliser {
    pub(crate) fn new(webhook: String) -> Normaliser {
        Normaliser { webhook, uids: HashMap::new(), versions: HashMap::new() }
    }

    /// A text such as a message or a warning.
    pub(crate) fn text(&mut self, text: &str) -> String {
        let text = text
            .replace(&self.webhook, "{webhook}")
            .replace(self.webhook.trim_start_matches("https://"), "{webhook}");
        let uids = &mut self.uids;
        let text = UID.replace_all(&text, |found: &Captures<'_>| {
            let next = uids.len() + 1;
            format!("<uid {}>", uids.entry(found[0].to_owned()).or_insert(next))
        });
        let text = TIME.replace_all(&text, "<time>");
        let text = VERSION_IN_TEXT.replace_all(&text, "$1<version>");
        let text = SCHEME.replace_all(&text, "in scheme \"<scheme>\"");
        let text = CLIENT_PORT.replace_all(&text, "<client>->");
        ADDRESS.replace_all(&text, "<address>").into_owned()
    }

    /// An answer's body.
    pub(crate) fn body(&mut self, mut body: Value) -> Value {
        sort_causes(&mut body);
        self.walk("", &mut body);
        body
    }

    fn walk(&mut self, key: &str, value: &mut Value) {
        match value {
            Value::Object(fields) => {
                let is_list = fields.contains_key("items") || fields.contains_key("rows");
                if let Some(metadata) = fields.get_mut("metadata")
                    && is_list
                    && let Some(version) = metadata.get_mut("resourceVersion")
                {
                    *version = json!("<list version>");
                }
                if fields.get("type").is_some_and(|kind| kind == "BOOKMARK")
                    && let Some(version) =
                        fields.get_mut("object").and_then(|o| o.pointer_mut("/metadata/resourceVersion"))
                {
                    *version = json!("<list version>");
                }
                for (key, value) in fields {
                    self.walk(key, value);
                }
            }
            Value::Array(items) => {
                let key = key.rsplit('/').next().unwrap_or_default();
                if key == "columnDefinitions" {
                    // Prose: nobody's program reads it, and ours is our own.
                    items.iter_mut().filter_map(Value::as_object_mut).for_each(|column| {
                        column.remove("description");
                    });
                }
                if key == "managedFields" {
                    // Controllers write when they get to it, which may be before or after the next request.
                    items.retain(|entry| entry["manager"] != "kube-controller-manager");
                    items.sort_by_key(|entry| {
                        let part = |key: &str| entry[key].as_str().unwrap_or_default().to_owned();
                        (part("operation"), part("manager"), part("subresource"), part("apiVersion"))
                    });
                }
                let is_age = |cell: &Value| cell.as_str().is_some_and(|text| AGE.is_match(text));
                for cell in items.iter_mut().filter(|cell| key == "cells" && is_age(cell)) {
                    *cell = json!("<age>");
                }
                items.iter_mut().for_each(|item| self.walk("", item));
            }
            Value::String(text) => *text = self.string(key, text),
            Value::Number(_) if key == "nodePort" || key == "healthCheckNodePort" => *value = json!("<port>"),
            _ => {}
        }
    }

    fn string(&mut self, key: &str, text: &str) -> String {
        let key = key.rsplit('/').next().unwrap_or_default();
        let number = || !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        match key {
            "resourceVersion" if number() && text != "0" => {
                let next = self.versions.len() + 1;
                format!("<version {}>", self.versions.entry(text.to_owned()).or_insert(next))
            }
            "continue" if !text.is_empty() => "<continue>".into(),
            "token" if text.len() > 100 => "<token>".into(),
            "ca.crt" => "<certificate>".into(),
            "caBundle" => "<certificate>".into(),
            _ => self.text(text),
        }
    }
}

/// A CRD's validation reports its errors in random order: they are compared as a set.
fn sort_causes(body: &mut Value) {
    let Some(causes) = body.pointer_mut("/details/causes").and_then(Value::as_array_mut) else { return };
    causes.sort_by_key(ToString::to_string);
    let mut parts: Vec<String> = causes
        .iter()
        .map(|c| {
            format!(
                "{}: {}",
                c["field"].as_str().unwrap_or_default(),
                c["message"].as_str().unwrap_or_default()
            )
        })
        .collect();
    parts.dedup();
    let Some(message) = body["message"].as_str() else { return };
    if let Some((before, list)) = message.split_once(" is invalid: [")
        && parts.iter().all(|part| list.contains(part.as_str()))
    {
        body["message"] = json!(format!("{before} is invalid: [{}]", parts.join(", ")));
    }
}

#[test]
fn equal_values_get_equal_placeholders_and_others_do_not() {
    let mut normaliser = Normaliser::new("https://127.0.0.1:9".into());
    let uid = "be52f6f6-0000-4000-8000-000000000001";
    let first = normaliser.body(json!({"metadata": {"uid": uid, "resourceVersion": "12"}}));
    let second = normaliser.body(json!({"metadata": {"uid": uid, "resourceVersion": "13"}}));
    assert_eq!(first["metadata"], json!({"uid": "<uid 1>", "resourceVersion": "<version 1>"}));
    assert_eq!(second["metadata"], json!({"uid": "<uid 1>", "resourceVersion": "<version 2>"}));
}
