//! `grpc.health.v1.Health`

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::stream::Empty;
use tonic::{Request, Response, Status};
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_server::{Health, HealthServer};
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse};

/// Whether ext_proc is being served.
#[derive(Debug, Clone, Default)]
pub(super) struct State(Arc<AtomicBool>);

impl State {
    /// From now on it is.
    pub(super) fn serving(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// The gRPC service that tells.
    pub(super) fn service(&self) -> HealthServer<State> {
        HealthServer::new(self.clone())
    }
}

#[tonic::async_trait]
impl Health for State {
    /// The same for any service's name, as in the original.
    async fn check(&self, _: Request<HealthCheckRequest>) -> Result<Response<HealthCheckResponse>, Status> {
        let serving = self.0.load(Ordering::Relaxed);
        let status = if serving { ServingStatus::Serving } else { ServingStatus::NotServing };
        Ok(Response::new(HealthCheckResponse { status: status.into() }))
    }

    type WatchStream = Empty<Result<HealthCheckResponse, Status>>;

    async fn watch(&self, _: Request<HealthCheckRequest>) -> Result<Response<Self::WatchStream>, Status> {
        Err(Status::unimplemented("Watch is not implemented: use Check"))
    }
}
