//! The service on a store and a cluster of the test's own making, called without sockets.

use std::sync::Arc;

use axum::{Router, body::Body, http::Request};
use http_body_util::BodyExt;
use quintet_kit::Clock;
use quintet_maas_api::{
    App, Options,
    cluster::FixedCluster,
    models::Prober,
    server::service,
    subscriptions::{ModelRef, RateLimitStatus, Subscription, TokenRateLimit},
};
use serde_json::{Value, json};
use tower::ServiceExt;

use super::Store;

/// A running service.
pub(crate) struct Service {
    pub(crate) app: Arc<App>,
    pub(crate) router: Router,
    pub(crate) cluster: Arc<FixedCluster>,
    pub(crate) store: Store,
}

/// An answer, read to its end.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: axum::http::HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    /// The header's value, or nothing.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map(|value| value.to_str().expect("ASCII")).unwrap_or_default()
    }

    /// Fails unless status and body are just these.
    #[track_caller]
    pub(crate) fn is(&self, status: u16, body: Value) {
        assert_eq!((self.status, self.json()), (status, body));
    }
}

impl Service {
    pub(crate) fn new(store: Store) -> Self {
        Self::with(store, Options::default())
    }

    pub(crate) fn with(store: Store, options: Options) -> Self {
        let cluster = Arc::new(FixedCluster::default());
        cluster.set_subscriptions([subscription("gold", "g1", "Active")]);
        cluster.set_admins(["root"]);
        let prober = Prober::new(None).expect("a client");
        let app = App::start(store.shared(), cluster.clone(), prober, options, Clock::system());
        Self { router: service(app.clone()), app, cluster, store }
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Answer {
        let response = self.router.clone().oneshot(request).await.expect("the router answers");
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.expect("a body").to_bytes();
        Answer {
            status: parts.status.as_u16(),
            headers: parts.headers,
            text: String::from_utf8_lossy(&bytes).into(),
        }
    }

    /// A request without identity.
    pub(crate) async fn bare(&self, method: &str, path: &str, body: &str) -> Answer {
        self.send(
            Request::builder().method(method).uri(path).body(Body::from(body.to_owned())).expect("a request"),
        )
        .await
    }

    /// A request of a user of group `g1`.
    pub(crate) async fn by(&self, username: &str, method: &str, path: &str, body: Value) -> Answer {
        let body = if body.is_null() { Body::empty() } else { Body::from(body.to_string()) };
        let request = Request::builder().method(method).uri(path);
        let request = request.header("X-MaaS-Username", username).header("X-MaaS-Group", r#"["g1"]"#);
        self.send(request.body(body).expect("a request")).await
    }

    pub(crate) async fn create(&self, username: &str, body: Value) -> Answer {
        self.by(username, "POST", "/v1/api-keys", body).await
    }

    /// A new key of a user: its id and itself.
    pub(crate) async fn key(&self, username: &str) -> (String, String) {
        let answer = self.create(username, json!({"name": "k"})).await;
        assert_eq!(answer.status, 201, "{}", answer.text);
        let text = |name: &str| answer.json()[name].as_str().expect("a string").to_owned();
        (text("id"), text("key"))
    }

    pub(crate) async fn validate(&self, key: &str) -> Answer {
        self.bare("POST", "/internal/v1/api-keys/validate", &json!({"key": key}).to_string()).await
    }

    pub(crate) async fn select(&self, body: Value) -> Answer {
        let answer = self.bare("POST", "/internal/v1/subscriptions/select", &body.to_string()).await;
        assert_eq!(answer.status, 200, "always");
        answer
    }

    pub(crate) async fn search(&self, username: &str, body: Value) -> Answer {
        self.by(username, "POST", "/v1/api-keys/search", body).await
    }
}

/// A subscription of a group, without models.
pub(crate) fn subscription(name: &str, group: &str, phase: &str) -> Subscription {
    Subscription {
        name: name.into(),
        namespace: "models-as-a-service".into(),
        groups: vec![group.into()],
        phase: phase.into(),
        ready: phase == "Active",
        ..Default::default()
    }
}

/// A model of a subscription, with a limit.
pub(crate) fn model_ref(namespace: &str, name: &str, limit: i64) -> ModelRef {
    ModelRef {
        name: name.into(),
        namespace: namespace.into(),
        token_rate_limits: vec![TokenRateLimit { limit, window: "1m".into() }],
        billing_rate: None,
    }
}

/// The state of a model's rate limits.
pub(crate) fn limit_status(model: &str, ready: bool) -> RateLimitStatus {
    RateLimitStatus { model: model.into(), namespace: String::new(), ready }
}
