//! `quintet up`: a working platform with no cluster.

mod ready;
mod summary;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use plane::Plane;
use plane::hooks::User;
use plane::listen::Authority;
use plane::security::Security;
use plane::workloads::Workloads;
use quintet_kit::fence::Fence;
use quintet_kit::metrics::Metrics;
use quintet_kit::run::{Manager, Settings};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::client::connect::{LOCAL_KUBECONFIG, Server};
use crate::commands::apply;
use crate::errors::{Exit, Refusal};
use crate::local::instance::Instance;
use crate::local::maas_api::{self, MaasApi};
use crate::local::standins::Platform;
use crate::local::{kubeconfig, prerequisites, service_ca};
use crate::output::Format;
use crate::systems::{Systems, home_namespace};
use crate::telemetry::{LogArgs, Telemetry};
use crate::{serve, signals};

const GRACE: Duration = Duration::from_secs(10);

const EXAMPLES: &str = "\
Examples:
  quintet up                                           # then, in another terminal: quintet get
  quintet up --apply examples/mlflow/minimal.yaml      # and show how it becomes ready
  quintet up --platform openshift                      # as if on OpenShift: Routes, ConsoleLinks
  quintet up --operators none                          # a bare Kubernetes API
  quintet up -o json --kubeconfig /tmp/k               # for scripts: one line once it is ready";

/// Flags of `quintet up`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Run only these systems; none for a bare Kubernetes API
    #[arg(long, value_delimiter = ',', value_name = "SYSTEM,…|none")]
    pub operators: Vec<String>,
    /// Which foreign kinds exist
    #[arg(long, value_enum, default_value_t)]
    pub platform: Platform,
    /// Where the API server listens; port 0 takes a free one
    #[arg(long, default_value = "127.0.0.1:0", value_name = "ADDRESS")]
    pub listen: SocketAddr,
    /// Manifests to apply once it is up; then shows how they become ready
    #[arg(long, value_name = "PATH", num_args = 1..)]
    pub apply: Vec<PathBuf>,
    /// How long --apply waits for everything to be ready, in seconds
    #[arg(long, default_value_t = 60, value_name = "SECONDS")]
    pub timeout: u64,
    /// Where the operators' own objects live
    #[arg(short, long, default_value_t = home_namespace(), value_name = "NAME")]
    pub namespace: String,
    /// json: one line once it is ready, for scripts
    #[arg(short, long, value_enum)]
    pub output: Option<Format>,
    /// How logs look and what is logged; only warnings, unless told otherwise
    #[command(flatten)]
    pub logs: LogArgs,
}

/// Starts everything, tells what to try, and runs until SIGTERM or Ctrl-C.
pub async fn run(server: &Server, mut args: Args) -> Result<()> {
    let began = Instant::now();
    if args.logs.log == LogArgs::USUAL {
        args.logs.log = "warn".into(); // a person at a terminal wants the summary, not the log
    }
    let _telemetry = Telemetry::start(&args.logs)?;
    let stop = signals::stop_token()?;
    let path = server.kubeconfig.clone().unwrap_or_else(|| PathBuf::from(LOCAL_KUBECONFIG));
    let systems = enabled(&args)?;
    let mut instance = Instance::claim(&path)?;

    let cluster = Cluster::start(&args, &stop).await?;
    kubeconfig::write(&path, &cluster.url, &cluster.authority.pem(), &cluster.token)?;
    instance.announce(&cluster.url)?;
    let client = cluster.plane.client();
    prerequisites::install(&client, &systems, args.platform, &args.namespace).await?;
    tokio::spawn(service_ca::run(client.clone(), cluster.authority.clone(), stop.clone()));
    let operators = Operators::start(&cluster.plane, &systems, &args.namespace, &stop).await?;
    operators.ready(&stop).await?;
    let maas_api = match args.operators.is_empty() || args.operators.iter().any(|name| name == "maas") {
        true => Some(cluster.maas_api(&args.namespace, path.with_file_name("maas-api.db"), &stop).await?),
        false => None,
    };

    let facts = summary::Facts {
        kubeconfig: path.clone(),
        apiserver: cluster.url.clone(),
        readiness: operators.readiness.clone(),
        health: operators.health,
        metrics: operators.metrics,
        maas_api: maas_api.as_ref().map(MaasApi::url),
        took: began.elapsed(),
    };
    summary::print(&facts, args.output)?;
    if !args.apply.is_empty() {
        let options = apply::Options { namespace: "default".into(), ..apply::Options::default() };
        let applied = apply::apply_all(&client, &args.apply, &options).await?;
        ready::follow(&client, &systems, applied, Duration::from_secs(args.timeout), &stop).await?;
    }

    stop.cancelled().await;
    tokio::time::timeout(GRACE, async { tokio::join!(operators.task, cluster.task) })
        .await
        .map_err(|_| Refusal::new(Exit::Failed, format!("not everything stopped within {GRACE:?}")))?
        .0
        .context("the operators ended badly")?;
    if let Some(maas_api) = maas_api {
        maas_api.ended().await?;
    }
    std::fs::remove_file(&path).ok(); // nothing listens there any more
    Ok(())
}

