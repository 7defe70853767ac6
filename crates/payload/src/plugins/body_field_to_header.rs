//! `body-field-to-header`: copies a top-level string of the body to a header.

use serde::Deserialize;

use crate::config::PluginSpec;
use crate::exchange::Exchange;
use crate::metrics::Metrics;

/// Copies one field to one header; in MaaS `model` to `X-Gateway-Model-Name`.
#[derive(Debug)]
pub struct BodyFieldToHeader {
    config: Config,
    metrics: Metrics,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Config {
    field_name: String,
    header_name: String,
}

impl BodyFieldToHeader {
    pub(super) fn new(spec: &PluginSpec, metrics: Metrics) -> Result<Self, String> {
        let config: Config = spec.config().map_err(|e| {
            format!("failed to parse the parameters of the 'body-field-to-header' plugin - {e}")
        })?;
        for (name, value) in [("fieldName", &config.field_name), ("headerName", &config.header_name)] {
            if value.is_empty() {
                return Err(format!(
                    "failed to create 'body-field-to-header' plugin - {name} is required for plugin 'body-field-to-header'"
                ));
            }
        }
        Ok(BodyFieldToHeader { config, metrics })
    }

    /// Sets the header; what the client put there never survives.
    pub(super) fn request(&self, exchange: &mut Exchange) {
        let Config { field_name, header_name } = &self.config;
        let found = exchange.body.as_ref().ok().and_then(|body| body.get(field_name));
        match found.map(|value| value.as_text()) {
            Some(Some(text)) if !text.is_empty() && is_header_value(&text) => {
                return exchange.headers.set(header_name, text);
            }
            Some(Some(text)) if text.is_empty() => self.metrics.field_empty(field_name),
            Some(_) => {} // not a name at all
            None => self.metrics.field_not_found(field_name),
        }
        exchange.headers.remove(header_name);
    }
}

/// Envoy refuses the whole answer for a header value with control characters.
fn is_header_value(text: &str) -> bool {
    !text.bytes().any(|b| b.is_ascii_control())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugins::testing::{exchange, spec};

    fn plugin() -> BodyFieldToHeader {
        let spec = spec(
            r#"body-field-to-header:model-extractor:{"fieldName":"model","headerName":"X-Gateway-Model-Name"}"#,
        );
        BodyFieldToHeader::new(&spec, Metrics::default()).unwrap()
    }

    #[test]
    fn the_header_is_the_field_or_nothing() {
        for (body, expected) in [
            (r#"{"model":"llama"}"#, Some("llama")),
            (r#"{"model":"a","model":"b"}"#, Some("b")),
            (r#"{"model":"caf\u00e9"}"#, Some("café")),
            (r#"{"model":""}"#, None),
            (r#"{"model":7}"#, None),
            (r#"{"model":null}"#, None),
            (r#"{"model":{"a":1}}"#, None),
            (r#"{"model":"a\r\nx-evil: 1"}"#, None),
            (r#"{"prompt":"x"}"#, None),
            ("not json", None),
        ] {
            let mut exchange = exchange("/", body);
            exchange.headers.set("X-Gateway-Model-Name", "claimed");
            plugin().request(&mut exchange);
            assert_eq!(exchange.headers.text("x-gateway-model-name"), expected, "{body}");
        }
    }

    #[test]
    fn a_missing_and_an_empty_field_are_counted() {
        let plugin = plugin();
        plugin.request(&mut exchange("/", r#"{"prompt":"x"}"#));
        plugin.request(&mut exchange("/", r#"{"model":""}"#));
        let text = plugin.metrics.encode();
        assert!(text.contains(r#"bbr_body_field_not_found_total{field="model"} 1"#), "{text}");
        assert!(text.contains(r#"bbr_body_field_empty_total{field="model"} 1"#), "{text}");
    }

    #[test]
    fn both_names_are_required() {
        let error = |text: &str| BodyFieldToHeader::new(&spec(text), Metrics::default()).unwrap_err();
        let prefix = "failed to create 'body-field-to-header' plugin - ";
        assert_eq!(
            error("body-field-to-header:x"),
            format!("{prefix}fieldName is required for plugin 'body-field-to-header'")
        );
        assert_eq!(
            error(r#"body-field-to-header:x:{"fieldName":"m"}"#),
            format!("{prefix}headerName is required for plugin 'body-field-to-header'")
        );
        assert!(
            error(r#"body-field-to-header:x:{"fieldName":1}"#)
                .starts_with("failed to parse the parameters of the 'body-field-to-header' plugin - ")
        );
    }
}
