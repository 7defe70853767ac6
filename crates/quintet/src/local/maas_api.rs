//! maas-api inside `quintet up`: on a loopback port, with its keys in an SQLite file.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::{Api, Client};
use quintet_kit::Clock;
use quintet_maas_api::server::{Listener, ServeError};
use quintet_maas_api::{Embedded, Options};
use serde_json::json;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::prerequisites::{apply, define};

/// The ServiceAccount that it runs as, and the name of its rights: as on a cluster.
pub const ACCOUNT: &str = "maas-api";

/// Where its subscriptions live.
const SUBSCRIPTIONS: &str = "models-as-a-service";

/// How long it may take to read what there is.
const PATIENCE: Duration = Duration::from_secs(20);

/// What it expects to find: the definitions of its kinds, a namespace for subscriptions, an account with its rights.
pub async fn install(client: &Client, namespace: &str) -> Result<()> {
    let home = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SUBSCRIPTIONS}});
    apply(&Api::<Namespace>::all(client.clone()), SUBSCRIPTIONS, &home).await?;
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": ACCOUNT}});
    apply(&Api::<ServiceAccount>::namespaced(client.clone(), namespace), ACCOUNT, &account).await?;
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": ACCOUNT},
        "rules": [
            {"apiGroups": ["authorization.k8s.io"], "resources": ["subjectaccessreviews"], "verbs": ["create"]},
            {
                "apiGroups": ["maas.opendatahub.io"], "resources": ["maasmodelrefs", "maassubscriptions"],
                "verbs": ["get", "list", "watch"],
            },
        ],
    });
    apply(&Api::<ClusterRole>::all(client.clone()), ACCOUNT, &role).await?;
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": ACCOUNT},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": ACCOUNT},
        "subjects": [{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": namespace}],
    });
    apply(&Api::<ClusterRoleBinding>::all(client.clone()), ACCOUNT, &binding).await?;
    futures::future::try_join_all(
        quintet_api::maas::crds().into_iter().map(|definition| define(client, definition)),
    )
    .await?;
    Ok(())
}

/// The running service.
pub struct MaasApi {
    embedded: Embedded,
    address: SocketAddr,
    serving: JoinHandle<Result<(), ServeError>>,
    file: PathBuf,
}

impl MaasApi {
    /// Starts it, with no keys, and waits until it has read what there is.
    pub async fn start(client: Client, file: PathBuf, stop: &CancellationToken) -> Result<Self> {
        remove(&file); // of a cluster that was killed, and whose subscriptions are gone
        let options = Options::default();
        let embedded = Embedded::start(client, SUBSCRIPTIONS, &file, options, Clock::system())
            .await
            .context("maas-api")?;
        tokio::time::timeout(PATIENCE, embedded.synced())
            .await
            .context("maas-api could not read subscriptions and models")?;
        let listener = Listener::bind("127.0.0.1:0").await?;
        let address = listener.address()?;
        let serving = tokio::spawn(listener.serve(embedded.router.clone(), stop.clone()));
        Ok(MaasApi { embedded, address, serving, file })
    }

    /// Where it answers.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Waits for requests to end after the stop, and leaves nothing behind.
    pub async fn ended(self) -> Result<()> {
        let served = self.serving.await.context("maas-api ended badly")?;
        self.embedded.stop().await;
        remove(&self.file);
        Ok(served?)
    }
}

/// Removes the file and what SQLite keeps beside it. What is not there need not go.
fn remove(file: &std::path::Path) {
    for suffix in ["", "-wal", "-shm"] {
        let mut name = file.as_os_str().to_owned();
        name.push(suffix);
        let _ = std::fs::remove_file(name);
    }
}
