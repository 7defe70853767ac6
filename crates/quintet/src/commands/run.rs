//! `quintet run`: the operators, on a cluster.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result};
use kube::client::ClientBuilder;
use quintet_kit::fence::Fence;
use quintet_kit::metrics::Metrics;
use quintet_kit::run::{Manager, Settings};

use crate::client::connect::Server;
use crate::errors::{Exit, Refusal};
use crate::systems::{Systems, home_namespace};
use crate::telemetry::{LogArgs, Telemetry};
use crate::{serve, signals};

/// Reconciles that were begun get this long to finish; less than a pod's usual grace period of 30 s.
const GRACE: Duration = Duration::from_secs(25);

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
    /// Where the operators' own objects live
    #[arg(short, long, default_value_t = home_namespace(), value_name = "NAME")]
    pub namespace: String,
    /// Where /healthz, /readyz and a /readyz for each system are served
    #[arg(long, default_value = "0.0.0.0:8081", value_name = "ADDRESS")]
    pub health_listen: SocketAddr,
    /// Where /metrics is served, in plain text
    #[arg(long, default_value = "127.0.0.1:8080", value_name = "ADDRESS")]
    pub metrics_listen: SocketAddr,
    /// How many reconciles run at once, of all controllers together
    #[arg(long, default_value_t = 32, value_name = "N")]
    pub workers: usize,
    /// Logs.
    #[command(flatten)]
    pub logs: LogArgs,
}

/// Runs until SIGTERM or Ctrl-C.
pub async fn run(server: &Server, args: Args) -> Result<()> {
    let _telemetry = Telemetry::start(&args.logs)?;
    let stop = signals::stop_token()?;
    let systems = Systems::new(&args.namespace)?.only(&args.operators)?;
    let metrics = Metrics::new();
    let client = ClientBuilder::try_from(server.config().await?)
        .context("setting up the connection")?
        .with_layer(&metrics.rest())
        .build();
    let instance =
        std::env::var("POD_NAME").or_else(|_| std::env::var("HOSTNAME")).unwrap_or("quintet".into());
    let settings = Settings { instance, workers: args.workers, ..Settings::default() };
    let mut manager = Manager::new(client, metrics.clone(), settings);
    for system in systems.iter() {
        manager = manager.with(system.clone(), Fence::open());
    }
    let serving = stop.child_token();
    let readiness = manager.readiness();
    let health = serve::health(move || readiness.all());
    serve::listen(args.health_listen, health, serving.clone()).await?;
    serve::listen(args.metrics_listen, serve::metrics(metrics), serving).await?;
    let stopping = stop.clone();
    let running = tokio::spawn(manager.run(stop));
    stopping.cancelled().await;
    match tokio::time::timeout(GRACE, running).await {
        Ok(ended) => ended.context("the operators ended badly"),
        Err(_) => Err(Refusal::new(Exit::Failed, format!("some reconciles did not finish within {GRACE:?}"))
            .next("the log above names them; what they left half done is taken up at the next start")
            .into()),
    }
}
