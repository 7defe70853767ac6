//! `MaaSModelRef`: a model that is offered, and where it answers.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A model that is offered: which object runs it. The endpoint is found by the controller and put into the status.
#[derive(Clone, CustomResource, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[kube(group = "maas.opendatahub.io", version = "v1alpha1", kind = "MaaSModelRef", namespaced)]
#[kube(plural = "maasmodelrefs", singular = "maasmodelref", status = "MaaSModelRefStatus")]
#[kube(printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"))]
#[kube(printcolumn(name = "Endpoint", type_ = "string", json_path = ".status.endpoint"))]
#[kube(printcolumn(name = "HTTPRoute", type_ = "string", json_path = ".status.httpRouteName"))]
#[kube(printcolumn(name = "Gateway", type_ = "string", json_path = ".status.httpRouteGatewayName"))]
#[kube(printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"))]
#[serde(rename_all = "camelCase")]
pub struct MaaSModelRefSpec {
    /// The object that runs the model, in the same namespace.
    pub model_ref: ModelBackendRef,
    /// Taken as the endpoint, once the model is ready, in place of the one the controller finds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint_override: Option<String>,
}

/// The object that runs a model.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub struct ModelBackendRef {
    /// What kind of object.
    pub kind: ModelBackendKind,
    /// Its name.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
}

/// The kinds of object that can run a model.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum ModelBackendKind {
    /// KServe serves it in this cluster.
    LLMInferenceService,
    /// A provider elsewhere serves it, as an `ExternalModel` says.
    ExternalModel,
}

/// What is known about a model.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MaaSModelRefStatus {
    /// How far it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<ModelPhase>,
    /// The URL under which it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// The HTTPRoute that leads to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_route_name: Option<String>,
    /// The namespace of that route.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_route_namespace: Option<String>,
    /// The Gateway that route hangs on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_route_gateway_name: Option<String>,
    /// The namespace of that Gateway.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_route_gateway_namespace: Option<String>,
    /// The host names that route serves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_route_hostnames: Option<Vec<String>>,
    /// The latest observations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}

/// How far a model is.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum ModelPhase {
    /// Its backend or its route is not there yet.
    Pending,
    /// It answers.
    Ready,
    /// In the schema, but never set.
    Unhealthy,
    /// It cannot be offered as it is written.
    Failed,
}
