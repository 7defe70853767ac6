//! Which resource a path names.

use percent_encoding::percent_decode_str;

/// What a request is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// A resource of an API group.
    Resource(ResourcePath),
    /// Anything else: discovery, OpenAPI, health. Without a trailing slash.
    Other(String),
}

/// The parts of a resource's path; empty where the path has none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ResourcePath {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) namespace: String,
    pub(crate) resource: String,
    pub(crate) name: String,
    pub(crate) subresource: String,
    /// The old `/watch/` form of the path.
    pub(crate) watch: bool,
}

/// Parses a path. `None` when it cannot name anything: an encoded slash, dots, bytes that are no text.
pub(crate) fn parse(path: &str) -> Option<Target> {
    let trimmed = path.strip_suffix('/').filter(|p| !p.is_empty()).unwrap_or(path);
    let mut segments = Vec::new();
    for raw in trimmed.split('/').skip(1) {
        let segment = percent_decode_str(raw).decode_utf8().ok()?;
        if segment.contains('/') || segment == "." || segment == ".." || segment.contains('\0') {
            return None;
        }
        segments.push(segment.into_owned());
    }
    let mut rest = segments.iter().map(String::as_str);
    let (group, version) = match (rest.next(), rest.next()) {
        (Some("api"), Some(version)) => ("", version),
        (Some("apis"), Some(group)) => match rest.next() {
            Some(version) => (group, version),
            None => return Some(Target::Other(trimmed.to_string())),
        },
        _ => return Some(Target::Other(trimmed.to_string())),
    };
    let mut rest: Vec<&str> = rest.collect();
    let watch = rest.first() == Some(&"watch");
    if watch {
        rest.remove(0);
    }
    if rest.is_empty() || rest.contains(&"") {
        return Some(Target::Other(trimmed.to_string()));
    }
    let mut found =
        ResourcePath { group: group.into(), version: version.into(), watch, ..ResourcePath::default() };
    // `namespaces/x/status` is about the namespace itself, `namespaces/x/pods` about pods in it.
    let in_namespace = rest[0] == "namespaces"
        && rest.len() > 2
        && !(group.is_empty() && rest.len() == 3 && matches!(rest[2], "status" | "finalize"));
    if in_namespace {
        found.namespace = rest[1].into();
        rest.drain(..2);
    }
    let mut parts = rest.into_iter();
    found.resource = parts.next().unwrap_or_default().into();
    found.name = parts.next().unwrap_or_default().into();
    found.subresource = parts.next().unwrap_or_default().into();
    if let Some(more) = parts.next() {
        // Deeper paths exist only below proxy-like subresources, which are not served.
        found.subresource = format!("{}/{more}", found.subresource);
    }
    if found.resource == "namespaces" && found.group.is_empty() && found.namespace.is_empty() {
        found.namespace = found.name.clone();
    }
    Some(Target::Resource(found))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource(path: &str) -> (String, String, String, String, String) {
        match parse(path) {
            Some(Target::Resource(r)) => (r.group, r.namespace, r.resource, r.name, r.subresource),
            other => panic!("{path}: {other:?}"),
        }
    }

    fn parts(parts: [&str; 5]) -> (String, String, String, String, String) {
        let [a, b, c, d, e] = parts.map(String::from);
        (a, b, c, d, e)
    }

    #[test]
    fn paths_name_resources() {
        assert_eq!(resource("/api/v1/namespaces/a/pods/x/log"), parts(["", "a", "pods", "x", "log"]));
        assert_eq!(resource("/api/v1/pods/"), parts(["", "", "pods", "", ""]));
        assert_eq!(resource("/api/v1/namespaces/a"), parts(["", "a", "namespaces", "a", ""]));
        assert_eq!(
            resource("/api/v1/namespaces/a/finalize"),
            parts(["", "a", "namespaces", "a", "finalize"])
        );
        assert_eq!(
            resource("/apis/apps/v1/namespaces/a/deployments"),
            parts(["apps", "a", "deployments", "", ""])
        );
        assert_eq!(resource("/apis/g/v1/clusterthings/x%20y"), parts(["g", "", "clusterthings", "x y", ""]));
        assert!(
            matches!(parse("/api/v1/watch/pods"), Some(Target::Resource(r)) if r.watch && r.resource == "pods")
        );
    }

    #[test]
    fn other_paths_name_themselves() {
        for path in ["/", "/api", "/api/v1", "/apis/apps", "/apis/apps/v1", "/version", "/openapi/v3/api/v1"]
        {
            assert_eq!(parse(path), Some(Target::Other(path.into())));
        }
        assert_eq!(parse("/apis/"), Some(Target::Other("/apis".into())));
    }

    #[test]
    fn tricks_name_nothing() {
        for path in
            ["/api/v1/namespaces/a%2Fb/pods", "/api/v1/namespaces/../pods", "/api/v1/%00", "/api/v1/%ff"]
        {
            assert_eq!(parse(path), None, "{path}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_path_is_parsed_or_refused(path in "/(api|apis|watch|namespaces|%2e|%|[a-z./]{0,6}|.{0,3}){0,6}") {
            let _ = parse(&path);
        }
    }
}
