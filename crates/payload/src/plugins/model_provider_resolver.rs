//! `model-provider-resolver`: finds the ExternalModel that the path names, and makes sure the body means the same one.

use std::sync::Arc;

use crate::exchange::{Exchange, External};
use crate::failure::{Code, Failure};
use crate::headers::Headers;
use crate::plugins::MODEL_HEADER;
use crate::stores::{Model, Stores};

/// Resolves external models; everything else is internal and left alone.
#[derive(Debug)]
pub struct ModelProviderResolver {
    stores: Arc<Stores>,
}

impl ModelProviderResolver {
    pub(super) fn new(stores: Arc<Stores>) -> Self {
        ModelProviderResolver { stores }
    }

    /// True if the request's path is an ExternalModel's.
    pub fn is_external(&self, headers: &Headers) -> bool {
        headers.claimed_model().is_some_and(|(ns, name)| self.stores.models.get(ns, name).is_some())
    }

    pub(super) fn request(&self, exchange: &mut Exchange) -> Result<(), Failure> {
        let model = exchange.body_text("model").filter(|model| !model.is_empty());
        let Some((namespace, name)) = exchange.headers.claimed_model() else {
            self.hide_foreign_target(exchange);
            return Ok(());
        };
        let Some(known) = self.stores.models.get(namespace, name) else {
            self.hide_foreign_target(exchange);
            return Ok(());
        };
        let model = model.ok_or_else(|| Failure::bad_request("model field is required"))?;
        if !exchange.headers.bare_path().is_some_and(|path| path.ends_with("chat/completions")) {
            return Err(Failure::bad_request("only /chat/completions input type is supported"));
        }
        if known.target_model != model {
            let message = format!("model in request body '{model}' doesn't match ExternalModel");
            return Err(Failure::refused(Code::NotFound, message));
        }
        if self.stores.routes_elsewhere(namespace, name, &known) {
            tracing::warn!(
                namespace,
                name,
                target_model = known.target_model,
                "refused: an older ExternalModel has the same targetModel and another endpoint, \
                 so the gateway would send this model's key there"
            );
            let message =
                format!("ExternalModel '{namespace}/{name}' shares its targetModel with another endpoint");
            return Err(Failure::refused(Code::ServiceUnavailable, message));
        }
        exchange.cycle.external = Some(external(namespace, &known));
        Ok(())
    }

    /// The model's name routes as well as the path does. On a path that is no external model's, a name that only
    /// external models have must not lead to their providers, past the policies of their own routes.
    fn hide_foreign_target(&self, exchange: &mut Exchange) {
        let claims = exchange.headers.text(MODEL_HEADER).is_some_and(|model| self.stores.is_target(model));
        if claims {
            exchange.headers.remove(MODEL_HEADER);
        }
    }
}

fn external(namespace: &str, model: &Model) -> External {
    External {
        provider: model.provider.clone(),
        model: model.target_model.clone(),
        credential_name: model.credential.clone(),
        credential_namespace: namespace.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugins::testing::{exchange, stores};

    fn resolve(path: &str, body: &str) -> Result<Option<External>, Failure> {
        let mut exchange = exchange(path, body);
        ModelProviderResolver::new(stores()).request(&mut exchange).map(|()| exchange.cycle.external)
    }

    #[test]
    fn the_path_decides_and_the_body_must_agree() {
        let gpt = r#"{"model":"gpt-4o"}"#;
        let found = resolve("/llm/gpt/v1/chat/completions?x=1", gpt).unwrap().unwrap();
        assert_eq!((found.provider.as_str(), found.credential_namespace.as_str()), ("openai", "llm"));
        for (path, body) in [
            ("/llm/llama/v1/chat/completions", gpt),
            ("/other/gpt/v1/chat/completions", gpt),
            ("/llm%2Fgpt/v1/chat/completions", gpt),
            ("/llm", gpt),
            ("/llm/llama/v1", "not json"),
        ] {
            assert_eq!(resolve(path, body), Ok(None), "{path}");
        }
        for (path, body, expected) in [
            (
                "/llm/gpt/v1/chat/completions",
                r#"{"model":"other"}"#,
                "inference error: NotFound - model in request body 'other' doesn't match ExternalModel",
            ),
            (
                "/llm/gpt/v1/embeddings",
                gpt,
                "inference error: BadRequest - only /chat/completions input type is supported",
            ),
            (
                "/llm/gpt/v1/chat/completions",
                r#"{"model":7}"#,
                "inference error: BadRequest - model field is required",
            ),
            (
                "/llm/gpt/v1/chat/completions",
                r#"{"model":"claude-x"}"#,
                "inference error: NotFound - model in request body 'claude-x' doesn't match ExternalModel",
            ),
        ] {
            assert_eq!(resolve(path, body).unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn a_shared_target_with_another_endpoint_is_refused_for_all_but_the_oldest() {
        let stores = stores();
        let newer = Model {
            provider: "openai".into(),
            target_model: "gpt-4o".into(),
            endpoint: "elsewhere.example".into(),
            credential: "k3".into(),
            created: 9,
        };
        stores.models.insert(("team".into(), "gpt".into()), newer);
        let resolve = |path: &str| {
            let mut exchange = exchange(path, r#"{"model":"gpt-4o"}"#);
            ModelProviderResolver::new(stores.clone()).request(&mut exchange)
        };
        assert_eq!(resolve("/llm/gpt/v1/chat/completions"), Ok(()));
        let refused = resolve("/team/gpt/v1/chat/completions").unwrap_err().to_string();
        assert_eq!(
            refused,
            "inference error: ServiceUnavailable - ExternalModel 'team/gpt' shares its targetModel with another endpoint"
        );
    }

    #[test]
    fn an_external_models_name_on_another_path_does_not_route() {
        for (path, model, kept) in [
            ("/llm/llama/v1/chat/completions", "gpt-4o", None),
            ("/v1/chat/completions", "gpt-4o", None),
            ("/llm/llama/v1/chat/completions", "llama", Some("llama")),
            ("/llm/gpt/v1/chat/completions", "gpt-4o", Some("gpt-4o")),
        ] {
            let mut exchange = exchange(path, &format!(r#"{{"model":"{model}"}}"#));
            exchange.headers.set(MODEL_HEADER, model.to_owned());
            ModelProviderResolver::new(stores()).request(&mut exchange).unwrap();
            assert_eq!(exchange.headers.text(MODEL_HEADER), kept, "{path} {model}");
        }
    }
}
