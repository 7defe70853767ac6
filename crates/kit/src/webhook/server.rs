//! All webhooks of a process on one router.

use super::admission::{self, Handler, Handlers};
use super::conversion::{self, Convert, Converters};
use super::handler::{Asked, Denied, Verdict};
use super::publish::Target;
use crate::install::HookNames;
use crate::kind::Kind;
use crate::metrics::{Metrics, WebhookMetrics};
use axum::Json;
use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, post};
use http::{HeaderMap, StatusCode, header};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A review holds an object twice, and an object is at most 3 MiB.
const LARGEST: usize = 7 << 20;

/// Webhooks by path.
#[derive(Default)]
pub struct Webhooks {
    admission: BTreeMap<String, Handlers>,
    conversion: BTreeMap<String, Converters>,
    services: Vec<String>,
    targets: Vec<Target>,
}

impl std::fmt::Debug for Webhooks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.admission.keys()).entries(self.conversion.keys()).finish()
    }
}

impl Webhooks {
    /// None yet.
    #[must_use]
    pub fn new() -> Self {
        Webhooks::default()
    }

    /// At this path, objects are let in or not. One path may serve several kinds, and several versions of one.
    #[must_use]
    pub fn validating<K: Kind>(
        self,
        path: &str,
        judge: impl Fn(&Asked<K>) -> Verdict + Send + Sync + 'static,
    ) -> Self {
        self.admission::<K>(path, admission::validating(judge))
    }

    /// At this path, objects are changed before they are stored; likewise.
    #[must_use]
    pub fn mutating<K: Kind>(
        self,
        path: &str,
        change: impl Fn(&mut Asked<K>) -> Result<(), Denied> + Send + Sync + 'static,
    ) -> Self {
        self.admission::<K>(path, admission::mutating(change))
    }

    /// At this path, objects of an API group are turned into another version, given as `group/version`. One path may
    /// serve several groups: the originals all call it `/convert`.
    #[must_use]
    pub fn converting(
        mut self,
        path: &str,
        group: &str,
        convert: impl Fn(Value, &str) -> Result<Value, String> + Send + Sync + 'static,
    ) -> Self {
        let convert: Convert = Box::new(convert);
        self.conversion.entry(path.into()).or_default().push((group.into(), convert));
        self
    }

    fn admission<K: Kind>(mut self, path: &str, handler: Handler) -> Self {
        self.admission.entry(path.into()).or_default().push((K::gvk(), handler));
        self
    }

    /// The API server calls them through the Service, and finds them in the configurations, of these names; and in the
    /// definitions of the kinds that they convert.
    #[must_use]
    pub fn installed_as(mut self, names: HookNames, definitions: impl IntoIterator<Item = String>) -> Self {
        self.services.push(names.service);
        self.targets.extend([Target::Mutating(names.mutating), Target::Validating(names.validating)]);
        self.targets.extend(definitions.into_iter().map(Target::Definition));
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

    /// True if some kind is converted: then even a list of ours may need them.
    #[must_use]
    pub fn converts(&self) -> bool {
        !self.conversion.is_empty()
    }

    /// Those of another system beside these.
    #[must_use]
    pub fn and(mut self, other: Webhooks) -> Self {
        for (path, handlers) in other.admission {
            self.admission.entry(path).or_default().extend(handlers);
        }
        for (path, converters) in other.conversion {
            self.conversion.entry(path).or_default().extend(converters);
        }
        self.services.extend(other.services);
        self.targets.extend(other.targets);
        self
    }

    /// True if there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.admission.is_empty() && self.conversion.is_empty()
    }

    /// The router that serves them, and counts.
    pub fn router(self, metrics: &Metrics) -> Router {
        let admission = self.admission.into_iter().map(|(path, handlers)| (path, judging(handlers)));
        let conversion = self.conversion.into_iter().map(|(path, all)| (path, converting(all)));
        admission.chain(conversion).fold(Router::new(), |router, (path, route)| {
            let counted = from_fn_with_state(metrics.webhook(&path), counted);
            router.route(&path, route.layer(DefaultBodyLimit::max(LARGEST)).layer(counted))
        })
    }
}

fn judging(handlers: Handlers) -> MethodRouter {
    let handlers = Arc::new(handlers);
    post(move |headers: HeaderMap, request: Request| {
        let handlers = handlers.clone();
        async move {
            match axum::body::to_bytes(request.into_body(), LARGEST).await {
                Ok(body) => Json(admission::answer(&handlers, &headers, &body)),
                Err(_) => Json(admission::too_large(LARGEST)),
            }
        }
    })
}

fn converting(converters: Converters) -> MethodRouter {
    let converters = Arc::new(converters);
    post(move |body: Bytes| {
        let converters = converters.clone();
        async move {
            match conversion::answer(&converters, &body) {
                Some(review) => Json(review).into_response(),
                None => StatusCode::BAD_REQUEST.into_response(),
            }
        }
    })
}

async fn counted(State(webhook): State<WebhookMetrics>, request: Request, next: Next) -> Response {
    let asked = webhook.asked();
    let answer = next.run(request).await;
    asked.answered(answer.status());
    answer
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
