//! The subscriptions a user may use.

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    extract::{Path, State},
    response::Response,
};
use http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    app::App,
    reply::{Refused, json},
    server::{ErrorBody, Identity, OpenAiErrorBody},
    subscriptions::{ModelRef, Subscription, accessible, containing_model},
};

/// A subscription that the caller may use.
#[derive(Serialize, ToSchema)]
#[schema(as = Subscription)]
pub(crate) struct SubscriptionBody {
    /// What to send as `X-MaaS-Subscription`.
    subscription_id_header: String,
    /// Its description, else its display name, else its name.
    subscription_description: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    display_name: String,
    priority: i32,
    model_refs: Vec<ModelRefBody>,
    #[serde(skip_serializing_if = "String::is_empty")]
    organization_id: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    cost_center: String,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    labels: BTreeMap<String, String>,
}

/// A model of a subscription.
#[derive(Serialize, ToSchema)]
#[schema(as = ModelRef)]
pub(crate) struct ModelRefBody {
    name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    namespace: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    token_rate_limits: Vec<TokenRateLimitBody>,
    #[serde(skip_serializing_if = "Option::is_none")]
    billing_rate: Option<BillingRateBody>,
}

/// So many tokens in so much time.
#[derive(Serialize, ToSchema)]
#[schema(as = TokenRateLimit)]
pub(crate) struct TokenRateLimitBody {
    limit: i64,
    /// Such as `1m`.
    window: String,
}

/// What a token costs.
#[derive(Serialize, ToSchema)]
#[schema(as = BillingRate)]
pub(crate) struct BillingRateBody {
    per_token: String,
}

impl From<&Subscription> for SubscriptionBody {
    fn from(s: &Subscription) -> Self {
        let described = [&s.description, &s.display_name, &s.name].into_iter().find(|text| !text.is_empty());
        Self {
            subscription_id_header: s.name.clone(),
            subscription_description: described.cloned().unwrap_or_default(),
            display_name: s.display_name.clone(),
            priority: s.priority,
            model_refs: s.model_refs.iter().map(ModelRefBody::from).collect(),
            organization_id: s.organization_id.clone(),
            cost_center: s.cost_center.clone(),
            labels: s.labels.clone(),
        }
    }
}

impl From<&ModelRef> for ModelRefBody {
    fn from(r: &ModelRef) -> Self {
        let limits = r.token_rate_limits.iter();
        Self {
            name: r.name.clone(),
            namespace: r.namespace.clone(),
            token_rate_limits: limits
                .map(|l| TokenRateLimitBody { limit: l.limit, window: l.window.clone() })
                .collect(),
            billing_rate: r.billing_rate.clone().map(|per_token| BillingRateBody { per_token }),
        }
    }
}

/// List subscriptions
///
/// Those that the caller may use and that serve.
#[utoipa::path(get, path = "/v1/subscriptions", tag = "subscriptions", responses(
    (status = 200, description = "By name.", body = Vec<SubscriptionBody>),
    (status = 500, description = "The gateway did not say who asks.", body = ErrorBody),
))]
pub(crate) async fn list(State(app): State<Arc<App>>, identity: Identity) -> Response {
    reply(&accessible(&app.cluster.subscriptions(), identity.caller()))
}

/// List subscriptions with a model
///
/// Those that the caller may use, that serve, and that have a model of this name.
#[utoipa::path(get, path = "/v1/model/{model_id}/subscriptions", tag = "subscriptions",
    params(("model_id" = String, Path, description = "Name of the MaaSModelRef.")),
    responses(
        (status = 200, description = "By name.", body = Vec<SubscriptionBody>),
        (status = 400, description = "No model is named.", body = OpenAiErrorBody),
        (status = 500, description = "The gateway did not say who asks.", body = ErrorBody),
    ))]
pub(crate) async fn with_model(
    State(app): State<Arc<App>>,
    identity: Identity,
    Path(model): Path<String>,
) -> Response {
    reply(&containing_model(&app.cluster.subscriptions(), identity.caller(), &model))
}

/// `/v1/model//subscriptions`
pub(crate) async fn without_model(_: Identity) -> Refused {
    Refused::openai(StatusCode::BAD_REQUEST, "model-id is required")
}

fn reply(subscriptions: &[Arc<Subscription>]) -> Response {
    let bodies: Vec<SubscriptionBody> = subscriptions.iter().map(|s| SubscriptionBody::from(&**s)).collect();
    json(StatusCode::OK, &bodies)
}
