//! The metrics port: for those who may.

use axum::Router;
use axum::extract::State;
use axum::response::IntoResponse;
use axum::routing::get;
use http::{StatusCode, header};
use quintet_kit::serve::Access;

use crate::metrics::Metrics;

/// What is served.
pub(super) fn router(metrics: Metrics, access: Access, pprof: bool) -> Router {
    let mut router = Router::new().route("/metrics", get(exposition).with_state(metrics));
    if pprof {
        router = router.route("/debug/pprof/{profile}", get(no_profiles));
    }
    access.guard(router)
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
