//! `--plugin <type>:<name>[:<json>]`

use std::str::FromStr;

use serde::de::DeserializeOwned;

/// One plugin as configured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginSpec {
    /// Which plugin.
    pub kind: String,
    /// What it is called in metrics and errors.
    pub name: String,
    /// Its configuration; empty if none was given.
    json: String,
}

/// Why a `--plugin` value cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// Fewer than two parts.
    #[error("usage: --plugin <type>:<name>:<json>")]
    Usage,
    /// Nothing before the first colon.
    #[error("bbr plugin type cannot be empty")]
    EmptyType,
    /// Nothing after it.
    #[error("bbr plugin name cannot be empty")]
    EmptyName,
    /// The third part is not JSON.
    #[error("invalid json")]
    InvalidJson,
}

impl FromStr for PluginSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let (kind, rest) = text.split_once(':').ok_or(SpecError::Usage)?;
        let (name, json) = rest.split_once(':').unwrap_or((rest, ""));
        let (kind, name) = (kind.trim(), name.trim());
        if kind.is_empty() {
            return Err(SpecError::EmptyType);
        }
        if name.is_empty() {
            return Err(SpecError::EmptyName);
        }
        if !json.is_empty() && serde_json::from_str::<serde::de::IgnoredAny>(json).is_err() {
            return Err(SpecError::InvalidJson);
        }
        Ok(PluginSpec { kind: kind.into(), name: name.into(), json: json.into() })
    }
}

impl PluginSpec {
    /// The configuration as `T`; its default if none was given.
    pub fn config<T: DeserializeOwned + Default>(&self) -> Result<T, serde_json::Error> {
        if self.json.trim().is_empty() {
            return Ok(T::default());
        }
        serde_json::from_str::<Option<T>>(&self.json).map(Option::unwrap_or_default)
    }

    /// The chain when no `--plugin` is given.
    pub fn defaults() -> Vec<PluginSpec> {
        [
            r#"body-field-to-header:body-field-to-header:{"fieldName":"model","headerName":"X-Gateway-Model-Name"}"#,
            "base-model-to-header:base-model-to-header",
        ]
        .map(|text| text.parse().expect("a valid plugin"))
        .into()
    }

    /// The chain of Models-as-a-Service.
    pub fn maas() -> Vec<PluginSpec> {
        [
            r#"body-field-to-header:model-extractor:{"fieldName":"model","headerName":"X-Gateway-Model-Name"}"#,
            "model-provider-resolver:model-provider-resolver",
            "api-translation:api-translation",
            "apikey-injection:apikey-injection",
        ]
        .map(|text| text.parse().expect("a valid plugin"))
        .into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_parts_of_which_the_last_may_hold_colons() {
        let parse =
            |text: &str| text.parse::<PluginSpec>().map(|s| format!("{}|{}|{}", s.kind, s.name, s.json));
        assert_eq!(parse(r#" a : b :{"u":"http://x:1"}"#).unwrap(), r#"a|b|{"u":"http://x:1"}"#);
        assert_eq!(parse("a:b").unwrap(), "a|b|");
        assert_eq!(parse("a:b:").unwrap(), "a|b|");
        assert_eq!(parse("nope").unwrap_err().to_string(), "usage: --plugin <type>:<name>:<json>");
        assert_eq!(parse(" :b").unwrap_err().to_string(), "bbr plugin type cannot be empty");
        assert_eq!(parse("a: :{}").unwrap_err().to_string(), "bbr plugin name cannot be empty");
        assert_eq!(parse("a:b:{").unwrap_err().to_string(), "invalid json");
    }

    #[test]
    fn the_built_in_chains_are_valid() {
        assert_eq!(PluginSpec::defaults().len() + PluginSpec::maas().len(), 6);
    }
}
