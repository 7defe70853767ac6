//! Calls from a browser's page. Only with `--debug`, and only from pages on this machine.

use std::net::IpAddr;

use http::{HeaderMap, HeaderValue, Method, Response, StatusCode, Uri, header};

/// What to do with a request from a page.
#[derive(Debug, PartialEq)]
pub(super) enum Decision {
    /// It is not from a page, or from one of this very host.
    None,
    /// From a page that is not on this machine.
    Deny,
    /// From a page on this machine.
    Allow(HeaderValue),
}

pub(super) fn decide(headers: &HeaderMap) -> Decision {
    let Some(origin) = headers.get(header::ORIGIN).filter(|origin| !origin.is_empty()) else {
        return Decision::None;
    };
    let Ok(url) = origin.to_str().unwrap_or_default().parse::<Uri>() else { return Decision::Deny };
    let (Some(scheme), Some(authority)) = (url.scheme_str(), url.authority()) else { return Decision::Deny };
    if headers.get(header::HOST).is_some_and(|host| host.as_bytes() == authority.as_str().as_bytes()) {
        return Decision::None;
    }
    let host = authority.host().trim_start_matches('[').trim_end_matches(']');
    let local = host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    if local && matches!(scheme, "http" | "https") { Decision::Allow(origin.clone()) } else { Decision::Deny }
}

/// Adds the headers that let the page read the answer.
pub(super) fn permit<B>(response: &mut Response<B>, origin: HeaderValue, method: &Method) {
    if method == Method::OPTIONS {
        *response.status_mut() = StatusCode::NO_CONTENT;
    }
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.append(header::VARY, HeaderValue::from_static("Origin"));
    if method != Method::OPTIONS {
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("Content-Type"));
        return;
    }
    for name in ["Access-Control-Request-Method", "Access-Control-Request-Headers"] {
        headers.append(header::VARY, HeaderValue::from_static(name));
    }
    for (name, value) in [
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET,POST,PUT,PATCH,DELETE,OPTIONS"),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, "Authorization,Content-Type,Accept"),
        (header::ACCESS_CONTROL_MAX_AGE, "43200"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pages_on_this_machine_are_let_in() {
        let decision = |origin: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, HeaderValue::from_static("maas.example.com"));
            headers.insert(header::ORIGIN, HeaderValue::from_str(origin).expect("a value"));
            decide(&headers)
        };
        for origin in [
            "http://localhost",
            "https://localhost:3000",
            "http://127.0.0.1:8",
            "http://127.9.9.9",
            "http://[::1]:3",
        ] {
            assert!(matches!(decision(origin), Decision::Allow(_)), "{origin}");
        }
        for origin in [
            "http://a.localhost",
            "http://example.com",
            "ftp://localhost",
            "null",
            "localhost",
            "http://10.0.0.1",
            "x y",
        ] {
            assert_eq!(decision(origin), Decision::Deny, "{origin}");
        }
        assert_eq!(decision("https://maas.example.com"), Decision::None, "the service's own page");
        assert_eq!(decide(&HeaderMap::new()), Decision::None);
    }
}
