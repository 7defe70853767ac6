//! The models a user may use, as OpenAI's clients list them.

use std::sync::Arc;

use axum::{
    extract::State,
    response::{IntoResponse, Response},
};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde::Serialize;
use utoipa::ToSchema;

use super::keys::seconds;
use crate::{
    app::App,
    keys::format::PREFIX,
    models::{self, ListedModel},
    reply::{Refused, json},
    server::{Identity, OpenAiErrorBody, text},
    subscriptions::{SelectError, Subscription, accessible, select},
};

/// A list of models.
#[derive(Serialize, ToSchema)]
pub(crate) struct ModelList {
    data: Vec<ListedModel>,
    /// Always `list`.
    object: &'static str,
}

/// List models
///
/// Each model is asked, with the caller's own credential, whether it lets the caller in; those that do not, or do not
/// answer in time, are left out.
#[utoipa::path(get, path = "/v1/models", tag = "models",
    params(
        ("Authorization" = String, Header, description = "The caller's credential, passed on to the models."),
        ("X-MaaS-Subscription" = Option<String>, Header, description = "Only models of this subscription."),
    ),
    responses(
        (status = 200, description = "By id.", body = ModelList),
        (status = 401, description = "No credential.", body = OpenAiErrorBody),
        (status = 403, description = "No such subscription, or not the caller's, or not usable.", body = OpenAiErrorBody),
        (status = 500, description = "The gateway did not say who asks.", body = crate::server::ErrorBody),
    ))]
pub(crate) async fn list(
    State(app): State<Arc<App>>,
    identity: Identity,
    headers: HeaderMap,
) -> Result<Response, Refused> {
    let credential = headers.get(header::AUTHORIZATION).map(text).unwrap_or_default();
    let Ok(authorization) = HeaderValue::from_str(&credential) else { return Err(unauthorized()) };
    if credential.is_empty() {
        return Err(unauthorized());
    }
    let requested = requested_subscription(&headers);
    let is_key = credential.strip_prefix("Bearer ").is_some_and(|rest| rest.starts_with(PREFIX));
    let subscriptions = chosen(&app, &identity, is_key, &requested)?;
    let data = models::list(&app.access, &subscriptions, &app.cluster.models(), &authorization).await;
    let mut response = json(StatusCode::OK, &ModelList { data, object: "list" });
    let checked = HeaderValue::from_str(&seconds(app.clock.now())).expect("a time is ASCII");
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response.headers_mut().insert("x-access-checked-at", checked);
    Ok(response.into_response())
}

fn unauthorized() -> Refused {
    Refused::openai(StatusCode::UNAUTHORIZED, "Authorization required")
}

/// The last one that says something: the gateway appends its own.
fn requested_subscription(headers: &HeaderMap) -> String {
    let mut values = headers.get_all("x-maas-subscription").into_iter().map(text);
    values.rfind(|value| !value.is_empty()).unwrap_or_default()
}

fn chosen(
    app: &App,
    identity: &Identity,
    is_key: bool,
    requested: &str,
) -> Result<Vec<Arc<Subscription>>, Refused> {
    let forbidden = |message: String| Refused::openai(StatusCode::FORBIDDEN, message);
    const UNBOUND: &str = "API key has no subscription bound";
    let all = app.cluster.subscriptions();
    match (is_key, requested) {
        (true, "") => Err(forbidden(UNBOUND.into())),
        (false, "") => Ok(accessible(&all, identity.caller())),
        (_, requested) => match select(&all, identity.caller(), requested, "") {
            Ok(subscription) => Ok(vec![subscription]),
            Err(SelectError::Multiple(_)) => Err(forbidden(UNBOUND.into())),
            Err(error @ SelectError::NoCaller) => {
                tracing::error!(%error, "Failed to select subscription");
                Err(Refused::openai(StatusCode::INTERNAL_SERVER_ERROR, "Failed to select subscription"))
            }
            Err(error) => Err(forbidden(error.to_string())),
        },
    }
}
