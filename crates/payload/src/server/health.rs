//! `grpc.health.v1.Health`

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use bytes::{BufMut, Bytes, BytesMut};
use futures::stream::Empty;
use http::{HeaderMap, HeaderValue, header};
use http_body_util::{BodyExt, Full};
use tonic::body::Body;
use tonic::codegen::{BoxFuture, Service};
use tonic::server::NamedService;
use tonic::{Request, Response, Status};
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_server::{Health, HealthServer};
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse};

/// The one service that is listed.
const LISTED: &str = "envoy.service.ext_proc.v3.ExternalProcessor";

/// Whether ext_proc is being served.
#[derive(Debug, Clone, Default)]
pub(super) struct State(Arc<AtomicBool>);

impl State {
    /// From now on it is.
    pub(super) fn serving(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// The gRPC service that tells.
    pub(super) fn service(&self) -> Listing {
        Listing { known: HealthServer::new(self.clone()), state: self.clone() }
    }

    fn status(&self) -> ServingStatus {
        match self.0.load(Ordering::Relaxed) {
            true => ServingStatus::Serving,
            false => ServingStatus::NotServing,
        }
    }
}

#[tonic::async_trait]
impl Health for State {
    /// The same for any service's name, as in the original.
    async fn check(&self, _: Request<HealthCheckRequest>) -> Result<Response<HealthCheckResponse>, Status> {
        Ok(Response::new(HealthCheckResponse { status: self.status().into() }))
    }

    type WatchStream = Empty<Result<HealthCheckResponse, Status>>;

    async fn watch(&self, _: Request<HealthCheckRequest>) -> Result<Response<Self::WatchStream>, Status> {
        Err(Status::unimplemented("Watch is not implemented: use Check"))
    }
}

/// The service with `List`, which the protocol has had since 2025 and tonic's health service has not yet.
#[derive(Clone)]
pub(super) struct Listing {
    known: HealthServer<State>,
    state: State,
}

impl NamedService for Listing {
    const NAME: &'static str = <HealthServer<State> as NamedService>::NAME;
}

impl Service<http::Request<Body>> for Listing {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Infallible>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        if request.uri().path() == "/grpc.health.v1.Health/List" {
            let listed = list(self.state.status());
            return Box::pin(async { Ok(listed) });
        }
        self.known.call(request)
    }
}

/// `HealthListResponse{statuses: {LISTED: HealthCheckResponse{status}}}` as a whole gRPC answer.
fn list(status: ServingStatus) -> http::Response<Body> {
    let field = |number: u8, value: &[u8]| {
        // Every length here fits in seven bits.
        let mut field = vec![number << 3 | 2, value.len() as u8];
        field.extend_from_slice(value);
        field
    };
    let check = [1 << 3, status as u8];
    let message = field(1, &[field(1, LISTED.as_bytes()), field(2, &check)].concat());
    let mut frame = BytesMut::with_capacity(5 + message.len());
    frame.put_u8(0); // not compressed
    frame.put_u32(message.len() as u32);
    frame.put_slice(&message);
    let trailers = HeaderMap::from_iter([(tonic::Status::GRPC_STATUS, HeaderValue::from_static("0"))]);
    let body = Full::<Bytes>::new(frame.freeze()).with_trailers(async { Some(Ok(trailers)) });
    let mut response = http::Response::new(Body::new(body));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    response
}
