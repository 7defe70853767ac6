//! The HTTP face: from a request to a verb, and from its result to an answer.

mod accept;
pub(crate) mod answer;
pub(crate) mod body;
mod context;
mod dispatch;
pub(crate) mod json;
mod other;
pub(crate) mod params;
mod path;
pub(crate) mod yaml;

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use bytes::Bytes;
use http::{Request, Response};
use tower::Service;

pub(crate) use accept::{Accept, Encoding, Shape};
pub(crate) use context::{Ctx, Warnings};
pub(crate) use dispatch::requested;

use crate::Plane;
use crate::hooks::User;

/// The API as a tower service, for any request body. Cheap to clone.
#[derive(Debug, Clone)]
pub struct PlaneService {
    plane: Plane,
    user: Option<User>,
}

impl PlaneService {
    pub(crate) fn new(plane: Plane) -> Self {
        Self { plane, user: None }
    }

    /// The service as this user sees it: requests are not authenticated, they are his.
    #[must_use]
    pub fn with_user(mut self, user: User) -> Self {
        self.user = Some(user);
        self
    }
}

impl<B> Service<Request<B>> for PlaneService
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<axum::BoxError>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (plane, user) = (self.plane.clone(), self.user.clone());
        let request = request.map(Body::new);
        Box::pin(async move { Ok(dispatch::handle(plane, user, request).await) })
    }
}
