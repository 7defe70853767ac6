//! `quintet up`: a working platform with no cluster.

mod operators;
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
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::client::connect::{LOCAL_KUBECONFIG, Server};
use crate::client::manifests;
use crate::commands::apply;
use crate::errors::{Exit, Refusal};
use crate::local::instance::Instance;
use crate::local::maas_api::{self, MaasApi};
use crate::local::parts::Parts;
use crate::local::standins::Platform;
use crate::local::{kubeconfig, prerequisites, service_ca};
use crate::output::{self, Format};
use crate::signals;
use crate::systems::{Systems, home_namespace};
use crate::telemetry::{LogArgs, Telemetry};
use operators::Operators;

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
    /// Let the annotation local.quintet.dev/script of a Pod name a process of this machine to run
    ///
    /// Whoever may create Pods may then run anything as you.
    #[arg(long)]
    pub allow_processes: bool,
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
    // A file that cannot be read is told before anything starts.
    let manifests = manifests::read(&args.apply)?;
    let mut instance = Instance::claim(&path)?;

    let parts = Parts::new(&args.namespace, systems.iter().map(|system| system.name()));
    let cluster = Cluster::start(&args, &parts, &stop).await?;
    kubeconfig::write(&path, &cluster.url, &cluster.authority.pem(), &cluster.token)?;
    instance.announce(&cluster.url)?;
    let client = cluster.plane.client();
    prerequisites::install(&client, &systems, args.platform, &args.namespace).await?;
    tokio::spawn(service_ca::run(client.clone(), cluster.authority.clone(), stop.clone()));
    let operators = Operators::start(&cluster.plane, &systems, &args.namespace, &parts, &stop).await?;
    parts.install(&client).await?;
    operators.ready(&stop).await?;
    let maas_api = match args.operators.is_empty() || args.operators.iter().any(|name| name == "maas") {
        true => Some(cluster.maas_api(&args.namespace, path.with_file_name("maas-api.db"), &stop).await?),
        false => None,
    };

    let facts = summary::Facts {
        kubeconfig: path.clone(),
        apiserver: cluster.url.clone(),
        operators: operators.all(),
        health: operators.health,
        metrics: operators.metrics,
        maas_api: maas_api.as_ref().map(MaasApi::url),
        took: began.elapsed(),
    };
    // A script reads one line and nothing else; it comes when everything that was asked for has been tried.
    let progress: output::Progress = if args.output.is_some() { output::tell } else { output::print };
    if args.output.is_none() {
        summary::print(&facts, None)?;
    }
    let mut all_ready = true;
    if !manifests.is_empty() {
        let options = apply::Options { namespace: "default".into(), ..apply::Options::default() };
        let applied = apply::apply_all(&client, &manifests, &options, progress).await?;
        let limit = Duration::from_secs(args.timeout);
        all_ready = ready::follow(&client, &systems, applied, limit, &stop, progress).await?;
    }
    if args.output.is_some() {
        summary::print(&facts, args.output)?;
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
    if !all_ready {
        let told = "what was applied did not become ready in time; why was told when it was noticed";
        return Err(Refusal::new(Exit::NotReady, told).into());
    }
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
    async fn start(args: &Args, parts: &Parts, stop: &CancellationToken) -> Result<Self> {
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
        let parts = parts.clone();
        let workloads = Workloads::new()
            .root_ca(authority.pem())
            .processes(args.allow_processes)
            .backed(move |pod, _| parts.program(pod));
        let plane = Plane::builder().security(security).workloads(workloads).build();
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
