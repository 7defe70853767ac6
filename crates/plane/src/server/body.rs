//! Request bodies: read up to a limit, decoded by content type.

use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde_json::{Map, Value};

use super::json::{self, Parsed};
use super::yaml;
use crate::patch::go_kind;
use crate::protobuf;
use crate::resource::{GroupVersionKind, Resource};
use crate::status::{Details, Error, Result};

/// The real server's limit on resource requests.
pub(crate) const LIMIT: usize = 3 * 1024 * 1024;

/// The real server's limit on requests that are no watches; a client may not hold a body open longer.
const PATIENCE: Duration = Duration::from_secs(60);

/// How the complaint about a body begins of which not even the kind can be read.
const NO_KIND: &str = "couldn't get version/kind; json parse error: ";

/// What the real server reads first, as Go calls it.
const TYPE_META: &str =
    r#"struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#;

/// Reads a body of at most [`LIMIT`] bytes.
pub(crate) async fn read(body: Body) -> Result<Bytes> {
    let reading = Limited::new(body, LIMIT).collect();
    match tokio::time::timeout(PATIENCE, reading).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(Error::too_large(LIMIT)),
        Ok(Err(error)) => Err(Error::bad_request(format!("the request body could not be read: {error}"))),
        Err(_) => {
            let words = "Timeout: request did not complete within the allotted timeout";
            Err(Error::new(504, "Timeout", words).with_details(Details::default()))
        }
    }
}

/// The media type, without parameters.
pub(crate) fn media_type(headers: &HeaderMap) -> &str {
    let header = headers.get(CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
    header.split(';').next().unwrap_or_default().trim()
}

/// An object from the body of a POST or PUT, with `apiVersion` and `kind` filled in where the real server does so.
pub(crate) fn decode(headers: &HeaderMap, body: &Bytes, resource: &Resource) -> Result<Parsed> {
    let mut parsed = decode_any(headers, body, &resource.gvk.kind)?;
    if parsed.value.is_null() {
        parsed.value = Value::Object(Map::new());
    }
    if !parsed.value.is_object() {
        let found = go_kind(&parsed.value);
        let why = format!("{NO_KIND}json: cannot unmarshal {found} into Go value of type {TYPE_META}");
        return Err(unrecognised(&resource.gvk.kind, body, &why));
    }
    type_meta(&mut parsed.value, resource, body)?;
    Ok(parsed)
}

/// Any document from a body; `kind` is what was expected.
pub(crate) fn decode_any(headers: &HeaderMap, body: &Bytes, kind: &str) -> Result<Parsed> {
    if headers.get(CONTENT_ENCODING).is_some_and(|v| v != "identity") {
        return Err(unknown_format());
    }
    match media_type(headers) {
        "" | "application/json" => {
            json::parse(body).map_err(|why| unrecognised(kind, body, &format!("{NO_KIND}{why}")))
        }
        "application/yaml" => {
            let text = std::str::from_utf8(body).map_err(|e| Error::bad_request(e.to_string()))?;
            let read = yaml::parse(text).map_err(|why| unrecognised(kind, body, &why))?;
            Ok(Parsed { value: read.value, duplicates: read.repeated.into_iter().map(|r| r.key).collect() })
        }
        protobuf::MEDIA_TYPE => {
            let value = protobuf::decode(body).map_err(|error| Error::bad_request(error.to_string()))?;
            Ok(Parsed { value, duplicates: Vec::new() })
        }
        _ => Err(unknown_format()),
    }
}

/// How the server calls a group in its own code.
fn internal_group(group: &str) -> &str {
    match group.split('.').next().unwrap_or_default() {
        "" => "core",
        name => name,
    }
}

fn unknown_format() -> Error {
    Error::new(
        415,
        "UnsupportedMediaType",
        "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf",
    )
}

fn unrecognised(kind: &str, body: &Bytes, why: &str) -> Error {
    let start = body.iter().position(|b| !b.is_ascii_whitespace());
    let head = &body[..body.len().min(30)];
    let shown = match start.map(|i| body[i]) {
        None => "<empty>".to_string(),
        Some(b'{') => String::from_utf8_lossy(head).into_owned(),
        Some(_) => head.iter().map(|b| format!("{b:02x}")).collect(),
    };
    Error::bad_request(format!(
        "the object provided is unrecognized (must be of type {kind}): {why} ({shown})"
    ))
}

fn type_meta(object: &mut Value, resource: &Resource, body: &Bytes) -> Result<()> {
    let text = |name: &str| object[name].as_str().unwrap_or_default().to_string();
    let (kind, api_version) = (text("kind"), text("apiVersion"));
    let gvk = &resource.gvk;
    if resource.is_custom() {
        if kind.is_empty() {
            return Err(missing(gvk, "Kind", body));
        }
        if api_version.is_empty() {
            return Err(missing(gvk, "apiVersion", body));
        }
        if api_version != resource.api_version.as_ref() {
            let expected = &resource.api_version;
            return Err(Error::bad_request(format!(
                "the API version in the data ({api_version}) does not match the expected API version ({expected})"
            )));
        }
        return Ok(());
    }
    if !api_version.is_empty() && api_version != resource.api_version.as_ref() {
        return Err(Error::bad_request(format!(
            "{0} in version \"{1}\" cannot be handled as a {0}: no kind \"{2}\" is registered for version \"{3}\" in scheme \"pkg/api/legacyscheme/scheme.go:30\"",
            gvk.kind,
            api_version.rsplit('/').next().unwrap_or_default(),
            if kind.is_empty() { &gvk.kind } else { kind.as_str() },
            api_version,
        )));
    }
    if !kind.is_empty() && kind != gvk.kind.as_ref() {
        return Err(Error::bad_request(format!(
            "{kind} in version \"{0}\" cannot be handled as a {1}: converting ({0}.{kind}) to ({2}.{1}): unknown conversion",
            gvk.version,
            gvk.kind,
            internal_group(&gvk.group),
        )));
    }
    object["kind"] = Value::String(gvk.kind.to_string());
    object["apiVersion"] = Value::String(resource.api_version.to_string());
    Ok(())
}

fn missing(gvk: &GroupVersionKind, field: &str, body: &Bytes) -> Error {
    let (text, head) = (String::from_utf8_lossy(body), String::from_utf8_lossy(&body[..body.len().min(30)]));
    Error::bad_request(format!(
        "the object provided is unrecognized (must be of type {}): Object '{field}' is missing in '{text}' ({head})",
        gvk.kind
    ))
}
