//! Rules of an HTTPRoute.

use quintet_api::foreign::gateway::{
    HTTPBackendRef, HTTPPathMatch, HTTPPathModifier, HTTPRouteFilter, HTTPRouteMatch, HTTPRouteRule,
    HTTPURLRewrite,
};

/// Requests below `prefix` go to the Service's port.
#[must_use]
pub fn prefix_rule(prefix: impl Into<String>, service: impl Into<String>, port: i32) -> HTTPRouteRule {
    let path = HTTPPathMatch { type_: Some("PathPrefix".into()), value: Some(prefix.into()) };
    HTTPRouteRule {
        matches: vec![HTTPRouteMatch { path: Some(path), ..HTTPRouteMatch::default() }],
        backend_refs: vec![HTTPBackendRef {
            name: service.into(),
            port: Some(port),
            weight: Some(1),
            ..HTTPBackendRef::default()
        }],
        ..HTTPRouteRule::default()
    }
}

/// Puts another prefix in the place of the one that matched, before the request is passed on.
#[must_use]
pub fn rewriting_to(prefix: impl Into<String>, mut rule: HTTPRouteRule) -> HTTPRouteRule {
    let path = HTTPPathModifier {
        type_: "ReplacePrefixMatch".into(),
        replace_prefix_match: Some(prefix.into()),
        replace_full_path: None,
    };
    rule.filters.push(HTTPRouteFilter {
        type_: "URLRewrite".into(),
        url_rewrite: Some(HTTPURLRewrite { hostname: None, path: Some(path) }),
        ..HTTPRouteFilter::default()
    });
    rule
}
