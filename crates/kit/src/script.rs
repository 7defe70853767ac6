//! For unit tests: an API server that answers from a script, and remembers what it was asked.

use axum::body::{Body, to_bytes};
use http::{Request, Response};
use kube::Client;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::convert::Infallible;
use std::sync::Arc;

/// A request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) query: String,
    pub(crate) body: Value,
}

/// What was asked so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<Asked>>>);

impl Log {
    pub(crate) fn all(&self) -> Vec<Asked> {
        self.0.lock().clone()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.lock().len()
    }
}

/// A client of a server that answers each request by the script: a code and a body.
pub(crate) fn client(script: impl Fn(&Asked) -> (u16, Value) + Send + Sync + 'static) -> (Client, Log) {
    let (log, script) = (Log::default(), Arc::new(script));
    let asked = log.clone();
    let service = tower::service_fn(move |request: Request<kube::client::Body>| {
        let (asked, script) = (asked.clone(), script.clone());
        async move {
            let (parts, body) = request.into_parts();
            let bytes = to_bytes(Body::new(body), usize::MAX).await.unwrap_or_default();
            let request = Asked {
                method: parts.method.to_string(),
                path: parts.uri.path().to_owned(),
                query: parts.uri.query().unwrap_or_default().to_owned(),
                body: serde_json::from_slice(&bytes).unwrap_or_default(),
            };
            asked.0.lock().push(request.clone());
            let (code, body) = script(&request);
            let response = Response::builder().status(code).header("content-type", "application/json");
            Ok::<_, Infallible>(response.body(Body::from(body.to_string())).expect("a response"))
        }
    });
    (Client::new(service, "default"), log)
}

/// An answer that refuses.
pub(crate) fn refusal(code: u16, reason: &str, message: &str) -> (u16, Value) {
    let body = json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": reason, "code": code });
    (code, body)
}

/// The answer about what is not there.
pub(crate) fn not_found() -> (u16, Value) {
    refusal(404, "NotFound", "not found")
}
