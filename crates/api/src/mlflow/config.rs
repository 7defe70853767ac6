//! `MLflowConfig`: a namespace's own artifact store. Read by the MLflow server, never by the operator.

use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

/// Where the experiments of one namespace keep their artifacts, if not in the server's default place.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[kube(
    group = "mlflow.kubeflow.org",
    version = "v1",
    kind = "MLflowConfig",
    plural = "mlflowconfigs",
    namespaced
)]
#[kube(validation = ("self.metadata.name == 'mlflow'", "MLflowConfig resource name must be 'mlflow'"))]
#[serde(rename_all = "camelCase")]
pub struct MLflowConfigSpec {
    /// Secret of this namespace with the bucket and its credentials: `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`,
    /// `AWS_S3_BUCKET`, `AWS_S3_ENDPOINT` and, where needed, `AWS_DEFAULT_REGION`.
    #[schemars(length(min = 1))]
    #[x_kube(validation = ("self == 'mlflow-artifact-connection'", "artifactRootSecret must be 'mlflow-artifact-connection'"))]
    pub artifact_root_secret: String,

    /// Path below the bucket's root.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 512))]
    #[x_kube(validation = ("self == '' || !self.startsWith('/')", "artifactRootPath must be relative"))]
    #[x_kube(validation = (
        r"self == '' || !self.matches(r'(^|.*/)\.\.(|/.*)$')",
        "artifactRootPath must not contain '..' path segments"
    ))]
    pub artifact_root_path: Option<String>,
}
