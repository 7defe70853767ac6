//! `quintet run`: the operators, on a cluster.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use jiff::SignedDuration;
use quintet_kit::serve::TlsFiles;
use quintet_kit::webhook::authority::Lives;

use crate::client::connect::Server;
use crate::commands::install::process;
use crate::operate::Operators;
use crate::operate::webhooks::WebhookPort;
use crate::serve::Ports;
use crate::signals;
use crate::systems::{Systems, home_namespace};
use crate::telemetry::{LogArgs, Telemetry};

const EXAMPLES: &str = "\
Examples:
  quintet run                                  # every system, against the current kubeconfig or cluster
  quintet run --operators mlflow
  curl localhost:8081/readyz/mlflow            # is that system ready?
  curl localhost:8080/metrics";

/// Flags of `quintet run`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Run only these systems
    #[arg(long, value_delimiter = ',', value_name = "SYSTEM,…")]
    pub operators: Vec<String>,
    /// Where the operators' own objects and leases live
    #[arg(short, long, default_value_t = home_namespace(), value_name = "NAME")]
    pub namespace: String,
    /// How many reconciles run at once, of all controllers together
    #[arg(long, default_value_t = 32, value_name = "N")]
    pub workers: usize,
    /// Write without asking for each system's lease; only where nothing else can write
    #[arg(long)]
    pub no_leases: bool,
    /// How long each lease is good for without being renewed, for clusters whose API server is away for longer or that
    /// want a quicker takeover [default: the original's]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u16).range(3..=3600))]
    pub lease_duration: Option<u16>,
    /// Where /healthz, /readyz and a /readyz for each system are served; 0 for nowhere
    #[arg(long, default_value = "0.0.0.0:8081", value_name = "ADDRESS", help_heading = "Ports")]
    pub health_listen: String,
    /// Where /metrics is served over TLS, for those whom the cluster lets; 0 for nowhere
    #[arg(long, default_value = "0.0.0.0:8443", value_name = "ADDRESS", help_heading = "Ports")]
    pub metrics_listen: String,
    /// Folder with the tls.crt and tls.key of that, read again when they change [default: one made at start]
    #[arg(long, value_name = "PATH", help_heading = "Ports")]
    pub metrics_cert_dir: Option<PathBuf>,
    /// Where /metrics is served in plain text, for everybody who can reach it; 0 for nowhere
    #[arg(long, default_value = "127.0.0.1:8080", value_name = "ADDRESS", help_heading = "Ports")]
    pub plain_metrics_listen: String,
    /// Where webhooks are served over TLS, if a system has them; 0 for nowhere
    #[arg(long, default_value = "0.0.0.0:9443", value_name = "ADDRESS", help_heading = "Ports")]
    pub webhook_listen: String,
    /// Folder with the tls.crt and tls.key of that, read again when they change [default: signed by an authority of
    /// our own, kept in a Secret]
    #[arg(long, value_name = "PATH", help_heading = "Ports")]
    pub webhook_cert_dir: Option<PathBuf>,
    /// A name or address that the API server calls webhooks by, beside their Services'; for a certificate of our own
    #[arg(long, value_name = "HOST", help_heading = "Ports")]
    pub webhook_host: Vec<String>,
    /// How long an authority of our own is good for; it and what it signs are renewed at two thirds [default: a year]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(30..), help_heading = "Ports")]
    pub webhook_authority_life: Option<u32>,
    /// Logs.
    #[command(flatten)]
    pub logs: LogArgs,
}

impl Args {
    fn ports(&self) -> Ports {
        Ports {
            health: unless_off(&self.health_listen),
            always_ready: false,
            metrics: unless_off(&self.metrics_listen),
            certificate: self.metrics_cert_dir.as_deref().map(files),
            plain_metrics: unless_off(&self.plain_metrics_listen),
        }
    }

    fn webhooks(&self) -> Option<WebhookPort> {
        let certificate = self.webhook_cert_dir.as_deref().map(files);
        let life = self.webhook_authority_life.map(|seconds| SignedDuration::from_secs(seconds.into()));
        unless_off(&self.webhook_listen).map(|address| WebhookPort {
            address,
            certificate,
            namespace: self.namespace.clone(),
            secret: process("").webhook_secret(),
            hosts: self.webhook_host.clone(),
            lives: life.map_or_else(Lives::default, Lives::lasting),
        })
    }
}

fn unless_off(address: &str) -> Option<String> {
    (address != "0").then(|| address.to_owned())
}

/// The files of a mounted Secret.
fn files(folder: &Path) -> TlsFiles {
    TlsFiles { certificate: folder.join("tls.crt"), key: folder.join("tls.key") }
}

/// Runs until SIGTERM or Ctrl-C.
pub async fn run(server: &Server, args: Args) -> Result<()> {
    let _telemetry = Telemetry::start(&args.logs)?;
    let stop = signals::stop_token()?;
    let operators = Operators {
        systems: Systems::new(&args.namespace)?.only(&args.operators)?,
        server: server.config().await?,
        leases: (!args.no_leases).then(|| args.namespace.clone()),
        lease_lasts: args.lease_duration.map(|seconds| Duration::from_secs(seconds.into())),
        workers: args.workers,
        ports: args.ports(),
        webhooks: args.webhooks(),
    };
    operators.run(stop).await
}
