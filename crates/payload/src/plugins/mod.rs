//! The steps of the chain. Each file is one plugin: its configuration, what it does, and a table of cases.

mod api_translation;
mod apikey_injection;
mod base_model_to_header;
mod body_field_to_header;
mod model_provider_resolver;
mod nemo_request_guard;

pub use api_translation::ApiTranslation;
pub use apikey_injection::{ApikeyInjection, credential_header};
pub use base_model_to_header::BaseModelToHeader;
pub use body_field_to_header::BodyFieldToHeader;
pub use model_provider_resolver::ModelProviderResolver;
pub use nemo_request_guard::NemoRequestGuard;

use std::sync::Arc;

use crate::config::PluginSpec;
use crate::exchange::Exchange;
use crate::failure::Failure;
use crate::metrics::Metrics;
use crate::stores::Stores;

/// The header that carries the model's name, by which the gateway routes.
pub const MODEL_HEADER: &str = "x-gateway-model-name";

/// One step of the chain.
#[derive(Debug)]
pub enum Plugin {
    /// Copies a field of the body to a header.
    BodyFieldToHeader(BodyFieldToHeader),
    /// Tells the base model of the model named in the body.
    BaseModelToHeader(BaseModelToHeader),
    /// Finds the ExternalModel a request is for.
    ModelProviderResolver(ModelProviderResolver),
    /// Speaks the provider's API.
    ApiTranslation(ApiTranslation),
    /// Adds the provider's key.
    ApikeyInjection(ApikeyInjection),
    /// Asks NeMo guardrails whether the request may pass.
    NemoRequestGuard(NemoRequestGuard),
}

/// What plugins are built with.
#[derive(Debug, Clone, Default)]
pub struct Parts {
    /// What is known of the cluster.
    pub stores: Arc<Stores>,
    /// What is counted.
    pub metrics: Metrics,
}

/// Why a plugin cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// There is no such plugin.
    #[error("unknown plugin type \"{0}\" (no factory registered)")]
    UnknownType(String),
    /// Its configuration is not usable.
    #[error("invalid {kind}#{name}: {cause}")]
    Invalid {
        /// The plugin's type.
        kind: String,
        /// The name it was given.
        name: String,
        /// What is wrong.
        cause: String,
    },
}

impl Plugin {
    /// Builds the plugin that `spec` describes.
    pub fn build(spec: &PluginSpec, parts: &Parts) -> Result<Plugin, BuildError> {
        let stores = parts.stores.clone();
        let built = match spec.kind.as_str() {
            "body-field-to-header" => {
                BodyFieldToHeader::new(spec, parts.metrics.clone()).map(Plugin::BodyFieldToHeader)
            }
            "base-model-to-header" => Ok(Plugin::BaseModelToHeader(BaseModelToHeader::new(stores))),
            "model-provider-resolver" => {
                Ok(Plugin::ModelProviderResolver(ModelProviderResolver::new(stores)))
            }
            "api-translation" => ApiTranslation::new(spec).map(Plugin::ApiTranslation),
            "apikey-injection" => Ok(Plugin::ApikeyInjection(ApikeyInjection::new(stores))),
            "nemo-request-guard" => NemoRequestGuard::new(spec).map(Plugin::NemoRequestGuard),
            _ => return Err(BuildError::UnknownType(spec.kind.clone())),
        };
        built.map_err(|cause| BuildError::Invalid { kind: spec.kind.clone(), name: spec.name.clone(), cause })
    }

    /// Processes a request whose body is complete.
    pub async fn request(&self, exchange: &mut Exchange) -> Result<(), Failure> {
        match self {
            Plugin::BodyFieldToHeader(plugin) => {
                plugin.request(exchange);
                Ok(())
            }
            Plugin::BaseModelToHeader(plugin) => {
                plugin.request(exchange);
                Ok(())
            }
            Plugin::ModelProviderResolver(plugin) => plugin.request(exchange),
            Plugin::ApiTranslation(plugin) => plugin.request(exchange),
            Plugin::ApikeyInjection(plugin) => plugin.request(exchange),
            Plugin::NemoRequestGuard(plugin) => plugin.request(exchange).await,
        }
    }
}

/// What the table tests of the plugins share.
#[cfg(test)]
pub(crate) mod testing {
    use super::*;
    use crate::headers::Headers;
    use crate::stores::{Credential, Model};
    use bytes::Bytes;

    /// A request for `path` with `body`.
    pub(crate) fn exchange(path: &str, body: &str) -> Exchange {
        Exchange::new(
            Headers::received([(":path", path.to_owned())]),
            Bytes::copy_from_slice(body.as_bytes()),
        )
    }

    /// `--plugin` as it would be written.
    pub(crate) fn spec(text: &str) -> PluginSpec {
        text.parse().expect("a plugin")
    }

    /// The stores of the spec's acceptance scenarios.
    pub(crate) fn stores() -> Arc<Stores> {
        let stores = Stores::default();
        let key = |name: &str| ("llm".to_owned(), name.to_owned());
        for (name, provider, model, secret, value) in
            [("claude", "anthropic", "claude-x", "k", "sk-1"), ("gpt", "openai", "gpt-4o", "k2", "sk-2")]
        {
            let model = Model {
                provider: provider.into(),
                target_model: model.into(),
                endpoint: format!("{provider}.example"),
                credential: secret.into(),
                created: 1,
            };
            stores.models.insert(key(name), model);
            let data = [("api-key".to_owned(), value.to_owned())];
            stores.credentials.insert(key(secret), Credential::new(&key(secret), data).expect("filled"));
        }
        Arc::new(stores)
    }
}
