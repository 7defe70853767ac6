//! The Gateway API: `gateway.networking.k8s.io/v1`. The `gateway-api` crate is bound to an older kube.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

/// Which requests at a gateway go to which Service.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[kube(
    group = "gateway.networking.k8s.io",
    version = "v1",
    kind = "HTTPRoute",
    plural = "httproutes",
    namespaced
)]
#[kube(status = "HTTPRouteStatus")]
#[serde(rename_all = "camelCase")]
pub struct HTTPRouteSpec {
    /// The gateways that the route is for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parent_refs: Vec<ParentReference>,
    /// Host names it answers to; any, if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hostnames: Vec<String>,
    /// What goes where; the most specific match wins.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<HTTPRouteRule>,
}

/// A gateway, by name.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct ParentReference {
    /// Group of the parent's kind; the Gateway API's own, if not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The parent's kind; `Gateway`, if not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Its namespace; the route's own, if not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
    /// One of its listeners.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub section_name: Option<String>,
    /// One of its ports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<i32>,
}

/// Matches, what is done to a request that matches, and where it goes.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct HTTPRouteRule {
    /// Name of the rule, for policies that attach to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Any of these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub matches: Vec<HTTPRouteMatch>,
    /// Done in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub filters: Vec<HTTPRouteFilter>,
    /// Where requests go, by weight.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub backend_refs: Vec<HTTPBackendRef>,
    /// Time limits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeouts: Option<HTTPRouteTimeouts>,
}

/// Limits, as durations such as `10s`.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct HTTPRouteTimeouts {
    /// For the whole exchange.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// For one try at the backend.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backend_request: Option<String>,
}

/// Conditions on a request; all must hold.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct HTTPRouteMatch {
    /// On the path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<HTTPPathMatch>,
    /// On headers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<HTTPHeaderMatch>,
    /// On the method.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
}

/// A condition on the path.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
pub struct HTTPPathMatch {
    /// `Exact`, `PathPrefix` or `RegularExpression`.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub type_: Option<String>,
    /// What to match.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

/// A condition on one header.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
pub struct HTTPHeaderMatch {
    /// `Exact` or `RegularExpression`.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub type_: Option<String>,
    /// The header.
    pub name: String,
    /// What to match.
    pub value: String,
}

/// Something done to a request or its answer.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct HTTPRouteFilter {
    /// Which of the fields below is set.
    #[serde(rename = "type")]
    pub type_: String,
    /// For `URLRewrite`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url_rewrite: Option<HTTPURLRewrite>,
    /// For `RequestHeaderModifier`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_header_modifier: Option<HTTPHeaderFilter>,
}

/// Changes to host and path.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
pub struct HTTPURLRewrite {
    /// The host to put in place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hostname: Option<String>,
    /// What becomes of the path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<HTTPPathModifier>,
}

/// What becomes of a path.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct HTTPPathModifier {
    /// `ReplaceFullPath` or `ReplacePrefixMatch`.
    #[serde(rename = "type")]
    pub type_: String,
    /// The whole new path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replace_full_path: Option<String>,
    /// What the matched prefix becomes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replace_prefix_match: Option<String>,
}

/// Changes to headers.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
pub struct HTTPHeaderFilter {
    /// Put in place of what is there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<HTTPHeader>,
    /// Put beside what is there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub add: Vec<HTTPHeader>,
    /// Taken away.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remove: Vec<String>,
}

/// A header and its value.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
pub struct HTTPHeader {
    /// The header.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// Where requests go.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
pub struct HTTPBackendRef {
    /// Group of the backend's kind; the core group, if not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The backend's kind; `Service`, if not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Its namespace; the route's own, if not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
    /// Its port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<i32>,
    /// Its share of the requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<i32>,
}

/// What the gateways made of the route.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
pub struct HTTPRouteStatus {
    /// One entry per gateway and controller.
    #[serde(default)]
    pub parents: Vec<RouteParentStatus>,
}

/// What one gateway's controller made of the route.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct RouteParentStatus {
    /// The gateway.
    pub parent_ref: ParentReference,
    /// Who says so.
    #[serde(default)]
    pub controller_name: String,
    /// `Accepted`, `ResolvedRefs` and more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}
