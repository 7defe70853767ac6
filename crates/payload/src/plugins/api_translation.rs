//! `api-translation`: speaks the provider's API towards the provider, and OpenAI's towards the client.

use std::collections::HashMap;

use serde::Deserialize;

use crate::config::PluginSpec;
use crate::exchange::{Cycle, Exchange};
use crate::failure::Failure;
use crate::headers::CREDENTIAL_HEADERS;
use crate::providers::vertex::VertexOpenAi;
use crate::providers::{Provider, azure, bedrock, openai, vertex};

/// Knows the providers, by the name ExternalModels use.
#[derive(Debug)]
pub struct ApiTranslation {
    providers: HashMap<&'static str, Provider>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Config {
    #[serde(rename = "vertexOpenAI")]
    vertex_openai: Option<VertexOpenAi>,
}

impl ApiTranslation {
    pub(super) fn new(spec: &PluginSpec) -> Result<Self, String> {
        let config: Config =
            spec.config().map_err(|e| format!("failed to parse api-translation plugin config: {e}"))?;
        let mut providers = HashMap::from([
            ("openai", openai::provider()),
            ("anthropic", Provider::Anthropic),
            ("azure-openai", azure::provider()),
            ("bedrock-openai", bedrock::provider()),
        ]);
        if let Some(config) = &config.vertex_openai {
            providers.insert("vertex-openai", vertex::provider(config)?);
        }
        Ok(ApiTranslation { providers })
    }

    pub(super) fn request(&self, exchange: &mut Exchange) -> Result<(), Failure> {
        let Some(external) = &exchange.cycle.external else { return Ok(()) };
        if external.provider.is_empty() {
            return Ok(());
        }
        let provider = self.providers.get(external.provider.as_str());
        let provider = provider
            .ok_or_else(|| Failure::Plain(format!("unsupported provider - '{}'", external.provider)))?;
        provider.request(exchange)?;
        if provider.changes_responses() {
            exchange.headers.remove("accept-encoding"); // what we are to translate must not come compressed
        }
        for header in CREDENTIAL_HEADERS {
            exchange.headers.remove(header); // the caller's keys stay here
        }
        Ok(())
    }

    /// The translator for the response, if the request went to a provider whose answers need one.
    pub fn response(&self, cycle: &Cycle) -> Option<&Provider> {
        let external = cycle.external.as_ref()?;
        self.providers.get(external.provider.as_str()).filter(|provider| provider.changes_responses())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::External;
    use crate::plugins::testing::{exchange, spec};

    const CHAT: &str = r#"{"model":"m","messages":[{"role":"user","content":"Hi"}]}"#;

    fn plugin() -> ApiTranslation {
        let vertex = r#"{"vertexOpenAI":{"project":"p","location":"us-central1","endpoint":"openapi"}}"#;
        ApiTranslation::new(&spec(&format!("api-translation:a:{vertex}"))).unwrap()
    }

    fn translate(provider: &str, body: &str) -> Result<Exchange, Failure> {
        let mut exchange = exchange("/llm/m/v1/chat/completions?x=1", body);
        exchange.headers.set("authorization", "Bearer mine");
        exchange.headers.set("api-key", "mine");
        exchange.headers.set("accept-encoding", "gzip");
        exchange.cycle.external = Some(External { provider: provider.into(), ..External::default() });
        plugin().request(&mut exchange).map(|()| exchange)
    }

    #[test]
    fn every_provider_has_its_path_and_never_the_callers_keys() {
        for (provider, path, content_type, accept_encoding) in [
            ("openai", "/v1/chat/completions", None, Some("gzip")),
            ("bedrock-openai", "/v1/chat/completions", Some("application/json"), Some("gzip")),
            ("azure-openai", "/openai/v1/chat/completions", Some("application/json"), None),
            (
                "vertex-openai",
                "/v1/projects/p/locations/us-central1/endpoints/openapi/chat/completions",
                Some("application/json"),
                None,
            ),
            ("anthropic", "/v1/messages", Some("application/json"), None),
        ] {
            let exchange = translate(provider, CHAT).unwrap();
            assert_eq!(exchange.headers.text(":path"), Some(path), "{provider}");
            assert_eq!(exchange.headers.text("content-type"), content_type, "{provider}");
            assert_eq!(exchange.headers.text("accept-encoding"), accept_encoding, "{provider}");
            assert_eq!(exchange.headers.text("authorization"), None, "{provider}");
            assert_eq!(exchange.headers.text("api-key"), None, "{provider}");
            assert_eq!(exchange.changed_body().is_some(), provider == "anthropic", "{provider}");
        }
    }

    #[test]
    fn what_cannot_be_sent_is_refused() {
        for (provider, body, expected) in [
            ("openai", r#"{"messages":[1]}"#, "inference error: BadRequest - model field is required"),
            (
                "openai",
                r#"{"model":"m","messages":[ ]}"#,
                "inference error: BadRequest - messages field is required and must not be empty",
            ),
            (
                "vertex-openai",
                r#"{"model":"m","messages":"x"}"#,
                "inference error: BadRequest - messages field is required and must not be empty",
            ),
            ("cohere", CHAT, "unsupported provider - 'cohere'"),
        ] {
            assert_eq!(translate(provider, body).unwrap_err().to_string(), expected);
        }
        assert!(translate("azure-openai", r#"{"model":"m"}"#).is_ok());
    }

    #[test]
    fn internal_requests_are_left_alone() {
        let mut exchange = exchange("/llm/llama/v1/chat/completions", CHAT);
        exchange.headers.set("authorization", "Bearer mine");
        plugin().request(&mut exchange).unwrap();
        assert_eq!(exchange.headers.text("authorization"), Some("Bearer mine"));
        assert!(plugin().response(&exchange.cycle).is_none());
    }

    #[test]
    fn the_configuration_is_checked() {
        let error =
            |json: &str| ApiTranslation::new(&spec(&format!("api-translation:a:{json}"))).unwrap_err();
        assert_eq!(
            error(r#"{"vertexOpenAI":{"project":"p","location":"","endpoint":"e"}}"#),
            "vertexOpenAI config requires non-empty project, location, and endpoint"
        );
        assert!(
            error(r#"{"vertexOpenAI":7}"#).starts_with("failed to parse api-translation plugin config: ")
        );
    }
}
