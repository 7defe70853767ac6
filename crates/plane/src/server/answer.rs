//! Answers: bodies, headers, gzip.

use std::io::Write;

use axum::body::Body;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::{self, HeaderMap, HeaderValue};
use http::{Response, StatusCode};
use serde::Serialize;
use serde_json::Value;

use super::{Ctx, Encoding, Shape};
use crate::status::{Error, Result};
use crate::store::Object;

/// Bodies from this size on are compressed for clients that take it.
const GZIP_FROM: usize = 128 * 1024;

/// A refusal.
pub(crate) fn error(error: &Error) -> Response<Body> {
    if error.plain {
        return text(error.code, "text/plain; charset=utf-8", &error.message);
    }
    let mut response = bytes(error.code, "application/json", error.to_json().into());
    let wait = error.details.as_ref().map_or(0, |d| d.retry_after_seconds);
    if wait > 0 {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(wait));
    }
    response
}

/// The connection breaks: the body fails before its first byte.
pub(crate) fn disconnected() -> Response<Body> {
    let broken =
        std::io::Error::new(std::io::ErrorKind::ConnectionReset, "the connection was cut by a fault");
    Response::new(Body::from_stream(futures::stream::once(async { Err::<Bytes, _>(broken) })))
}

/// Plain text.
pub(crate) fn text(code: u16, content_type: &'static str, text: &str) -> Response<Body> {
    bytes(code, content_type, text.to_string().into())
}

/// A value as JSON.
pub(crate) fn json(code: u16, value: &impl Serialize) -> Response<Body> {
    bytes(code, "application/json", serde_json::to_vec(value).unwrap_or_default().into())
}

/// A finished body.
pub(crate) fn bytes(code: u16, content_type: &'static str, body: Bytes) -> Response<Body> {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// A finished body, compressed if that is worth it and the client takes it.
pub(crate) fn sized(
    headers: &HeaderMap,
    code: u16,
    content_type: &'static str,
    body: Bytes,
) -> Response<Body> {
    let accepts = headers.get(header::ACCEPT_ENCODING).and_then(|v| v.to_str().ok()).is_some_and(|v| {
        v.split(',').any(|e| {
            let mut parts = e.split(';').map(str::trim);
            parts.next() == Some("gzip") && parts.next() != Some("q=0")
        })
    });
    if body.len() < GZIP_FROM || !accepts {
        return bytes(code, content_type, body);
    }
    let mut encoder = GzEncoder::new(Vec::with_capacity(body.len() / 4), Compression::new(4));
    let packed = encoder.write_all(&body).and_then(|()| encoder.finish());
    match packed {
        Ok(packed) => {
            let mut response = bytes(code, content_type, packed.into());
            response.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            response.headers_mut().append(header::VARY, HeaderValue::from_static("Accept-Encoding"));
            response
        }
        Err(_) => bytes(code, content_type, body),
    }
}

/// Headers every answer has.
pub(super) fn finish(response: &mut Response<Body>, warnings: Vec<String>) {
    let headers = response.headers_mut();
    if let Ok(id) = HeaderValue::from_str(&uuid::Uuid::new_v4().to_string()) {
        headers.insert("audit-id", id);
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-cache, private"));
    for warning in warnings {
        let quoted = warning.replace('\\', "\\\\").replace('"', "\\\"");
        let clean: String = quoted.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        if let Ok(value) = HeaderValue::from_bytes(format!("299 - \"{clean}\"").as_bytes()) {
            headers.append(header::WARNING, value);
        }
    }
}

impl Ctx {
    /// Answers one stored object, in the shape asked for.
    pub(crate) fn object(&self, code: u16, object: &Object) -> Result<Response<Body>> {
        match self.accept.shape {
            Shape::Object => Ok(self.encode(code, framed(&self.resource.prefix, object.body()))),
            Shape::Metadata => Ok(self.encode(code, metadata(object, self.accept.meta_version()))),
            Shape::Table => {
                Ok(self.encode(code, crate::table::of(self, std::slice::from_ref(&object), None)?))
            }
        }
    }

    /// Answers a value that is not (or not yet) stored.
    pub(crate) fn value(&self, code: u16, value: &Value) -> Response<Body> {
        self.encode(code, serde_json::to_vec(value).unwrap_or_default())
    }

    /// Sends JSON in the encoding asked for.
    pub(crate) fn encode(&self, code: u16, json: Vec<u8>) -> Response<Body> {
        let body = match self.accept.encoding {
            Encoding::Json => json,
            Encoding::Yaml => yaml(&json),
        };
        sized(&self.headers, code, self.accept.content_type(), body.into())
    }
}

fn yaml(json: &[u8]) -> Vec<u8> {
    let value: Value = serde_json::from_slice(json).unwrap_or_default();
    serde_saphyr::to_string(&value).map(String::into_bytes).unwrap_or_default()
}

/// Kind and apiVersion in front of a body.
pub(crate) fn framed(prefix: &[u8], body: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(prefix.len() + body.len());
    out.extend_from_slice(prefix);
    out.extend_from_slice(&body[1..]);
    out
}

/// An object as `PartialObjectMetadata`.
pub(crate) fn metadata(object: &Object, api_version: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(object.metadata().len() + 96);
    out.extend_from_slice(b"{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"");
    out.extend_from_slice(api_version.as_bytes());
    out.extend_from_slice(b"\",\"metadata\":");
    out.extend_from_slice(object.metadata());
    out.push(b'}');
    out
}
