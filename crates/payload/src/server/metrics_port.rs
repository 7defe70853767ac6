//! The metrics port: for those who may.

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::{StatusCode, header};
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, UserInfo};
use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::api::PostParams;
use kube::{Api, Client};

use crate::metrics::Metrics;

/// Who may read the metrics.
#[derive(Clone)]
pub enum MetricsAccess {
    /// Everybody.
    Open,
    /// Whoever this cluster lets `get` the path.
    Reviewed(Client),
}

impl std::fmt::Debug for MetricsAccess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            MetricsAccess::Open => "Open",
            MetricsAccess::Reviewed(_) => "Reviewed",
        })
    }
}

/// What is served.
pub(super) fn router(metrics: Metrics, access: MetricsAccess, pprof: bool) -> Router {
    let mut router = Router::new().route("/metrics", get(exposition).with_state(metrics));
    if pprof {
        router = router.route("/debug/pprof/{profile}", get(no_profiles));
    }
    match access {
        MetricsAccess::Open => router,
        MetricsAccess::Reviewed(client) => router.layer(middleware::from_fn_with_state(client, review)),
    }
}

async fn exposition(State(metrics): State<Metrics>) -> impl IntoResponse {
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, kind)], metrics.encode())
}

async fn no_profiles() -> impl IntoResponse {
    (
        StatusCode::NOT_IMPLEMENTED,
        "profiles of the Go runtime do not exist here; use perf or a tracing profiler\n",
    )
}

/// Lets a request pass if the cluster knows its token and lets its user read the path.
async fn review(State(client): State<Client>, request: Request, next: Next) -> Response {
    let Some(token) = bearer(&request) else {
        return (StatusCode::UNAUTHORIZED, "Unauthorized\n").into_response();
    };
    let path = request.uri().path().to_owned();
    match allowed(&client, token, path).await {
        Ok(Verdict::Allowed) => next.run(request).await,
        Ok(Verdict::Unknown) => (StatusCode::UNAUTHORIZED, "Unauthorized\n").into_response(),
        Ok(Verdict::Denied) => (StatusCode::FORBIDDEN, "Authorization denied\n").into_response(),
        Err(error) => {
            tracing::error!(%error, "cannot review access to the metrics");
            (StatusCode::INTERNAL_SERVER_ERROR, "Authentication failed\n").into_response()
        }
    }
}

fn bearer(request: &Request) -> Option<String> {
    let value = request.headers().get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    (scheme.eq_ignore_ascii_case("bearer") && !token.trim().is_empty()).then(|| token.trim().to_owned())
}

enum Verdict {
    Allowed,
    Denied,
    Unknown,
}

async fn allowed(client: &Client, token: String, path: String) -> kube::Result<Verdict> {
    let review = TokenReview { spec: TokenReviewSpec { token, ..Default::default() }, ..Default::default() };
    let reviewed = Api::<TokenReview>::all(client.clone()).create(&PostParams::default(), &review).await?;
    let Some(UserInfo { username, groups, uid, extra }) =
        reviewed.status.filter(|status| status.authenticated == Some(true)).and_then(|status| status.user)
    else {
        return Ok(Verdict::Unknown);
    };
    let access = SubjectAccessReview {
        spec: SubjectAccessReviewSpec {
            user: username,
            groups,
            uid,
            extra,
            non_resource_attributes: Some(NonResourceAttributes {
                path: Some(path),
                verb: Some("get".into()),
            }),
            ..Default::default()
        },
        ..Default::default()
    };
    let reviewed =
        Api::<SubjectAccessReview>::all(client.clone()).create(&PostParams::default(), &access).await?;
    Ok(if reviewed.status.is_some_and(|status| status.allowed) { Verdict::Allowed } else { Verdict::Denied })
}
