//! The sources that users add. Releases before this one put an entry of their own there, which is taken out again; what
//! cannot be read is left as it is.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::Value;

/// The key of a ConfigMap that holds sources.
pub(super) const KEY: &str = "sources.yaml";
/// The entry that does not belong there.
const OLD_DEFAULT: &str = "default_catalog";

/// A list of sources. Nothing else may be in it: a misspelt key would be lost when it is written back.
#[derive(Deserialize, Serialize, Default)]
#[serde(deny_unknown_fields)]
struct Sources {
    #[serde(default, skip_serializing_if = "is_empty")]
    catalogs: Option<Vec<Entry>>,
    #[serde(default, skip_serializing_if = "is_empty")]
    model_catalogs: Option<Vec<Entry>>,
    #[serde(default, skip_serializing_if = "is_empty")]
    mcp_catalogs: Option<Vec<Entry>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    labels: Option<Vec<Value>>,
    #[serde(default, rename = "namedQueries", skip_serializing_if = "Option::is_none")]
    named_queries: Option<BTreeMap<String, Value>>,
}

fn is_empty<T>(list: &Option<Vec<T>>) -> bool {
    list.as_ref().is_none_or(Vec::is_empty)
}

/// One source.
#[derive(Deserialize, Serialize, Default)]
#[serde(deny_unknown_fields)]
struct Entry {
    #[serde(default)]
    name: Text,
    #[serde(default)]
    id: Text,
    #[serde(default, rename = "type")]
    type_: Text,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    enabled: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    properties: Option<BTreeMap<String, Text>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    labels: Option<Vec<Text>>,
}

/// Text, also where somebody wrote a number or a truth value without quotes.
#[derive(Serialize, Default, PartialEq)]
#[serde(transparent)]
struct Text(String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Scalar;
        impl de::Visitor<'_> for Scalar {
            type Value = Text;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Text, E> {
                Ok(Text(text.into()))
            }
            fn visit_bool<E: de::Error>(self, value: bool) -> Result<Text, E> {
                Ok(Text(value.to_string()))
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Text, E> {
                Ok(Text(value.to_string()))
            }
            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Text, E> {
                Ok(Text(value.to_string()))
            }
            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Text, E> {
                Ok(Text(value.to_string()))
            }
            fn visit_unit<E: de::Error>(self) -> Result<Text, E> {
                Ok(Text::default())
            }
        }
        deserializer.deserialize_any(Scalar)
    }
}

/// Sources without the entry of earlier releases; none if it is not in there.
///
/// # Errors
/// If the text cannot be read to the letter: then nothing may be written back.
pub(super) fn cleaned(text: &str) -> Result<Option<String>, String> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    let mut sources: Sources = serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
    let mut dropped = 0;
    for list in [&mut sources.catalogs, &mut sources.model_catalogs].into_iter().flatten() {
        let before = list.len();
        list.retain(|entry| entry.id.0 != OLD_DEFAULT);
        dropped += before - list.len();
    }
    if dropped == 0 {
        return Ok(None);
    }
    for list in [&mut sources.catalogs, &mut sources.model_catalogs, &mut sources.mcp_catalogs] {
        for entry in list.iter_mut().flatten() {
            entry.properties = entry.properties.take().filter(|properties| !properties.is_empty());
            entry.labels = entry.labels.take().filter(|labels| !labels.is_empty());
        }
    }
    // By way of a value, in which keys are sorted.
    let value = serde_json::to_value(&sources).map_err(|error| error.to_string())?;
    if value.as_object().is_some_and(serde_json::Map::is_empty) {
        return Ok(Some("{}\n".into()));
    }
    let mut text = serde_saphyr::to_string(&value).map_err(|error| error.to_string())?;
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(Some(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn value(text: &str) -> Value {
        serde_saphyr::from_str(text).unwrap()
    }

    #[test]
    fn only_the_old_entry_goes() {
        let text = "catalogs:\n- {id: default_catalog, name: D, type: yaml}\n- {id: custom_catalog, name: C, type: yaml, \
                    enabled: false, properties: {n: 5, t: true}, labels: [a]}\nmodel_catalogs:\n- {id: default_catalog}\n\
                    mcp_catalogs:\n- {id: default_catalog}\nlabels: [{name: x}]\nnamedQueries: {q: {a: 1}}\n";
        let custom = json!({ "id": "custom_catalog", "name": "C", "type": "yaml", "enabled": false,
            "properties": { "n": "5", "t": "true" }, "labels": ["a"] });
        assert_eq!(
            value(&cleaned(text).unwrap().unwrap()),
            json!({ "catalogs": [custom], "mcp_catalogs": [{ "id": "default_catalog", "name": "", "type": "" }],
                "labels": [{ "name": "x" }], "namedQueries": { "q": { "a": 1 } } })
        );
    }

    #[test]
    fn nothing_is_written_where_nothing_goes() {
        assert_eq!(cleaned("catalogs: []"), Ok(None));
        assert_eq!(cleaned(""), Ok(None));
        assert_eq!(cleaned("catalogs:\n- {id: mine}\n# a comment stays\n"), Ok(None));
    }

    #[test]
    fn what_is_left_of_nothing_is_an_empty_document() {
        assert_eq!(cleaned("catalogs: [{id: default_catalog}]"), Ok(Some("{}\n".into())));
    }

    #[test]
    fn what_cannot_be_read_to_the_letter_is_left_alone() {
        for text in [
            "catalogs: [{id: default_catalog}]\ncatalogs: []\n",
            "catalogs: [{id: default_catalog, extra: 1}]",
            "other: 1",
            "catalogs: [{id: default_catalog, enabled: sometimes}]",
            "catalogs: {id: default_catalog}",
            "catalogs: [unclosed",
        ] {
            assert!(cleaned(text).is_err(), "{text}");
        }
    }
}
