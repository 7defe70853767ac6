//! A real Kubernetes control plane on loopback: etcd, kube-apiserver, kube-controller-manager, kube-scheduler, and kwok,
//! which plays the nodes so that pods run and Deployments become available.
//!
//! The programs are those that `hack/kube/build` made; the certificates, keys and data are this instance's own and go with
//! it. RBAC is on, as is every default of the real server: what a test sees here is what a cluster does.

pub mod audit;
mod components;
mod identity;
mod nodes;
mod tools;

use std::{path::PathBuf, time::Duration};

use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use tokio::sync::OnceCell;

pub use self::tools::Tools;
use self::{components::Components, identity::Authority};
use crate::{Error, Scratch};

/// A running control plane. Everything ends when it is dropped, or with the process.
#[derive(Debug)]
pub struct Cluster {
    tools: Tools,
    authority: Authority,
    components: Components,
    // Last: fields are dropped in order, and the processes must be gone before their directory.
    scratch: Scratch,
}

impl Cluster {
    /// The control plane that all tests of this process share, started on first use.
    ///
    /// # Errors
    /// The programs are missing, or one of them does not come up.
    pub async fn shared() -> Result<&'static Cluster, Error> {
        static SHARED: OnceCell<Cluster> = OnceCell::const_new();
        SHARED.get_or_try_init(Cluster::start).await
    }

    /// Starts a control plane of its own, ready to use: the `default` namespace has its service account and two nodes are
    /// ready.
    ///
    /// # Errors
    /// As for [`Cluster::shared`].
    pub async fn start() -> Result<Cluster, Error> {
        Cluster::begin(None).await
    }

    /// The same, whose API server writes down every request of this user (see [`Cluster::audit`]), and asks for every right
    /// that one may have to hold.
    ///
    /// # Errors
    /// As for [`Cluster::shared`].
    pub async fn auditing(user: &str) -> Result<Cluster, Error> {
        Cluster::begin(Some(user.to_owned())).await
    }

    async fn begin(audited: Option<String>) -> Result<Cluster, Error> {
        let tools = Tools::find()?;
        let scratch = Scratch::new("quintet-kube-")?;
        let authority = Authority::new(scratch.path())?;
        let starting = (tools.clone(), scratch.path().to_path_buf());
        let (components, authority) = tokio::task::spawn_blocking(move || {
            let (tools, directory) = starting;
            let components = Components::start(&tools, &authority, &directory, audited.as_deref())?;
            Ok::<_, Error>((components, authority))
        })
        .await
        .expect("starting does not panic")?;
        let cluster = Cluster { tools, authority, components, scratch };
        nodes::ready(&cluster.client().await?, Duration::from_secs(60), || cluster.components.kwok_log())
            .await?;
        Ok(cluster)
    }

    /// What the API server wrote down, oldest first; nothing unless it was started by [`Cluster::auditing`].
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn audit(&self) -> Result<Vec<audit::Event>, Error> {
        audit::read(self.scratch.path())
    }

    /// The certificate of the API server's authority, as PEM.
    ///
    /// # Errors
    /// When the file is gone.
    pub fn certificate_authority(&self) -> Result<String, Error> {
        std::fs::read_to_string(&self.authority.certificate).map_err(Error::io("read the authority"))
    }

    /// Where the API server listens.
    pub fn url(&self) -> String {
        self.components.url()
    }

    /// A client with every right (group `system:masters`).
    ///
    /// # Errors
    /// When the certificate cannot be made.
    pub async fn client(&self) -> Result<Client, Error> {
        self.client_for("admin", &["system:masters"]).await
    }

    /// A client for any user in any groups, by client certificate.
    ///
    /// # Errors
    /// When the certificate cannot be made.
    pub async fn client_for(&self, user: &str, groups: &[&str]) -> Result<Client, Error> {
        let config = self.authority.kubeconfig(&self.url(), user, groups)?;
        client(config).await
    }

    /// The path of a kubeconfig file for that user, for programs such as kubectl.
    ///
    /// # Errors
    /// When the certificate or the file cannot be made.
    pub fn kubeconfig_for(&self, user: &str, groups: &[&str]) -> Result<PathBuf, Error> {
        let path = self.scratch.path().join(format!("{}.kubeconfig", user.replace([':', '/'], "-")));
        self.authority.write_kubeconfig(&path, &self.url(), user, groups)?;
        Ok(path)
    }

    /// The path of the admin's kubeconfig file.
    ///
    /// # Errors
    /// As for [`Cluster::kubeconfig_for`].
    pub fn kubeconfig(&self) -> Result<PathBuf, Error> {
        self.kubeconfig_for("admin", &["system:masters"])
    }

    /// Lets new pods onto the nodes, or keeps them out (as `kubectl cordon` does): a pod that is not scheduled does not
    /// become ready, so a test decides when a Deployment is.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn schedule_pods(&self, allowed: bool) -> Result<(), Error> {
        nodes::open(&self.client().await?, allowed).await
    }

    /// The programs this cluster was started from; kubectl is one of them.
    pub fn tools(&self) -> &Tools {
        &self.tools
    }
}

/// A client for a kubeconfig, with TLS set up.
async fn client(kubeconfig: Kubeconfig) -> Result<Client, Error> {
    // A second call, or another crate that was first with the same provider, is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
        .await
        .map_err(|error| kube::Error::Service(Box::new(error)))?;
    // A test wants to see the refusal, not to wait until kube has tried it fifteen times.
    config.default_retry = false;
    Ok(Client::try_from(config)?)
}
