//! `apikey-injection`: adds the provider's key, from the Secret next to the ExternalModel.

use std::sync::Arc;

use bytes::Bytes;

use crate::exchange::Exchange;
use crate::failure::Failure;
use crate::stores::Stores;

/// The Secret's field with the key.
const FIELD: &str = "api-key";

/// Injects keys. They go into one header of one request, and nowhere else.
#[derive(Debug)]
pub struct ApikeyInjection {
    stores: Arc<Stores>,
}

impl ApikeyInjection {
    pub(super) fn new(stores: Arc<Stores>) -> Self {
        ApikeyInjection { stores }
    }

    pub(super) fn request(&self, exchange: &mut Exchange) -> Result<(), Failure> {
        let Some(external) = exchange.cycle.external.as_ref().filter(|e| !e.provider.is_empty()) else {
            return Ok(());
        };
        let provider = external.provider.as_str();
        if external.credential_name.is_empty() {
            return Err(Failure::internal(format!("provider '{provider}' is missing credentialRef")));
        }
        if external.credential_namespace.is_empty() {
            return Err(Failure::internal(format!(
                "provider '{provider}' is missing credentialRef namespace"
            )));
        }
        let credential =
            self.stores.credentials.get(&external.credential_namespace, &external.credential_name);
        let credential = credential
            .ok_or_else(|| Failure::internal(format!("provider '{provider}' credentials not found")))?;
        let header = credential_header(provider)
            .ok_or_else(|| Failure::internal(format!("unsupported provider - '{provider}'")))?;
        let key = credential.field(FIELD).ok_or_else(|| {
            Failure::internal(format!(
                "failed to generate auth headers for provider '{provider}': credentials missing required field {FIELD}"
            ))
        })?;
        let (name, prefix) = header;
        exchange.headers.set(name, Bytes::from(format!("{prefix}{key}")));
        Ok(())
    }
}

/// The header a provider reads its key from, and what stands before the key.
pub fn credential_header(provider: &str) -> Option<(&'static str, &'static str)> {
    match provider {
        "openai" | "bedrock-openai" | "vertex-openai" => Some(("authorization", "Bearer ")),
        "anthropic" => Some(("x-api-key", "")),
        "azure-openai" => Some(("api-key", "")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::External;
    use crate::plugins::testing::{exchange, stores};
    use crate::stores::Credential;

    fn inject(provider: &str, secret: &str, namespace: &str) -> Result<Exchange, String> {
        let stores = stores();
        let key = ("llm".to_owned(), "other-field".to_owned());
        let other = Credential::new(&key, [("token".to_owned(), "t".to_owned())]).unwrap();
        stores.credentials.insert(key, other);
        let mut exchange = exchange("/", "{}");
        exchange.cycle.external = Some(External {
            provider: provider.into(),
            model: "m".into(),
            credential_name: secret.into(),
            credential_namespace: namespace.into(),
        });
        ApikeyInjection::new(stores).request(&mut exchange).map_err(|e| e.to_string()).map(|()| exchange)
    }

    #[test]
    fn each_provider_gets_its_key_in_its_header() {
        for (provider, header, expected) in [
            ("openai", "authorization", "Bearer sk-1"),
            ("bedrock-openai", "authorization", "Bearer sk-1"),
            ("vertex-openai", "authorization", "Bearer sk-1"),
            ("anthropic", "x-api-key", "sk-1"),
            ("azure-openai", "api-key", "sk-1"),
        ] {
            let exchange = inject(provider, "k", "llm").unwrap();
            assert_eq!(exchange.headers.text(header), Some(expected));
            assert_eq!(exchange.headers.changes().set.len(), 1, "{provider}: in one header only");
        }
    }

    #[test]
    fn every_way_to_have_no_key_is_told_without_naming_the_secret() {
        for (provider, secret, namespace, expected) in [
            ("openai", "", "llm", "provider 'openai' is missing credentialRef"),
            ("openai", "k", "", "provider 'openai' is missing credentialRef namespace"),
            ("openai", "gone", "llm", "provider 'openai' credentials not found"),
            ("openai", "k", "team", "provider 'openai' credentials not found"),
            ("cohere", "k", "llm", "unsupported provider - 'cohere'"),
            (
                "openai",
                "other-field",
                "llm",
                "failed to generate auth headers for provider 'openai': credentials missing required field api-key",
            ),
        ] {
            let error = inject(provider, secret, namespace).unwrap_err();
            assert_eq!(error, format!("inference error: Internal - {expected}"));
        }
        assert!(inject("", "k", "llm").unwrap().headers.changes().set.is_empty());
    }
}
