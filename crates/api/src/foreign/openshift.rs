//! OpenShift: `route.openshift.io/v1`, `user.openshift.io/v1` and `config.openshift.io/v1`.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

/// Leads from outside the cluster to a Service.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[kube(group = "route.openshift.io", version = "v1", kind = "Route", namespaced, status = "RouteStatus")]
#[serde(rename_all = "camelCase")]
pub struct RouteSpec {
    /// The name under which it is reached; one that the cluster makes up, if not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Where it leads.
    pub to: RouteTarget,
    /// The Service's port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<RoutePort>,
    /// How connections are secured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<RouteTls>,
    /// Whether names below the host lead there too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wildcard_policy: Option<String>,
}

/// Where a Route leads.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
pub struct RouteTarget {
    /// `Service`.
    pub kind: String,
    /// Its name.
    pub name: String,
}

/// A port of a Service.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct RoutePort {
    /// By name or number.
    pub target_port: IntOrString,
}

/// How connections to a Route are secured.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
pub struct RouteTls {
    /// Where encryption ends: `edge`, `passthrough` or `reencrypt`.
    pub termination: String,
}

/// What the routers made of a Route.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
pub struct RouteStatus {
    /// One entry per router.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ingress: Vec<RouteIngress>,
}

/// What one router made of a Route.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
pub struct RouteIngress {
    /// The host it serves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// `Admitted`, for one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<RouteCondition>,
}

/// Something that a router has to say.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
pub struct RouteCondition {
    /// About what.
    #[serde(rename = "type")]
    pub type_: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// In one word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// In a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Users of the cluster. Its fields are the object's own: there is no `spec`.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[kube(group = "user.openshift.io", version = "v1", kind = "Group", no_spec)]
pub struct GroupMembers {
    /// Who is in it: the administrators' to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub users: Option<Vec<String>>,
}

/// The cluster's ingress.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[kube(group = "config.openshift.io", version = "v1", kind = "Ingress", plural = "ingresses")]
#[serde(rename_all = "camelCase")]
pub struct IngressSpec {
    /// Domain of Routes, if it differs from the cluster's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub apps_domain: Option<String>,
    /// The cluster's own domain of Routes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
}
