//! Which path leads where.
//!
//! There is a router per method, so that `GET /v1/api-keys/search` asks for the key `search`, and a path that exists
//! for another method only does not exist.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Instant};

use axum::{
    Router,
    body::Body,
    extract::Request,
    response::{IntoResponse, Response},
    routing::any,
};
use futures::FutureExt;
use http::{HeaderValue, Method, StatusCode, Uri, header};
use serde_json::json;
use tower::{Service, ServiceExt};

use super::cors::{self, Decision};
use crate::{
    app::App,
    openapi,
    reply::{self, no_page},
    routes::{TABLE, health, keys, models, search, select, subscriptions, validate},
};

/// The service as a router, to be served or to be called in the same process.
pub fn service(app: Arc<App>) -> Router {
    let dispatch = Arc::new(Dispatch::new(app));
    Router::new().fallback(move |request: Request| {
        let dispatch = dispatch.clone();
        async move { dispatch.handle(request).await }
    })
}

struct Dispatch {
    app: Arc<App>,
    get: Router,
    post: Router,
    delete: Router,
}

impl Dispatch {
    fn new(app: Arc<App>) -> Self {
        let get = Router::new()
            .route("/health", any(health::health))
            .route("/readyz", any(health::ready))
            .route("/metrics", any(health::metrics))
            .route("/openapi.json", any(openapi::serve))
            .route("/v1/models", any(models::list))
            .route("/v1/subscriptions", any(subscriptions::list))
            .route("/v1/model/{model_id}/subscriptions", any(subscriptions::with_model))
            .route("/v1/model//subscriptions", any(subscriptions::without_model))
            .route("/v1/api-keys/{id}", any(keys::get));
        let post = Router::new()
            .route("/v1/api-keys", any(keys::create))
            .route("/v1/api-keys/search", any(search::search))
            .route("/v1/api-keys/bulk-revoke", any(keys::bulk_revoke))
            .route("/internal/v1/api-keys/validate", any(validate::validate))
            .route("/internal/v1/api-keys/cleanup", any(keys::cleanup))
            .route("/internal/v1/subscriptions/select", any(select::select));
        let delete = Router::new().route("/v1/api-keys/{id}", any(keys::revoke));
        let finish = |router: Router<Arc<App>>| router.fallback(stray).with_state(app.clone());
        Self { get: finish(get), post: finish(post), delete: finish(delete), app }
    }

    /// What every request goes through.
    async fn handle(&self, request: Request) -> Response {
        let (started, method, uri) = (Instant::now(), request.method().clone(), request.uri().clone());
        let response = match AssertUnwindSafe(self.admit(request)).catch_unwind().await {
            Ok(response) => response,
            Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(), // the panic itself is logged where it happens
        };
        let status = response.status().as_u16();
        self.app.metrics.count(&method, status);
        tracing::info!(%method, path = uri.path(), status, micros = started.elapsed().as_micros() as u64, "request");
        response
    }

    async fn admit(&self, request: Request) -> Response {
        let method = request.method().clone();
        let page = if self.app.debug { cors::decide(request.headers()) } else { Decision::None };
        let mut response = match (&page, &method) {
            (Decision::Deny, _) => return StatusCode::FORBIDDEN.into_response(),
            (_, &Method::OPTIONS) => StatusCode::NO_CONTENT.into_response(),
            _ => self.route(request).await,
        };
        if let Decision::Allow(origin) = page {
            cors::permit(&mut response, origin, &method);
        }
        response
    }

    async fn route(&self, request: Request) -> Response {
        if let Some(response) = self.starting(request.uri().path()) {
            return response;
        }
        let router = match *request.method() {
            Method::GET => &self.get,
            Method::POST => &self.post,
            Method::DELETE => &self.delete,
            _ => return no_page(),
        };
        let mut router = router.clone();
        match ServiceExt::<Request<Body>>::ready(&mut router).await {
            Ok(router) => router.call(request).await.into_response(),
            Err(never) => match never {},
        }
    }

    /// Until everything has been read from Kubernetes, only probes are answered: an empty cache would deny everybody.
    fn starting(&self, path: &str) -> Option<Response> {
        let missing = self.app.cluster.unsynced();
        if missing.is_empty() || matches!(path, "/readyz" | "/metrics" | "/openapi.json") {
            return None;
        }
        let body = json!({"status": "starting", "error": format!("not read yet: {}", missing.join(", "))});
        Some(reply::json(StatusCode::SERVICE_UNAVAILABLE, &body))
    }
}

/// A path that leads nowhere, or would with one slash more or less.
async fn stray(method: Method, uri: Uri) -> Response {
    let path = uri.path();
    let other = match path.strip_suffix('/') {
        Some(shorter) => shorter.to_owned(),
        None => format!("{path}/"),
    };
    let known = TABLE.iter().any(|(of, pattern)| *of == method.as_str() && matches(pattern, &other));
    // `//host` would be another host.
    let safe = !other.starts_with("//");
    let location = match uri.query() {
        Some(query) => HeaderValue::from_str(&format!("{other}?{query}")),
        None => HeaderValue::from_str(&other),
    };
    match location {
        Ok(location) if known && safe => {
            let status = if method == Method::GET {
                StatusCode::MOVED_PERMANENTLY
            } else {
                StatusCode::TEMPORARY_REDIRECT
            };
            (status, [(header::LOCATION, location)]).into_response()
        }
        _ => no_page(),
    }
}

/// Whether a path fits a pattern of [`TABLE`].
fn matches(pattern: &str, path: &str) -> bool {
    let (mut wanted, mut found) = (pattern.split('/'), path.split('/'));
    loop {
        match (wanted.next(), found.next()) {
            (None, None) => return true,
            (Some(part), Some(given)) if part.starts_with('{') => {
                if given.is_empty() {
                    return false;
                }
            }
            (Some(part), Some(given)) if part == given => {}
            _ => return false,
        }
    }
}
