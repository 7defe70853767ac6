//! Discovery: the aggregated form that clients prefer, and the legacy one that some still need.

mod aggregated;
mod legacy;

pub(crate) use legacy::{group, resources};

use axum::body::Body;
use http::header::{ACCEPT, CACHE_CONTROL, ETAG, IF_NONE_MATCH, VARY};
use http::{HeaderMap, HeaderValue, Response};
use sha2::{Digest, Sha512};

use crate::Plane;
use crate::server::answer;
use crate::status::Result;

/// `/api`
pub(crate) fn core(plane: &Plane, headers: &HeaderMap) -> Result<Response<Body>> {
    match aggregated_version(headers) {
        Some(version) => aggregate(plane, headers, version, true),
        None => Ok(vary(answer::json(200, &legacy::versions()))),
    }
}

/// `/apis`
pub(crate) fn groups(plane: &Plane, headers: &HeaderMap) -> Result<Response<Body>> {
    match aggregated_version(headers) {
        Some(version) => aggregate(plane, headers, version, false),
        None => Ok(vary(answer::json(200, &legacy::groups(&plane.catalog())))),
    }
}

/// Which version of the aggregated form the client takes, if it takes one before plain JSON.
fn aggregated_version(headers: &HeaderMap) -> Option<&'static str> {
    let accept = headers.get(ACCEPT)?.to_str().ok()?;
    for range in accept.split(',') {
        let mut parts = range.split(';').map(str::trim);
        let media = parts.next()?;
        let parameters: Vec<&str> = parts.collect();
        let aggregated = parameters.contains(&"as=APIGroupDiscoveryList")
            && parameters.contains(&"g=apidiscovery.k8s.io")
            && media == "application/json";
        match aggregated {
            true if parameters.contains(&"v=v2") => return Some("v2"),
            true if parameters.contains(&"v=v2beta1") => return Some("v2beta1"),
            _ if matches!(media, "application/json" | "*/*" | "application/*") && parameters.is_empty() => {
                return None;
            }
            _ => {}
        }
    }
    None
}

fn aggregate(
    plane: &Plane,
    headers: &HeaderMap,
    version: &'static str,
    core: bool,
) -> Result<Response<Body>> {
    let document = aggregated::document(&plane.catalog(), version, core);
    let body = serde_json::to_vec(&document).unwrap_or_default();
    let hash: String = Sha512::digest(&body).iter().map(|b| format!("{b:02X}")).collect();
    let etag = format!("\"{hash}\"");
    let known = headers.get(IF_NONE_MATCH).is_some_and(|v| v.as_bytes() == etag.as_bytes());
    let content_type = match version {
        "v2" => "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
        _ => "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList",
    };
    let mut response = match known {
        true => answer::bytes(304, content_type, Default::default()),
        false => answer::sized(headers, 200, content_type, body.into()),
    };
    if let Ok(etag) = HeaderValue::from_str(&etag) {
        response.headers_mut().insert(ETAG, etag);
    }
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("public"));
    Ok(vary(response))
}

fn vary(mut response: Response<Body>) -> Response<Body> {
    response.headers_mut().insert(VARY, HeaderValue::from_static("Accept"));
    response
}
