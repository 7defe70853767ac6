//! The body of a watch, on which events come late and which breaks off.

use bytes::Bytes;
use futures::{StreamExt, stream};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use tower::BoxError;

use super::edge::{AnyBody, Edge};

/// A watch's body as it arrives at the end of the edge. Of a dead process it brings nothing any more.
pub(super) fn watched(body: AnyBody, edge: Edge) -> AnyBody {
    let events = stream::unfold(Some((body.into_data_stream(), edge)), |state| async move {
        let (mut events, edge) = state?;
        let event: Result<Bytes, BoxError> = tokio::select! {
            biased;
            () = edge.crashed() => std::future::pending().await,
            event = events.next() => event?,
        };
        let (late, is_last) = edge.next_event();
        tokio::time::sleep(late).await;
        Some((event.map(Frame::data), (!is_last).then_some((events, edge))))
    });
    BodyExt::boxed_unsync(StreamBody::new(events))
}