fn enabled(args: &Args) -> Result<Systems> {
    if args.operators == ["none"] {
        return Ok(Systems::none());
    }
    Systems::new(&args.namespace)?.only(&args.operators)
}

/// The plane, on a socket.
struct Cluster {
    plane: Plane,
    url: String,
    authority: Arc<Authority>,
    token: String,
    task: JoinHandle<std::io::Result<()>>,
}

impl Cluster {
    async fn start(args: &Args, stop: &CancellationToken) -> Result<Self> {
        let listener = TcpListener::bind(args.listen).await.with_context(|| {
            format!("listening on {}; --listen 127.0.0.1:0 takes a free port", args.listen)
        })?;
        let address = listener.local_addr()?;
        let authority = Arc::new(Authority::new("quintet-local")?);
        let host = address.ip().to_string();
        let names = [host.as_str(), "127.0.0.1", "localhost", "kubernetes", "kubernetes.default.svc"];
        let tls = authority.tls(&authority.server(&names)?)?;
        let token = uuid::Uuid::new_v4().simple().to_string();
        let security = Security::enforced().token(&token, User::admin());
        let plane = Plane::builder().security(security).workloads(Workloads::new()).build();
        let task = tokio::spawn({
            let (plane, stop) = (plane.clone(), stop.clone());
            async move { plane.serve(listener, Some(tls), stop).await }
        });
        Ok(Cluster { plane, url: format!("https://{address}"), authority, token, task })
    }

    /// maas-api beside the plane, with the rights that it has on a cluster.
    async fn maas_api(&self, namespace: &str, keys: PathBuf, stop: &CancellationToken) -> Result<MaasApi> {
        maas_api::install(&self.plane.client(), namespace).await?;
        let account = User::service_account(namespace, maas_api::ACCOUNT);
        MaasApi::start(self.plane.client_as(account), keys, stop).await
    }
}

/// The operators, in this process.
struct Operators {
    readiness: quintet_kit::run::Readiness,
    health: SocketAddr,
    metrics: SocketAddr,
    task: JoinHandle<()>,
}

impl Operators {
    async fn start(
        plane: &Plane,
        systems: &Systems,
        namespace: &str,
        stop: &CancellationToken,
    ) -> Result<Self> {
        let counted = Metrics::new();
        let client = plane.client_as(User::service_account(namespace, prerequisites::ACCOUNT));
        let mut manager = Manager::new(client, counted.clone(), Settings::default());
        for system in systems.iter() {
            manager = manager.with(system.clone(), Fence::open());
        }
        let readiness = manager.readiness();
        let anywhere = SocketAddr::from(([127, 0, 0, 1], 0));
        let health = serve::listen(anywhere, serve::health(readiness.clone()), stop.child_token()).await?;
        let metrics = serve::listen(anywhere, serve::metrics(counted), stop.child_token()).await?;
        Ok(Operators { readiness, health, metrics, task: tokio::spawn(manager.run(stop.clone())) })
    }

    /// Waits until every system runs.
    async fn ready(&self, stop: &CancellationToken) -> Result<()> {
        let waits = async {
            while !self.readiness.is_ready() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let limit = tokio::time::timeout(Duration::from_secs(20), waits);
        match stop.run_until_cancelled(limit).await {
            Some(Err(_)) => {
                let all = self.readiness.all();
                let lines: Vec<_> = all.iter().map(|(s, h)| format!("{s} is {}", serve::words(h))).collect();
                Err(Refusal::new(
                    Exit::NotReady,
                    format!("the operators did not start: {}", lines.join("; ")),
                )
                .into())
            }
            _ => Ok(()),
        }
    }
}
