//! What a request is about, read off its method and path.

use std::fmt;

use http::{Method, Request};

/// One request to a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// `get` (one or many), `create`, `update`, `patch` or `delete`.
    pub verb: &'static str,
    /// The plural; empty for paths that are no resource's.
    pub resource: String,
    /// The object's name; empty for a whole collection, and for what is being created.
    pub name: String,
    /// `status` and the like; usually empty.
    pub subresource: String,
}

impl Asked {
    pub(super) fn of<B>(request: &Request<B>) -> Self {
        let verb = match *request.method() {
            Method::POST => "create",
            Method::PUT => "update",
            Method::PATCH => "patch",
            Method::DELETE => "delete",
            _ => "get",
        };
        let path: Vec<&str> = request.uri().path().split('/').skip(1).collect();
        let rest = match path.as_slice() {
            ["api", _version, rest @ ..] => rest,
            ["apis", _group, _version, rest @ ..] => rest,
            _ => &[],
        };
        // `namespaces/x/pods` is about pods, `namespaces/x` and `namespaces/x/status` about the namespace.
        let rest = match rest {
            ["namespaces", _, "status" | "finalize"] => rest,
            ["namespaces", _, rest @ ..] if !rest.is_empty() => rest,
            _ => rest,
        };
        let part = |index: usize| rest.get(index).copied().unwrap_or_default().to_owned();
        Asked { verb, resource: part(0), name: part(1), subresource: part(2) }
    }

    /// Whether it changes something.
    pub fn is_write(&self) -> bool {
        self.verb != "get"
    }
}

impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.verb, self.resource)?;
        [&self.name, &self.subresource]
            .into_iter()
            .filter(|part| !part.is_empty())
            .try_for_each(|part| write!(f, "/{part}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_tells_resource_name_and_subresource() {
        let asked = |method: Method, path: &str| {
            Asked::of(&Request::builder().method(method).uri(path).body(()).expect("a request")).to_string()
        };
        assert_eq!(
            asked(Method::PATCH, "/apis/apps/v1/namespaces/a/deployments/b/status?x=y"),
            "patch deployments/b/status"
        );
        assert_eq!(asked(Method::POST, "/api/v1/namespaces/a/services"), "create services");
        assert_eq!(asked(Method::GET, "/api/v1/namespaces/a"), "get namespaces/a");
        assert_eq!(asked(Method::PUT, "/api/v1/namespaces/a/status"), "update namespaces/a/status");
        assert_eq!(asked(Method::DELETE, "/apis/g/v1/things/a"), "delete things/a");
        assert_eq!(asked(Method::GET, "/version"), "get ");
    }
}
