//! OpenAPI: the documents from which kubectl validates, explains and merges.
//!
//! Built-in kinds come from the table in [`crate::builtin`], custom ones from their definitions. Descriptions of built-in
//! fields are not published: the table holds facts only.

mod custom;
mod gnostic;
mod paths;
mod schemas;
mod v2;
mod v3;

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::Body;
use bytes::Bytes;
use http::header::{ACCEPT, CACHE_CONTROL, ETAG, IF_NONE_MATCH, LAST_MODIFIED, LOCATION, VARY};
use http::{HeaderMap, HeaderValue, Response};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha512};

use crate::Plane;
use crate::resource::Catalog;
use crate::server::answer;
use crate::status::{Error, Result};

/// A finished document and the hash of its bytes.
#[derive(Debug, Clone)]
struct Document {
    body: Bytes,
    hash: String,
}

impl Document {
    fn new(body: Vec<u8>) -> Self {
        let hash = Sha512::digest(&body).iter().map(|b| format!("{b:02X}")).collect();
        Self { body: body.into(), hash }
    }
}

/// Documents made for a catalog, until it changes.
#[derive(Debug, Default)]
pub(crate) struct Documents(Mutex<Option<(u64, Arc<Made>)>>);

#[derive(Debug)]
struct Made {
    /// By path below `/openapi/v3/`: `api/v1`, `apis/apps/v1`.
    v3: BTreeMap<String, Document>,
    v2: Mutex<Option<(Document, Document)>>,
}

impl Documents {
    fn of(&self, catalog: &Catalog) -> Arc<Made> {
        let mut kept = self.0.lock();
        if let Some((generation, made)) = &*kept
            && *generation == catalog.generation
        {
            return made.clone();
        }
        let made = Arc::new(Made { v3: v3::documents(catalog), v2: Mutex::default() });
        *kept = Some((catalog.generation, made.clone()));
        made
    }
}

/// `/openapi/v3`
pub(crate) fn index(plane: &Plane) -> Response<Body> {
    let made = plane.inner.openapi.of(&plane.catalog());
    let paths: Map<String, Value> = made
        .v3
        .iter()
        .map(|(path, document)| {
            let url = format!("/openapi/v3/{path}?hash={}", document.hash);
            (path.clone(), json!({"serverRelativeURL": url}))
        })
        .collect();
    let body = json!({ "paths": paths }).to_string();
    let mut response = answer::text(200, "text/plain; charset=utf-8", &body);
    let now = plane.clock().now().strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
    if let Ok(now) = HeaderValue::from_str(&now) {
        response.headers_mut().insert(LAST_MODIFIED, now);
    }
    response
}

/// `/openapi/v3/<path>`
pub(crate) fn group_version(
    plane: &Plane,
    path: &str,
    hash: &str,
    headers: &HeaderMap,
) -> Result<Response<Body>> {
    let made = plane.inner.openapi.of(&plane.catalog());
    let document = made.v3.get(path).ok_or_else(Error::unknown_path)?;
    if !hash.is_empty() && hash != document.hash {
        let mut response = answer::text(301, "text/plain; charset=utf-8", "");
        let url = format!("/openapi/v3/{path}?hash={}", document.hash);
        if let Ok(url) = HeaderValue::from_str(&url) {
            response.headers_mut().insert(LOCATION, url);
        }
        return Ok(response);
    }
    let mut response = revalidated(headers, "application/json", document);
    let caching = if hash.is_empty() { "no-cache, private" } else { "public, immutable" };
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static(caching));
    Ok(response)
}

const PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

/// `/openapi/v2`, as JSON or as the gnostic message that kubectl asks for.
pub(crate) fn v2(plane: &Plane, headers: &HeaderMap) -> Response<Body> {
    let catalog = plane.catalog();
    let made = plane.inner.openapi.of(&catalog);
    let (json, protobuf) = made
        .v2
        .lock()
        .get_or_insert_with(|| {
            let document = v2::document(&catalog);
            let json = serde_json::to_vec(&document).unwrap_or_default();
            (Document::new(json), Document::new(gnostic::encode(&document)))
        })
        .clone();
    let accept = headers.get(ACCEPT).and_then(|v| v.to_str().ok()).unwrap_or_default();
    if accept.contains("application/com.github.proto-openapi.spec.v2") {
        return revalidated(headers, PROTOBUF, &protobuf);
    }
    revalidated(headers, "application/json", &json)
}

fn revalidated(headers: &HeaderMap, content_type: &'static str, document: &Document) -> Response<Body> {
    let etag = format!("\"{}\"", document.hash);
    let known = headers.get(IF_NONE_MATCH).is_some_and(|v| v.as_bytes() == etag.as_bytes());
    let mut response = match known {
        true => answer::bytes(304, content_type, Bytes::new()),
        false => answer::sized(headers, 200, content_type, document.body.clone()),
    };
    if let Ok(etag) = HeaderValue::from_str(&etag) {
        response.headers_mut().insert(ETAG, etag);
    }
    response.headers_mut().insert(VARY, HeaderValue::from_static("Accept"));
    response
}
