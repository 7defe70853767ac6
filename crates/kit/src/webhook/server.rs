//! All webhooks of a process on one router.

use super::admission::{self, Handler};
use super::conversion::{self, Convert};
use super::handler::{Asked, Denied, Verdict};
use super::publish::Target;
use crate::kind::Kind;
use axum::Json;
use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Request};
use axum::response::IntoResponse;
use axum::routing::post;
use http::{HeaderMap, StatusCode, header};
use serde_json::Value;
use std::sync::Arc;

/// A review holds an object twice, and an object is at most 3 MiB.
const LARGEST: usize = 7 << 20;

/// Webhooks by path.
#[derive(Default)]
pub struct Webhooks {
    router: Router,
    paths: Vec<String>,
    services: Vec<String>,
    targets: Vec<Target>,
}

impl std::fmt::Debug for Webhooks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Webhooks").field(&self.paths).finish()
    }
}

impl Webhooks {
    /// None yet.
    #[must_use]
    pub fn new() -> Self {
        Webhooks::default()
    }

    /// At this path, objects are let in or not.
    #[must_use]
    pub fn validating<K: Kind>(
        self,
        path: &str,
        judge: impl Fn(&Asked<K>) -> Verdict + Send + Sync + 'static,
    ) -> Self {
        self.admission(path, admission::validating(judge))
    }

    /// At this path, objects are changed before they are stored.
    #[must_use]
    pub fn mutating<K: Kind>(
        self,
        path: &str,
        change: impl Fn(&mut Asked<K>) -> Result<(), Denied> + Send + Sync + 'static,
    ) -> Self {
        self.admission(path, admission::mutating(change))
    }

    /// At this path, objects are turned into another version, given as `group/version`.
    #[must_use]
    pub fn converting(
        self,
        path: &str,
        convert: impl Fn(Value, &str) -> Result<Value, String> + Send + Sync + 'static,
    ) -> Self {
        let convert: Arc<Convert> = Arc::new(Box::new(convert));
        let handler = move |body: Bytes| {
            let convert = convert.clone();
            async move {
                match conversion::answer(&convert, &body) {
                    Some(review) => Json(review).into_response(),
                    None => StatusCode::BAD_REQUEST.into_response(),
                }
            }
        };
        self.route(path, post(handler))
    }

    fn admission(self, path: &str, handler: Handler) -> Self {
        let handler = Arc::new(handler);
        let answer = move |headers: HeaderMap, request: Request| {
            let handler = handler.clone();
            async move {
                let body = match axum::body::to_bytes(request.into_body(), LARGEST).await {
                    Ok(body) => body,
                    Err(_) => return Json(admission::too_large(LARGEST)),
                };
                Json(admission::answer(&handler, &headers, &body))
            }
        };
        self.route(path, post(answer))
    }

    fn route(mut self, path: &str, handler: axum::routing::MethodRouter) -> Self {
        self.paths.push(path.to_owned());
        self.router = self.router.route(path, handler.layer(DefaultBodyLimit::max(LARGEST)));
        self
    }

    /// The API server calls them through this Service.
    #[must_use]
    pub fn behind(mut self, service: impl Into<String>) -> Self {
        self.services.push(service.into());
        self
    }

    /// This object says whom the API server trusts when it calls them.
    #[must_use]
    pub fn named_in(mut self, target: Target) -> Self {
        self.targets.push(target);
        self
    }

    /// The Services that they are called through.
    #[must_use]
    pub fn services(&self) -> &[String] {
        &self.services
    }

    /// The objects that say whom the API server trusts.
    #[must_use]
    pub fn targets(&self) -> &[Target] {
        &self.targets
    }

    /// Those of another system beside these.
    #[must_use]
    pub fn and(mut self, other: Webhooks) -> Self {
        self.paths.extend(other.paths);
        self.services.extend(other.services);
        self.targets.extend(other.targets);
        self.router = self.router.merge(other.router);
        self
    }

    /// True if there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// The router that serves them.
    pub fn router(self) -> Router {
        self.router
    }
}

/// Refuses anything that does not say it is JSON.
pub(super) fn is_json(headers: &HeaderMap) -> Result<(), Denied> {
    let type_ = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = type_.split(';').next().unwrap_or_default().trim();
    if essence == "application/json" {
        return Ok(());
    }
    Err(Denied::bad_request(format!("contentType={type_}, expected application/json")))
}
