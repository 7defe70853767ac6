//! Envoy's messages, taken apart and put together.

use bytes::Bytes;
use envoy_types::pb::envoy::config::core::v3::{HeaderMap, HeaderValue, HeaderValueOption};
use envoy_types::pb::envoy::service::ext_proc::v3 as pb;
use envoy_types::pb::envoy::r#type::v3::HttpStatus;

use crate::failure::Code;
use crate::headers::{Changes, Headers};

pub use pb::processing_request::Request;
pub use pb::processing_response::Response;
pub use pb::{HttpBody, HttpHeaders, HttpTrailers, ProcessingRequest, ProcessingResponse};

/// Largest body chunk we send: Envoy's gRPC messages stay below 64 KiB.
pub const MAX_CHUNK: usize = 62_000;

/// Which half of the exchange a message belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// From the client to the provider.
    Request,
    /// Back.
    Response,
}

/// The headers of a message.
pub fn read_headers(headers: Option<HeaderMap>) -> Headers {
    let all = headers.map(|map| map.headers).unwrap_or_default();
    Headers::received(all.into_iter().map(|HeaderValue { key, value, raw_value }| {
        (key, if raw_value.is_empty() { Bytes::from(value) } else { Bytes::from(raw_value) })
    }))
}

/// An answer to headers that changes nothing.
pub fn headers_unchanged(side: Side) -> ProcessingResponse {
    headers(side, None)
}

/// An answer to headers that changes some, and makes Envoy choose the route anew.
pub fn headers_changed(side: Side, changes: &Changes) -> ProcessingResponse {
    headers(side, Some(common(changes, None)))
}

/// An answer to a body in one piece; without changes, it stays as it is.
pub fn body(side: Side, changed: Option<(&Changes, Option<Bytes>)>) -> ProcessingResponse {
    let response = changed
        .map(|(changes, body)| common(changes, body.map(|b| pb::body_mutation::Mutation::Body(b.into()))));
    body_response(side, pb::BodyResponse { response })
}

/// A body in chunks; `end` marks the last one as the end of the message. An empty body that ends is one empty chunk.
pub fn streamed_body(side: Side, body: Bytes, end: bool) -> impl Iterator<Item = ProcessingResponse> {
    let count = body.len().div_ceil(MAX_CHUNK).max(usize::from(end));
    (0..count).map(move |index| {
        let start = index * MAX_CHUNK;
        let chunk = body.slice(start..body.len().min(start + MAX_CHUNK));
        let chunk = pb::StreamedBodyResponse {
            body: chunk.into(),
            end_of_stream: end && index + 1 == count,
            ..Default::default()
        };
        let mutation = pb::body_mutation::Mutation::StreamedResponse(chunk);
        let common = pb::CommonResponse {
            body_mutation: Some(pb::BodyMutation { mutation: Some(mutation) }),
            ..Default::default()
        };
        body_response(side, pb::BodyResponse { response: Some(common) })
    })
}

/// An answer to trailers.
pub fn trailers(side: Side) -> ProcessingResponse {
    let response = pb::TrailersResponse::default();
    answer(match side {
        Side::Request => Response::RequestTrailers(response),
        Side::Response => Response::ResponseTrailers(response),
    })
}

/// The end: the client gets this instead.
pub fn refusal(code: Code, text: String) -> ProcessingResponse {
    answer(Response::ImmediateResponse(pb::ImmediateResponse {
        status: Some(HttpStatus { code: i32::from(code.http_status()) }),
        body: text.into_bytes(),
        ..Default::default()
    }))
}

fn headers(side: Side, response: Option<pb::CommonResponse>) -> ProcessingResponse {
    let response = pb::HeadersResponse { response };
    answer(match side {
        Side::Request => Response::RequestHeaders(response),
        Side::Response => Response::ResponseHeaders(response),
    })
}

fn body_response(side: Side, response: pb::BodyResponse) -> ProcessingResponse {
    answer(match side {
        Side::Request => Response::RequestBody(response),
        Side::Response => Response::ResponseBody(response),
    })
}

fn common(changes: &Changes, mutation: Option<pb::body_mutation::Mutation>) -> pb::CommonResponse {
    let set_headers = changes.set.iter().map(|(name, value)| HeaderValueOption {
        header: Some(HeaderValue { key: name.clone(), raw_value: value.to_vec(), ..Default::default() }),
        ..Default::default()
    });
    pb::CommonResponse {
        clear_route_cache: true,
        header_mutation: Some(pb::HeaderMutation {
            set_headers: set_headers.collect(),
            remove_headers: changes.removed.clone(),
        }),
        body_mutation: mutation.map(|mutation| pb::BodyMutation { mutation: Some(mutation) }),
        ..Default::default()
    }
}

fn answer(response: Response) -> ProcessingResponse {
    ProcessingResponse { response: Some(response), ..Default::default() }
}
