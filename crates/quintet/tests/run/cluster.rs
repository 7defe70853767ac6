//! A cluster for the processes under test: the plane in this process, reached over TLS and with tokens.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::PostParams;
use kube::runtime::wait::{await_condition, conditions};
use kube::{Api, Client, ResourceExt};
use plane::Plane;
use plane::hooks::User;
use plane::listen::Authority;
use plane::security::Security;
use plane::workloads::Workloads;
use quintet_api::mlflow::MLflow;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// The token that may do everything.
const ADMIN: &str = "admin-token";
const EXAMPLE: &str = include_str!("../../../../examples/mlflow/minimal.yaml");

pub(crate) struct Cluster {
    pub(crate) plane: Plane,
    pub(crate) client: Client,
    pub(crate) folder: TempDir,
    _stop: tokio_util::sync::DropGuard,
}

impl Cluster {
    /// An API server with the operators' namespace, and none of their kinds.
    pub(crate) async fn bare() -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let security = Security::enforced()
            .token(ADMIN, User::admin())
            .token("scraper", User::new("scraper", ["system:authenticated"]))
            .token("nobody", User::new("nobody", ["system:authenticated"]))
            .token("fused", User::service_account("opendatahub", "quintet"))
            .token(
                "split",
                User::service_account("opendatahub", "model-registry-operator-controller-manager"),
            );
        let plane = Plane::builder().security(security).workloads(Workloads::new()).build();
        let authority = Arc::new(Authority::new("test").unwrap());
        let tls = authority.tls(&authority.server(&["127.0.0.1"]).unwrap()).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://{}", listener.local_addr().unwrap());
        let stop = CancellationToken::new();
        tokio::spawn({
            let (plane, stop) = (plane.clone(), stop.clone());
            async move { plane.serve(listener, Some(tls), stop).await }
        });
        let folder = tempfile::tempdir().unwrap();
        quintet::local::kubeconfig::write(&folder.path().join("kubeconfig"), &url, &authority.pem(), ADMIN)
            .unwrap();
        let client = plane.client_as(User::admin());
        let cluster = Cluster { plane, client, folder, _stop: stop.drop_guard() };
        cluster.namespace("opendatahub").await;
        cluster
    }

    /// The same with the MLflow operator's kinds.
    pub(crate) async fn with_mlflow() -> Self {
        let cluster = Cluster::bare().await;
        cluster.install_mlflow().await;
        cluster
    }

    pub(crate) async fn install_mlflow(&self) {
        let api: Api<CustomResourceDefinition> = Api::all(self.client.clone());
        for definition in quintet_api::mlflow::crds() {
            let name = definition.name_any();
            api.create(&PostParams::default(), &definition).await.unwrap();
            await_condition(api.clone(), &name, conditions::is_crd_established()).await.unwrap();
        }
    }

    pub(crate) async fn create_mlflow(&self) {
        let mlflow: MLflow = serde_saphyr::from_str(EXAMPLE).unwrap();
        let api: Api<MLflow> = Api::all(self.client.clone());
        api.create(&PostParams::default(), &mlflow).await.unwrap();
    }

    /// Lets the user `scraper` read `/metrics`, as the original's metrics-reader role does.
    pub(crate) async fn let_scraper_read(&self) {
        let role = json!({"metadata": {"name": "metrics-reader"},
            "rules": [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]});
        let binding = json!({"metadata": {"name": "metrics-reader"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "metrics-reader"},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "scraper"}]});
        let role: ClusterRole = serde_json::from_value(role).unwrap();
        let binding: ClusterRoleBinding = serde_json::from_value(binding).unwrap();
        Api::all(self.client.clone()).create(&PostParams::default(), &role).await.unwrap();
        Api::all(self.client.clone()).create(&PostParams::default(), &binding).await.unwrap();
    }

    pub(crate) async fn lease(&self, name: &str) -> Option<LeaseSpec> {
        let api: Api<Lease> = Api::namespaced(self.client.clone(), "opendatahub");
        api.get_opt(name).await.unwrap().and_then(|lease| lease.spec)
    }

    /// Somebody else holds a lease.
    pub(crate) async fn hold(&self, name: &str, holder: &str) {
        let lease = json!({"metadata": {"name": name}, "spec": {"holderIdentity": holder, "leaseDurationSeconds": 60,
            "leaseTransitions": 3, "renewTime": "2026-01-01T00:00:00.000000Z"}});
        let lease: Lease = serde_json::from_value(lease).unwrap();
        let api: Api<Lease> = Api::namespaced(self.client.clone(), "opendatahub");
        api.create(&PostParams::default(), &lease).await.unwrap();
    }

    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("kubeconfig")
    }

    /// The same with another token.
    pub(crate) fn kubeconfig_with(&self, token: &str) -> PathBuf {
        let (own, path) = (self.kubeconfig(), self.folder.path().join(format!("kubeconfig-{token}")));
        std::fs::write(&path, std::fs::read_to_string(own).unwrap().replace(ADMIN, token)).unwrap();
        path
    }

    pub(crate) async fn namespace(&self, name: &str) {
        let mut namespace = Namespace::default();
        namespace.metadata.name = Some(name.into());
        Api::all(self.client.clone()).create(&PostParams::default(), &namespace).await.unwrap();
    }

    /// Applies what `quintet install` prints with these flags and settings; gives the objects.
    pub(crate) fn install(&self, flags: &[&str], settings: &[(&str, &str)]) -> Vec<Value> {
        let quintet = |arguments: &[&str]| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_quintet"));
            command.env_clear().envs(settings.iter().copied()).current_dir(self.folder.path());
            let done = command.args(arguments).output().unwrap();
            assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
            done.stdout
        };
        let printed = quintet(&[&["install", "-o", "json"], flags].concat());
        let objects: Vec<Value> = serde_json::from_slice(&printed).unwrap();
        let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
        std::fs::write(self.folder.path().join("install.json"), list.to_string()).unwrap();
        quintet(&["--kubeconfig", self.kubeconfig().to_str().unwrap(), "apply", "-f", "install.json"]);
        objects
    }

    /// True if somebody wrote an object of this kind since the mark.
    pub(crate) fn wrote(&self, mark: u64, resource: &str) -> bool {
        self.plane.requests().writes(mark).iter().any(|request| request.resource == resource)
    }
}
