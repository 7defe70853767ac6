//! Choosing the subscription a request runs under, for the gateway.

use std::{collections::BTreeMap, sync::Arc};

use axum::{extract::State, response::Response};
use http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;

use super::subscriptions::ModelRefBody;
use crate::{
    app::App,
    reply::json,
    request::{BodyError, Members},
    server::Body,
    subscriptions::{Caller, SelectError, Subscription, select as choose},
};

/// Who wants to use what.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub(crate) struct SelectRequest {
    #[schema(min_length = 1)]
    username: String,
    #[schema(required = false)]
    groups: Vec<String>,
    /// Name, or namespace and name, of a MaaSSubscription; empty for none.
    #[schema(required = false)]
    requested_subscription: String,
    /// Namespace and name of a MaaSModelRef; empty for none.
    #[schema(required = false)]
    requested_model: String,
}

impl SelectRequest {
    fn read(body: &[u8]) -> Result<Self, BodyError> {
        let body = Members::read("SelectRequest", body)?;
        Ok(Self {
            groups: body.strings("groups")?,
            requested_subscription: body.string("requestedSubscription")?,
            requested_model: body.string("requestedModel")?,
            username: body.required("username", "Username")?,
        })
    }
}

/// The chosen subscription, or why there is none. The gateway's policies read these members.
#[derive(Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SelectResponse {
    #[serde(skip_serializing_if = "String::is_empty")]
    name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    namespace: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    display_name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    description: String,
    #[serde(skip_serializing_if = "is_zero")]
    priority: i32,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    model_refs: Vec<ModelRefBody>,
    #[serde(skip_serializing_if = "String::is_empty")]
    organization_id: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    cost_center: String,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    labels: BTreeMap<String, String>,
    /// The subscription's phase; also when it is the reason why there is none.
    phase: String,
    ready: bool,
    /// Set while it is being deleted; the gateway then denies.
    #[serde(skip_serializing_if = "Option::is_none")]
    deletion_timestamp: Option<String>,
    /// A code, if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'static str>,
    /// A sentence, if there is none. Users see it.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde's signature
fn is_zero(number: &i32) -> bool {
    *number == 0
}

impl From<&Subscription> for SelectResponse {
    fn from(s: &Subscription) -> Self {
        Self {
            name: s.name.clone(),
            namespace: s.namespace.clone(),
            display_name: s.display_name.clone(),
            description: s.description.clone(),
            priority: s.priority,
            model_refs: s.model_refs.iter().map(ModelRefBody::from).collect(),
            organization_id: s.organization_id.clone(),
            cost_center: s.cost_center.clone(),
            labels: s.labels.clone(),
            phase: s.phase.clone(),
            ready: s.ready,
            deletion_timestamp: s.deletion_timestamp.clone(),
            error: None,
            message: None,
        }
    }
}

impl From<SelectError> for SelectResponse {
    fn from(error: SelectError) -> Self {
        let mut message = error.to_string();
        let (code, phase) = match error {
            SelectError::NoSubscription | SelectError::NotFound => ("not_found", String::new()),
            SelectError::AccessDenied => ("access_denied", String::new()),
            SelectError::Multiple(_) => ("multiple_subscriptions", String::new()),
            SelectError::ModelNotInSubscription { .. } => ("model_not_in_subscription", String::new()),
            SelectError::Unhealthy(why) => ("model_unhealthy", why.phase),
            SelectError::NoCaller => {
                message = format!("failed to select subscription: {message}");
                ("internal_error", String::new())
            }
        };
        Self { phase, error: Some(code), message: Some(message), ..Self::default() }
    }
}

impl From<BodyError> for SelectResponse {
    fn from(error: BodyError) -> Self {
        Self {
            error: Some("bad_request"),
            message: Some(format!("invalid request body: {error}")),
            ..Self::default()
        }
    }
}

/// Choose a subscription
///
/// Always answers 200: the gateway looks at `error`.
#[utoipa::path(post, path = "/internal/v1/subscriptions/select", tag = "internal", request_body = SelectRequest,
    responses((status = 200, description = "The subscription, or why there is none.", body = SelectResponse)))]
pub(crate) async fn select(State(app): State<Arc<App>>, Body(body): Body) -> Response {
    json(StatusCode::OK, &answer(&app, &body))
}

fn answer(app: &App, body: &[u8]) -> SelectResponse {
    let request = match SelectRequest::read(body) {
        Ok(request) => request,
        Err(error) => return error.into(),
    };
    let caller = Caller { username: &request.username, groups: &request.groups };
    match choose(
        &app.cluster.subscriptions(),
        caller,
        &request.requested_subscription,
        &request.requested_model,
    ) {
        Ok(subscription) => SelectResponse::from(&*subscription),
        Err(error) => error.into(),
    }
}
