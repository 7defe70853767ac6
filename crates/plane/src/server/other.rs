//! Paths that are no resources: discovery, version, health.

use axum::body::Body;
use http::request::Parts;
use http::{Method, Response};
use serde_json::json;

use super::answer;
use super::params::Params;
use crate::Plane;
use crate::discovery;
use crate::openapi;
use crate::status::{Details, Error, Result};

/// The Kubernetes version whose behaviour the plane follows.
pub(crate) const MAJOR: &str = "1";
/// See [`MAJOR`].
pub(crate) const MINOR: &str = "36";

pub(super) async fn serve(
    plane: &Plane,
    parts: &Parts,
    path: &str,
    params: &Params,
) -> Result<Response<Body>> {
    if !matches!(parts.method, Method::GET | Method::HEAD) {
        return Err(Error::method_not_allowed());
    }
    let segments: Vec<&str> = path.split('/').skip(1).collect();
    match segments.as_slice() {
        ["version"] => Ok(version()),
        ["healthz" | "livez" | "readyz"] | ["healthz" | "livez" | "readyz", "ping"] => {
            Ok(answer::text(200, "text/plain; charset=utf-8", "ok"))
        }
        [""] => Ok(root(plane)),
        ["api"] => discovery::core(plane, &parts.headers),
        ["apis"] => discovery::groups(plane, &parts.headers),
        ["apis", group] => discovery::group(plane, group),
        ["api", version] => discovery::resources(plane, "", version),
        ["openapi", "v2"] => Ok(openapi::v2(plane, &parts.headers)),
        ["openapi", "v3"] => Ok(openapi::index(plane)),
        ["openapi", "v3", rest @ ..] => {
            openapi::group_version(plane, &rest.join("/"), params.get("hash"), &parts.headers)
        }
        ["apis", group, version] => discovery::resources(plane, group, version),
        [".well-known", "openid-configuration"] => token_keys(plane, parts, false),
        ["openid", "v1", "jwks"] => token_keys(plane, parts, true),
        _ => Err(Error::unknown_path()),
    }
}

/// The documents by which others check ServiceAccount tokens.
fn token_keys(plane: &Plane, parts: &Parts, keys: bool) -> Result<Response<Body>> {
    let text = |name: http::HeaderName| parts.headers.get(name).and_then(|value| value.to_str().ok());
    let accept = text(http::header::ACCEPT).unwrap_or("*/*");
    let takes_any = accept.split(',').any(|one| {
        let one = one.split(';').next().unwrap_or_default().trim();
        matches!(one, "*/*" | "application/*" | "application/jwk-set+json")
    });
    if keys && !takes_any {
        let message = "406: Not Acceptable\n\nAvailable representations: application/jwk-set+json";
        return Err(Error::new(406, "NotAcceptable", message).with_details(Details::default()));
    }
    let host = text(http::header::HOST).or(parts.uri.host()).unwrap_or("kubernetes.default.svc");
    let documents = plane.guard().authenticator()?.issuer.discovery(&format!("https://{host}"));
    let (content_type, document) = if keys {
        ("application/jwk-set+json", documents.keys)
    } else {
        ("application/json", documents.configuration)
    };
    Ok(answer::bytes(200, content_type, document.to_string().into()))
}

fn version() -> Response<Body> {
    answer::json(
        200,
        &json!({
            "major": MAJOR, "minor": MINOR, "emulationMajor": MAJOR, "emulationMinor": MINOR,
            "minCompatibilityMajor": MAJOR, "minCompatibilityMinor": "35",
            "gitVersion": concat!("v1.36.4+plane-", env!("CARGO_PKG_VERSION")), "gitCommit": "", "gitTreeState": "clean",
            "buildDate": "1970-01-01T00:00:00Z", "goVersion": "none", "compiler": "rustc",
            "platform": format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
        }),
    )
}

fn root(plane: &Plane) -> Response<Body> {
    let mut paths = vec!["/api".to_string(), "/apis".to_string()];
    for group in &plane.catalog().groups {
        if group.name.is_empty() {
            paths.extend(group.versions.iter().map(|(v, _)| format!("/api/{v}")));
            continue;
        }
        paths.push(format!("/apis/{}", group.name));
        paths.extend(group.versions.iter().map(|(v, _)| format!("/apis/{}/{v}", group.name)));
    }
    paths.extend(
        ["/healthz", "/livez", "/openapi/v2", "/openapi/v3", "/readyz", "/version"].map(String::from),
    );
    answer::json(200, &json!({ "paths": paths }))
}
