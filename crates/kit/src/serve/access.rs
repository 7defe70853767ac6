//! Who may read what a process serves about itself: the cluster is asked who a token belongs to, then whether that user
//! may read the path. Answers are kept for a while, as a scrape comes every few seconds.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use http::{StatusCode, header};
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, UserInfo};
use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::api::PostParams;
use kube::{Api, Client};
use parking_lot::Mutex;
use tokio::time::Instant;

/// How long a token is believed.
const KNOWN: Duration = Duration::from_secs(60);
/// How long a permission is believed.
const ALLOWED: Duration = Duration::from_secs(300);
/// How long a refusal is believed.
const DENIED: Duration = Duration::from_secs(30);
/// How many answers are kept; strangers must not fill our memory.
const MOST: usize = 1024;

/// Who may ask.
#[derive(Clone, Debug)]
pub enum Access {
    /// Everybody.
    Open,
    /// Whoever the cluster lets.
    Reviewed(Reviewer),
}

impl Access {
    /// Whoever this cluster lets.
    #[must_use]
    pub fn reviewed(client: Client) -> Self {
        Access::Reviewed(Reviewer::new(client))
    }

    /// The router, its paths only for those who may. Paths that it does not have are not asked about.
    pub fn guard(self, router: Router) -> Router {
        match self {
            Access::Open => router,
            Access::Reviewed(reviewer) => router.route_layer(middleware::from_fn_with_state(reviewer, pass)),
        }
    }
}

/// Asks the cluster, and remembers what it said; clones share that.
#[derive(Clone)]
pub struct Reviewer(Arc<Inner>);

struct Inner {
    client: Client,
    users: Mutex<Remembered<String, Option<UserInfo>>>,
    verdicts: Mutex<Remembered<(String, String, String), bool>>,
}

impl std::fmt::Debug for Reviewer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Reviewer")
    }
}

/// Why somebody is not let through.
enum Refused {
    /// The cluster does not know the token.
    Stranger,
    /// It knows the user, who may not.
    Denied(String),
    /// It could not be asked.
    Failed(String, kube::Error),
}

impl Reviewer {
    /// Asks through this client.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Reviewer(Arc::new(Inner { client, users: Mutex::default(), verdicts: Mutex::default() }))
    }

    async fn review(&self, token: &str, verb: String, path: String) -> Result<(), Refused> {
        let user = self
            .user(token)
            .await
            .map_err(|error| Refused::Failed("Authentication failed".into(), error))?
            .ok_or(Refused::Stranger)?;
        let name = user.username.clone().unwrap_or_default();
        match self.may(user, verb, path).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(Refused::Denied(name)),
            Err(error) => Err(Refused::Failed(format!("Authorization for user {name} failed"), error)),
        }
    }

    /// Whose token it is.
    async fn user(&self, token: &str) -> kube::Result<Option<UserInfo>> {
        if let Some(known) = self.0.users.lock().get(token) {
            return Ok(known);
        }
        let spec = TokenReviewSpec { token: token.to_owned(), ..TokenReviewSpec::default() };
        let review = TokenReview { spec, ..TokenReview::default() };
        let answer: TokenReview =
            Api::all(self.0.client.clone()).create(&PostParams::default(), &review).await?;
        let status = answer.status.filter(|status| status.authenticated == Some(true));
        let user = status.and_then(|status| status.user);
        self.0.users.lock().put(token.to_owned(), user.clone(), KNOWN);
        Ok(user)
    }

    /// Whether that user may.
    async fn may(&self, user: UserInfo, verb: String, path: String) -> kube::Result<bool> {
        let name = user.username.clone().unwrap_or_default();
        let key = (
            format!("{name}\n{}", user.groups.iter().flatten().cloned().collect::<Vec<_>>().join("\n")),
            verb,
            path,
        );
        if let Some(known) = self.0.verdicts.lock().get(&key) {
            return Ok(known);
        }
        let UserInfo { username, groups, uid, extra } = user;
        let attributes = NonResourceAttributes { verb: Some(key.1.clone()), path: Some(key.2.clone()) };
        let spec = SubjectAccessReviewSpec {
            user: username,
            groups,
            uid,
            extra,
            non_resource_attributes: Some(attributes),
            ..SubjectAccessReviewSpec::default()
        };
        let review = SubjectAccessReview { spec, ..SubjectAccessReview::default() };
        let answer: SubjectAccessReview =
            Api::all(self.0.client.clone()).create(&PostParams::default(), &review).await?;
        let allowed = answer.status.is_some_and(|status| status.allowed);
        self.0.verdicts.lock().put(key, allowed, if allowed { ALLOWED } else { DENIED });
        Ok(allowed)
    }
}

/// Lets a request pass if its token's user may.
async fn pass(State(reviewer): State<Reviewer>, request: Request, next: Next) -> Response {
    let Some(token) = bearer(&request) else {
        return (StatusCode::UNAUTHORIZED, "Unauthorized\n").into_response();
    };
    let (verb, path) = (request.method().as_str().to_lowercase(), request.uri().path().to_owned());
    match reviewer.review(&token, verb, path).await {
        Ok(()) => next.run(request).await,
        Err(Refused::Stranger) => (StatusCode::UNAUTHORIZED, "Unauthorized\n").into_response(),
        Err(Refused::Denied(user)) => {
            (StatusCode::FORBIDDEN, format!("Authorization denied for user {user}\n")).into_response()
        }
        Err(Refused::Failed(text, error)) => {
            tracing::error!(%error, "cannot ask the cluster who may read this");
            (StatusCode::INTERNAL_SERVER_ERROR, text + "\n").into_response()
        }
    }
}

