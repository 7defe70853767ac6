//! The service's description of itself, generated from the handlers.

use axum::response::Response;
use http::StatusCode;
use utoipa::OpenApi;

use crate::{reply::json, routes};

/// All routes with their requests and answers.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Models-as-a-Service API",
        description = "API keys, subscriptions and models. Routes under /v1 are called through the gateway, which sets \
            the headers X-MaaS-Username and X-MaaS-Group; routes under /internal are called by the gateway itself.",
        version = "1.0",
        license(name = "Apache-2.0", identifier = "Apache-2.0")
    ),
    paths(
        routes::health::health,
        routes::health::ready,
        routes::health::metrics,
        routes::keys::create,
        routes::keys::get,
        routes::keys::revoke,
        routes::keys::bulk_revoke,
        routes::keys::cleanup,
        routes::search::search,
        routes::models::list,
        routes::subscriptions::list,
        routes::subscriptions::with_model,
        routes::validate::validate,
        routes::select::select,
    )
)]
struct Description;

/// The document.
pub fn document() -> utoipa::openapi::OpenApi {
    Description::openapi()
}

/// The document as text, as it is checked in.
pub fn text() -> String {
    let mut text = document().to_pretty_json().expect("a description is plain data");
    text.push('\n');
    text
}

pub(crate) async fn serve() -> Response {
    json(StatusCode::OK, &document())
}
