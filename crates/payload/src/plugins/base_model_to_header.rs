//! `base-model-to-header`: tells the gateway which base model an adapter belongs to. Not part of the MaaS chain.

use std::sync::Arc;

use crate::exchange::Exchange;
use crate::stores::Stores;

/// Sets `X-Gateway-Base-Model-Name`.
#[derive(Debug)]
pub struct BaseModelToHeader {
    stores: Arc<Stores>,
}

impl BaseModelToHeader {
    pub(super) fn new(stores: Arc<Stores>) -> Self {
        BaseModelToHeader { stores }
    }

    pub(super) fn request(&self, exchange: &mut Exchange) {
        let Some(model) = exchange.body_text("model") else { return };
        let model = model.trim();
        let known = self.stores.base_models.find_map(|entry| {
            (entry.base == model || entry.adapters.iter().any(|adapter| adapter == model))
                .then(|| entry.base.clone())
        });
        exchange.headers.set("X-Gateway-Base-Model-Name", known.unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugins::testing::exchange;
    use crate::stores::BaseModel;

    #[test]
    fn adapters_lead_to_their_base() {
        let stores = Arc::new(Stores::default());
        let entry = BaseModel { base: "llama".into(), adapters: vec!["lora".into()] };
        stores.base_models.insert(("ns".into(), "cm".into()), entry);
        for (body, expected) in [
            (r#"{"model":"lora"}"#, Some("llama")),
            (r#"{"model":" llama "}"#, Some("llama")),
            (r#"{"model":"other"}"#, Some("")),
            ("{}", None),
        ] {
            let mut exchange = exchange("/", body);
            BaseModelToHeader::new(stores.clone()).request(&mut exchange);
            assert_eq!(exchange.headers.text("x-gateway-base-model-name"), expected, "{body}");
        }
    }
}
