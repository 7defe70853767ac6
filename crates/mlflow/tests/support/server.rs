//! The cluster that scenarios are played in.

use k8s_openapi::api::{
    apps::v1::Deployment,
    batch::v1::{CronJob, Job},
    core::v1::{ConfigMap, PersistentVolumeClaim, Secret, Service, ServiceAccount},
    networking::v1::NetworkPolicy,
    rbac::v1::{ClusterRole, ClusterRoleBinding},
};
use quintet_api::{
    crd,
    foreign::{console::ConsoleLink, gateway::HTTPRoute, monitoring::ServiceMonitor},
    mlflow::{MLflow, MLflowConfig},
};
use quintet_kit::Kind;
use quintet_mlflow::Mlflow;
use quintet_stage::{Play, Server, Subject};

use super::{config, rendering};

pub use quintet_stage::server::install;

pub const NAMESPACE: &str = "opendatahub";

/// The optional APIs that a cluster serves.
#[derive(Clone, Copy, Debug, Default)]
pub struct Serves {
    pub console_link: bool,
    pub http_route: bool,
    pub service_monitor: bool,
}

pub const PLAIN: Serves = Serves { console_link: false, http_route: false, service_monitor: false };
pub const OPENSHIFT: Serves = Serves { console_link: true, http_route: true, service_monitor: true };

/// The operator with these environment variables, in such a cluster.
pub fn play(serves: Serves, variables: &[(&str, &str)]) -> Play {
    Play {
        system: std::sync::Arc::new(Mlflow::new(config(variables))),
        home: NAMESPACE,
        account: "mlflow-operator-controller-manager",
        subject: Subject { resource: MLflow::api_resource(), namespace: None, name: "mlflow" },
        namespaces: vec![],
        optional: vec![
            (serves.console_link, crd::of::<ConsoleLink>()),
            (serves.http_route, crd::of::<HTTPRoute>()),
            (serves.service_monitor, crd::of::<ServiceMonitor>()),
        ],
        children: vec![
            Deployment::api_resource(),
            Service::api_resource(),
            ServiceAccount::api_resource(),
            ClusterRole::api_resource(),
            ClusterRoleBinding::api_resource(),
            NetworkPolicy::api_resource(),
            PersistentVolumeClaim::api_resource(),
            CronJob::api_resource(),
            Secret::api_resource(),
            ServiceMonitor::api_resource(),
            ConsoleLink::api_resource(),
            HTTPRoute::api_resource(),
        ],
        others: vec![MLflowConfig::api_resource(), ConfigMap::api_resource(), Job::api_resource()],
        is_ours: |name| name.starts_with("mlflow"),
        look: rendering::look,
    }
}

/// A server without an operator.
pub async fn server(serves: Serves) -> Server {
    Server::new(&play(serves, &[])).await
}
