//! Names and labels of an MLflow's children. A resource named `mlflow` has no suffix; the definition admits no other
//! name, so the suffix is for resources of installations that lifted that rule.

use std::collections::BTreeMap;

use kube::ResourceExt;
use quintet_api::mlflow::MLflow;
use quintet_kit::parts::meta;

/// The ServiceAccount of the garbage-collection job.
pub(super) const GC_SERVICE_ACCOUNT: &str = "mlflow-gc-sa";
/// The ClusterRole that every MLflow shares.
pub(super) const SHARED_ROLE: &str = "mlflow";
/// The Secret with the server's certificate, made by OpenShift or by an administrator.
pub(super) const TLS_SECRET: &str = "mlflow-tls";
/// The server's port.
pub(super) const PORT: i32 = 8443;

/// The names of one MLflow's children.
#[derive(Clone, Debug)]
pub(super) struct Names {
    suffix: String,
    namespace: String,
}

impl Names {
    pub(super) fn of(mlflow: &MLflow, namespace: &str) -> Self {
        let suffix = match mlflow.name_any().as_str() {
            "mlflow" => String::new(),
            other => format!("-{other}"),
        };
        Names { suffix, namespace: namespace.to_owned() }
    }

    /// Deployment, Service, NetworkPolicy, binding, link and route.
    pub(super) fn server(&self) -> String {
        format!("mlflow{}", self.suffix)
    }

    /// CronJob, role and binding of the garbage collection.
    pub(super) fn gc(&self) -> String {
        format!("mlflow-gc{}", self.suffix)
    }

    pub(super) fn claim(&self) -> String {
        format!("mlflow-pvc{}", self.suffix)
    }

    pub(super) fn monitor(&self) -> String {
        format!("mlflow-metrics-monitor{}", self.suffix)
    }

    /// Path below the gateway.
    pub(super) fn path(&self) -> String {
        format!("/{}", self.server())
    }

    /// The server's name inside the cluster.
    pub(super) fn host(&self) -> String {
        format!("{}.{}.svc", self.server(), self.namespace)
    }

    /// The server's URL inside the cluster.
    pub(super) fn url(&self) -> String {
        format!("https://{}:{PORT}", self.host())
    }

    /// What selects the server's pods.
    pub(super) fn selector(&self) -> BTreeMap<String, String> {
        meta::labels([("app", self.server())])
    }

    /// Labels of the server's objects.
    pub(super) fn labels(&self) -> BTreeMap<String, String> {
        meta::labels([("app", self.server()), ("component", "mlflow".into())])
    }

    /// Labels of the garbage collection's objects.
    pub(super) fn gc_labels(&self) -> BTreeMap<String, String> {
        meta::labels([("app", self.gc()), ("component", "mlflow".into())])
    }

    /// Label of the objects that tie the server into the platform: the same for every MLflow.
    pub(super) fn platform_labels() -> BTreeMap<String, String> {
        meta::labels([("app", "mlflow")])
    }
}
