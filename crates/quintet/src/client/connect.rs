//! From flags to a connection.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

use crate::errors::{Exit, Refusal, words};

/// Where `quintet up` leaves its kubeconfig unless told otherwise, below the working directory.
pub const LOCAL_KUBECONFIG: &str = ".quintet/kubeconfig";

/// Which API server to talk to.
#[derive(Args, Clone, Debug, Default)]
pub struct Server {
    /// Path of a kubeconfig [default: KUBECONFIG, then .quintet/kubeconfig of a running `quintet up`, then ~/.kube/config]
    #[arg(long, value_name = "PATH", global = true, help_heading = "Which API server")]
    pub kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig
    #[arg(long, value_name = "NAME", global = true, help_heading = "Which API server")]
    pub context: Option<String>,
}

impl Server {
    /// A client for the server that the flags, the environment or a running `quintet up` name.
    pub async fn connect(&self) -> Result<Client> {
        let config = self.config().await?;
        Client::try_from(config).context("setting up the connection")
    }

    /// The connection's settings, not yet connected.
    pub async fn config(&self) -> Result<Config> {
        let options = KubeConfigOptions { context: self.context.clone(), ..Default::default() };
        if let Some(path) = self.file() {
            return from_file(&path, &options).await;
        }
        let found = if self.context.is_some() {
            Config::from_kubeconfig(&options).await.map_err(anyhow::Error::from)
        } else {
            Config::infer().await.map_err(anyhow::Error::from)
        };
        found
            .map_err(|error| unreachable(format!("no API server is configured: {error:#}"), ELSEWHERE).into())
    }

    /// The file to read, if flags or a local `quintet up` decide it; `None` leaves it to the usual search.
    fn file(&self) -> Option<PathBuf> {
        let local = || {
            let unset = std::env::var_os("KUBECONFIG").is_none() && self.context.is_none();
            (unset && Path::new(LOCAL_KUBECONFIG).exists()).then(|| PathBuf::from(LOCAL_KUBECONFIG))
        };
        self.kubeconfig.clone().or_else(local)
    }
}

const ELSEWHERE: &str = "`quintet up` starts a local API server; --kubeconfig PATH names another";

async fn from_file(path: &Path, options: &KubeConfigOptions) -> Result<Config> {
    let name = path.display();
    if !path.exists() {
        return Err(unreachable(format!("kubeconfig {name} does not exist"), ELSEWHERE).into());
    }
    let kubeconfig = Kubeconfig::read_from(path).map_err(|error| {
        let error = anyhow::Error::new(error);
        unreachable(format!("kubeconfig {name} cannot be used: {}", words(&error)), ELSEWHERE)
    })?;
    let contexts: Vec<String> = kubeconfig.contexts.iter().map(|context| context.name.clone()).collect();
    if let Some(wanted) = options.context.as_ref().filter(|wanted| !contexts.contains(wanted)) {
        return Err(unreachable(
            format!("kubeconfig {name} has no context {wanted:?}"),
            &format!("--context with one of {}", contexts.join(", ")),
        )
        .into());
    }
    Config::from_custom_kubeconfig(kubeconfig, options).await.map_err(|error| {
        let error = anyhow::Error::new(error);
        unreachable(format!("kubeconfig {name} cannot be used: {}", words(&error)), ELSEWHERE).into()
    })
}

fn unreachable(what: String, next: &str) -> Refusal {
    Refusal::new(Exit::Unreachable, what).next(next)
}
