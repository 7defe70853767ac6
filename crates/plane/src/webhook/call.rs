//! One POST to a webhook, and the words for everything that can go wrong with it.

use std::io;
use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures::FutureExt;
use http::{Request, Response, StatusCode, Uri, header};
use http_body_util::{BodyExt, Limited};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tower::ServiceExt;

use super::{Backend, Backends, ClientConfig, tls};

/// Answers larger than this are not read to the end.
const MAX_ANSWER: usize = 10 << 20;

/// Why a call gave no answer. Reads as the real server words it after `failed to call webhook: `.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// Never reached, or broke off.
    #[error("Post {url:?}: {cause}")]
    Unreached {
        /// The URL called.
        url: String,
        /// What happened.
        cause: String,
    },
    /// Reached, but answered with an error status.
    #[error("{0}")]
    Status(String),
}

/// Whether there is a Service of this namespace and name.
type ServiceExists = dyn Fn(&str, &str) -> bool + Send + Sync;

/// Calls webhooks. Cheap to clone.
#[derive(Clone)]
pub struct Caller {
    backends: Arc<Backends>,
    service_exists: Arc<ServiceExists>,
}

impl Caller {
    /// A caller that resolves Services from a table; `service_exists` (namespace, name) tells a Service that nothing
    /// stands for from one that is not there.
    pub fn new(
        backends: Arc<Backends>,
        service_exists: impl Fn(&str, &str) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self { backends, service_exists: Arc::new(service_exists) }
    }

    /// Posts a review and returns the answer's body.
    pub async fn post(
        &self,
        config: &ClientConfig,
        timeout_seconds: u64,
        body: Bytes,
    ) -> Result<Bytes, CallError> {
        let url = config.url(timeout_seconds);
        let unreached = |cause: String| CallError::Unreached { url: url.clone(), cause };
        let exchange = async {
            let response = self.exchange(config, &url, body).await.map_err(unreached)?;
            let (parts, body) = response.into_parts();
            let body = Limited::new(body, MAX_ANSWER)
                .collect()
                .await
                .map_err(|error| unreached(error.to_string()))?;
            Ok((parts.status, body.to_bytes()))
        };
        let deadline = Duration::from_secs(timeout_seconds);
        let (status, body) = tokio::time::timeout(deadline, exchange)
            .await
            .map_err(|_| unreached("context deadline exceeded".into()))??;
        if status.is_success() { Ok(body) } else { Err(CallError::Status(status_text(status, &body))) }
    }

    async fn exchange(
        &self,
        config: &ClientConfig,
        url: &str,
        body: Bytes,
    ) -> Result<Response<Body>, String> {
        let uri: Uri = url.parse().map_err(|error| format!("invalid URL: {error}"))?;
        let host = uri.host().ok_or("the URL has no host")?.trim_matches(['[', ']']).to_owned();
        let path = uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
        let authority = uri.authority().map(ToString::to_string).unwrap_or_default();
        let request = |target: &str| {
            Request::post(target)
                .header(header::HOST, &authority)
                .header(header::CONTENT_TYPE, "application/json")
                .header(header::ACCEPT, "application/json, */*")
                .header(header::USER_AGENT, "kube-apiserver-admission")
                .body(Body::from(body.clone()))
                .map_err(|error| error.to_string())
        };
        let address = match config.service() {
            Some((namespace, name, _)) => match self.backends.get(namespace, name) {
                Some(Backend::Address(address)) => address,
                Some(Backend::InProcess(router)) => {
                    // One that panics hangs up on its caller, as its process would.
                    let answer = AssertUnwindSafe(router.oneshot(request(&path)?)).catch_unwind().await;
                    let Ok(response) = answer.map_err(|_| "EOF")?;
                    return Ok(response);
                }
                None if (self.service_exists)(namespace, name) => {
                    return Err(format!("no endpoints available for service {name:?}"));
                }
                None => return Err(format!("service {name:?} not found")),
            },
            None => resolve(&host, uri.port_u16().unwrap_or(443)).await?,
        };
        let tcp = TcpStream::connect(address).await.map_err(|error| dial_text(address, &error))?;
        let stream = tls::connect(&host, &config.ca_bundle(), tcp).await?;
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|error| error.to_string())?;
        // Ends with the response's body, or when this future is dropped with its sender.
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "webhook connection");
            }
        });
        let response = sender.send_request(request(&path)?).await.map_err(|error| broken_text(&error))?;
        Ok(response.map(Body::new))
    }
}

impl std::fmt::Debug for Caller {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Caller").field("backends", &self.backends).finish_non_exhaustive()
    }
}

async fn resolve(host: &str, port: u16) -> Result<SocketAddr, String> {
    let mut addresses = tokio::net::lookup_host((host, port))
        .await
        .map_err(|_| format!("dial tcp: lookup {host}: no such host"))?;
    addresses.next().ok_or_else(|| format!("dial tcp: lookup {host}: no such host"))
}

fn dial_text(address: SocketAddr, error: &io::Error) -> String {
    let what = match error.kind() {
        io::ErrorKind::ConnectionRefused => "connect: connection refused".into(),
        io::ErrorKind::TimedOut => "i/o timeout".into(),
        io::ErrorKind::HostUnreachable => "connect: no route to host".into(),
        _ => error.to_string(),
    };
    format!("dial tcp {address}: {what}")
}

/// A peer that hangs up before it answers is an EOF in Go's words, however it did so.
fn broken_text(error: &hyper::Error) -> String {
    let broken = std::error::Error::source(error).is_some_and(|source| source.is::<io::Error>());
    let hung_up = error.is_incomplete_message() || error.is_closed() || error.is_canceled();
    if hung_up || broken { "EOF".into() } else { error.to_string() }
}

/// What client-go makes of an answer that is no success.
fn status_text(status: StatusCode, body: &[u8]) -> String {
    let body = String::from_utf8_lossy(body);
    match status.as_u16() {
        400 => "the server rejected our request for an unknown reason".into(),
        401 => "the server has asked for the client to provide credentials".into(),
        403 => body.trim().to_owned(),
        404 => "the server could not find the requested resource".into(),
        405 => "the server does not allow this method on the requested resource".into(),
        406 => "the server was unable to respond with a content type that the client supports".into(),
        415 => "the server was unable to process the request because its media type is not supported".into(),
        422 => "the server rejected our request due to an error in our request".into(),
        429 => "the server has received too many requests and has asked us to try again later".into(),
        503 => "the server is currently unable to handle the request".into(),
        504 => "the server was unable to return a response in the time allotted, \
                but may still be processing the request"
            .into(),
        500.. => {
            format!("an error on the server ({:?}) has prevented the request from succeeding", body.trim())
        }
        code => {
            format!("the server responded with the status code {code} but did not return more information")
        }
    }
}
