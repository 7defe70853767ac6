//! The platform's operator: `services.platform.opendatahub.io` and `components.platform.opendatahub.io`.

use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

/// Who administers and who uses the platform.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[kube(group = "services.platform.opendatahub.io", version = "v1alpha1", kind = "Auth")]
#[serde(rename_all = "camelCase")]
pub struct AuthSpec {
    /// Groups whose members administer the platform.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub admin_groups: Option<Vec<String>>,
}

/// The platform's own resource for the model registry component: what belongs to the component goes with it.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[kube(
    group = "components.platform.opendatahub.io",
    version = "v1alpha1",
    kind = "ModelRegistry",
    plural = "modelregistries",
    root = "ModelRegistryComponent"
)]
#[serde(rename_all = "camelCase")]
pub struct ModelRegistryComponentSpec {
    /// Where registries may be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registries_namespace: Option<String>,
}