fn bearer(request: &Request) -> Option<String> {
    let value = request.headers().get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    (scheme.eq_ignore_ascii_case("bearer") && !token.trim().is_empty()).then(|| token.trim().to_owned())
}

/// Answers that are believed for a while.
struct Remembered<K, V>(HashMap<K, (Instant, V)>);

impl<K, V> Default for Remembered<K, V> {
    fn default() -> Self {
        Remembered(HashMap::new())
    }
}

impl<K: Hash + Eq, V: Clone> Remembered<K, V> {
    fn get<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<V>
    where
        K: std::borrow::Borrow<Q>,
    {
        self.0.get(key).filter(|(until, _)| *until > Instant::now()).map(|(_, value)| value.clone())
    }

    fn put(&mut self, key: K, value: V, time: Duration) {
        if self.0.len() >= MOST {
            let now = Instant::now();
            self.0.retain(|_, (until, _)| *until > now);
        }
        if self.0.len() < MOST {
            self.0.insert(key, (Instant::now() + time, value));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;
    use axum::routing::get;
    use serde_json::{Value, json};
    use tower::ServiceExt;

    /// A cluster that knows `reader`, who may, and `other`, who may not; it counts what it is asked.
    fn cluster(asked: Arc<Mutex<Vec<String>>>) -> Client {
        let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
            let asked = asked.clone();
            async move {
                let kind = request.uri().path().rsplit('/').next().unwrap_or_default().to_owned();
                let bytes = request.into_body().collect_bytes().await?;
                let mut body: Value = serde_json::from_slice(&bytes)?;
                asked.lock().push(kind.clone());
                body["status"] = match kind.as_str() {
                    "tokenreviews" => match body["spec"]["token"].as_str() {
                        Some(user @ ("reader" | "other")) => {
                            json!({"authenticated": true, "user": {"username": user, "groups": ["g"]}})
                        }
                        _ => json!({"authenticated": false}),
                    },
                    _ => {
                        let wanted = json!({"verb": "get", "path": "/metrics"});
                        let right = body["spec"]["nonResourceAttributes"] == wanted;
                        json!({"allowed": right && body["spec"]["user"] == "reader"})
                    }
                };
                Ok::<_, tower::BoxError>(http::Response::new(Body::from(body.to_string())))
            }
        });
        Client::new(service, "default")
    }

    async fn ask(router: &Router, path: &str, token: Option<&str>) -> (u16, String) {
        let request = http::Request::get(path);
        let request = match token {
            Some(token) => request.header("authorization", format!("Bearer {token}")),
            None => request,
        };
        let answer = router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
        let code = answer.status().as_u16();
        let body = axum::body::to_bytes(answer.into_body(), 1000).await.unwrap();
        (code, String::from_utf8(body.to_vec()).unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn the_cluster_says_who_may_and_is_not_asked_at_every_scrape() {
        let asked = Arc::new(Mutex::new(vec![]));
        let router = Router::new().route("/metrics", get(|| async { "figures" }));
        let router = Access::reviewed(cluster(asked.clone())).guard(router);

        assert_eq!(ask(&router, "/metrics", None).await, (401, "Unauthorized\n".into()));
        assert_eq!(ask(&router, "/elsewhere", None).await.0, 404);
        assert_eq!(*asked.lock(), Vec::<String>::new(), "nothing to ask about");

        assert_eq!(ask(&router, "/metrics", Some("guess")).await, (401, "Unauthorized\n".into()));
        assert_eq!(
            ask(&router, "/metrics", Some("other")).await,
            (403, "Authorization denied for user other\n".into())
        );
        assert_eq!(ask(&router, "/metrics", Some("reader")).await, (200, "figures".into()));
        asked.lock().clear();
        for (token, code) in [("guess", 401), ("other", 403), ("reader", 200)] {
            assert_eq!(ask(&router, "/metrics", Some(token)).await.0, code);
        }
        assert_eq!(*asked.lock(), Vec::<String>::new(), "all of it was known");

        tokio::time::advance(KNOWN + Duration::from_secs(1)).await;
        assert_eq!(ask(&router, "/metrics", Some("reader")).await.0, 200);
        assert_eq!(*asked.lock(), ["tokenreviews"], "a revoked token is found out within a minute");
    }

    #[tokio::test]
    async fn a_cluster_that_does_not_answer_lets_nobody_in() {
        let service = tower::service_fn(|_: http::Request<kube::client::Body>| async {
            Err::<http::Response<Body>, tower::BoxError>("no route".into())
        });
        let router = Router::new().route("/metrics", get(|| async { "figures" }));
        let router = Access::reviewed(Client::new(service, "default")).guard(router);
        assert_eq!(ask(&router, "/metrics", Some("reader")).await, (500, "Authentication failed\n".into()));
    }

    #[test]
    fn strangers_cannot_fill_the_memory() {
        let mut known = Remembered::default();
        for i in 0..3 * MOST {
            known.put(i, (), KNOWN);
        }
        assert_eq!(known.0.len(), MOST);
    }
}
