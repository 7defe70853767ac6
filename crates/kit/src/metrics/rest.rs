//! Counts a client's requests, as client-go does.

use super::book::Book;
use http::{Request, Response};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use tower::{Layer, Service};

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Labels {
    code: String,
    method: String,
    host: String,
}

/// Counts the requests that pass through it, by status code, method and host: a layer for a client's service.
#[derive(Clone, Debug, Default)]
pub struct RestMetrics {
    requests: Family<Labels, Counter>,
    host: String,
}

impl RestMetrics {
    /// For a client of this server, `host:port`: requests name it only further down, where they cannot be counted.
    #[must_use]
    pub fn host(mut self, host: impl Into<String>) -> Self {
        self.host = host.into();
        self
    }

    pub(super) fn register(&self, book: &mut Book) {
        book.register("rest_client_requests", "Requests to the API server", self.requests.clone());
    }
}

impl<S> Layer<S> for RestMetrics {
    type Service = RestService<S>;

    fn layer(&self, inner: S) -> RestService<S> {
        RestService { inner, metrics: self.clone() }
    }
}

/// A service whose requests are counted.
#[derive(Clone, Debug)]
pub struct RestService<S> {
    inner: S,
    metrics: RestMetrics,
}

impl<S, A, B> Service<Request<A>> for RestService<S>
where
    S: Service<Request<A>, Response = Response<B>>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<A>) -> Self::Future {
        let (method, host) = (request.method().to_string(), self.metrics.host.clone());
        let (answer, requests) = (self.inner.call(request), self.metrics.requests.clone());
        Box::pin(async move {
            let answer = answer.await;
            let code = answer.as_ref().map_or_else(|_| "<error>".into(), |a| a.status().as_str().to_owned());
            requests.get_or_create(&Labels { code, method, host }).inc();
            answer
        })
    }
}
