//! The process: three ports, the watches behind them, and an orderly end.
//!
//! | port | what | opens |
//! |---|---|---|
//! | metrics | `/metrics` | at once |
//! | health | `grpc.health.v1.Health` | at once; SERVING when ext_proc is |
//! | ext_proc | `envoy.service.ext_proc.v3.ExternalProcessor` | when the stores are filled: an early request would pass untranslated and without its key |

mod health;
mod metrics_port;

pub use quintet_kit::serve::Access as MetricsAccess;

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use envoy_types::pb::envoy::service::ext_proc::v3::external_processor_server::ExternalProcessorServer;
use kube::Client;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Identity as TlsIdentity, Server as GrpcServer, ServerTlsConfig};

use crate::chain::Chain;
use crate::config::PluginSpec;
use crate::extproc::{BodyMode, Limits, Service, Settings};
use crate::metrics::Metrics;
use crate::plugins::{BuildError, Parts};
use crate::stores::Stores;
use crate::tls::Identity;
use crate::traces::Tracer;
use crate::watch::{Needs, Watches};

/// What a server is made of.
#[derive(Debug)]
pub struct Options {
    /// The plugins, in order.
    pub plugins: Vec<PluginSpec>,
    /// The body mode to assume when Envoy does not say.
    pub mode: BodyMode,
    /// Bounds on bodies.
    pub limits: Limits,
    /// TLS for ext_proc, if any.
    pub identity: Option<Identity>,
    /// Who may read the metrics.
    pub metrics_access: MetricsAccess,
    /// Whether `/debug/pprof` explains itself instead of not being there.
    pub pprof: bool,
}

/// The sockets to serve on.
#[derive(Debug)]
pub struct Listeners {
    /// ext_proc
    pub grpc: TcpListener,
    /// health
    pub health: TcpListener,
    /// metrics
    pub metrics: TcpListener,
}

/// Why the server cannot run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A plugin is not usable.
    #[error(transparent)]
    Plugin(#[from] BuildError),
    /// A port cannot be had.
    #[error("cannot listen on port {port}: {source}")]
    Listen {
        /// The port.
        port: u16,
        /// Why.
        source: std::io::Error,
    },
    /// gRPC does not start, mostly because of a certificate.
    #[error("gRPC server: {0}")]
    Grpc(#[from] tonic::transport::Error),
    /// The metrics server fails.
    #[error("metrics server: {0}")]
    Metrics(std::io::Error),
}

impl Listeners {
    /// Listens on all addresses, IPv6 and IPv4.
    pub async fn bind([grpc, health, metrics]: [u16; 3]) -> Result<Listeners, Error> {
        Ok(Listeners {
            grpc: listen(grpc).await?,
            health: listen(health).await?,
            metrics: listen(metrics).await?,
        })
    }

    /// Listens on free loopback ports.
    pub async fn loopback() -> std::io::Result<Listeners> {
        let free = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
        Ok(Listeners { grpc: free().await?, health: free().await?, metrics: free().await? })
    }
}

async fn listen(port: u16) -> Result<TcpListener, Error> {
    match TcpListener::bind(SocketAddr::from((Ipv6Addr::UNSPECIFIED, port))).await {
        Ok(listener) => Ok(listener),
        // A machine without IPv6.
        Err(error) if error.kind() != std::io::ErrorKind::AddrInUse => {
            let any = SocketAddr::from((Ipv4Addr::UNSPECIFIED, port));
            TcpListener::bind(any).await.map_err(|source| Error::Listen { port, source })
        }
        Err(source) => Err(Error::Listen { port, source }),
    }
}

/// A server that has not started yet: its plugins are built and its stores are empty.
#[derive(Debug)]
pub struct Server {
    options: Options,
    settings: Settings,
    stores: Arc<Stores>,
    metrics: Metrics,
    tracer: Option<Tracer>,
}

impl Server {
    /// Builds the plugins.
    pub fn new(options: Options) -> Result<Server, Error> {
        crate::tls::install_crypto();
        let parts = Parts::default();
        let chain = Arc::new(Chain::build(&options.plugins, &parts)?);
        let settings = Settings { limits: options.limits.clone(), ..Settings::new(chain, options.mode) };
        Ok(Server { options, settings, stores: parts.stores, metrics: parts.metrics, tracer: None })
    }

    /// The same with a span for every request.
    pub fn traced(self, tracer: Option<Tracer>) -> Server {
        Server { tracer, ..self }
    }

    /// What the plugins look things up in.
    pub fn stores(&self) -> &Arc<Stores> {
        &self.stores
    }

    /// Serves until `stop`, then waits for open streams. Watches run if there is a client to watch with.
    pub async fn serve(
        self,
        listeners: Listeners,
        client: Option<(Client, Option<String>)>,
        stop: CancellationToken,
    ) -> Result<(), Error> {
        let Listeners { grpc, health, metrics } = listeners;
        let tasks = TaskTracker::new();
        let health_state = health::State::default();

        let health_server = GrpcServer::builder()
            .add_service(health_state.service())
            .serve_with_incoming_shutdown(TcpIncoming::from(health), stop.clone().cancelled_owned());
        let metrics_router = metrics_port::router(
            self.metrics.clone(),
            self.options.metrics_access.clone(),
            self.options.pprof,
        );
        let metrics_server =
            axum::serve(metrics, metrics_router).with_graceful_shutdown(stop.clone().cancelled_owned());

        let needs = Needs::of(&self.options.plugins);
        let mut watches = client.map(|(client, namespace)| {
            Watches::start(&client, namespace.as_deref(), needs, &self.stores, &tasks, &stop)
        });
        let mut builder = GrpcServer::builder()
            .max_concurrent_streams(MAX_STREAMS)
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .http2_keepalive_interval(Some(Duration::from_secs(30)));
        if let Some(Identity { certificate, key }) = &self.options.identity {
            builder = builder
                .tls_config(ServerTlsConfig::new().identity(TlsIdentity::from_pem(certificate, key)))?;
        }
        let largest = self.settings.limits.max_body + MESSAGE_OVERHEAD;
        let service = Service::new(self.settings).traced(self.tracer);
        let service = ExternalProcessorServer::new(service).max_decoding_message_size(largest);
        let ext_proc = async {
            if let Some(watches) = &mut watches {
                tokio::select! {
                    () = watches.synced() => {}
                    () = stop.cancelled() => return Ok(()),
                }
            }
            health_state.serving();
            tracing::info!(
                models = self.stores.models.len(),
                credentials = self.stores.credentials.len(),
                "serving"
            );
            let incoming = TcpIncoming::from(grpc).with_nodelay(Some(true));
            builder
                .add_service(service)
                .serve_with_incoming_shutdown(incoming, stop.clone().cancelled_owned())
                .await
        };

        let health_server = async { health_server.await.map_err(Error::Grpc) };
        let metrics_server = async { metrics_server.await.map_err(Error::Metrics) };
        let ext_proc = async { ext_proc.await.map_err(Error::Grpc) };
        let served = futures::try_join!(health_server, metrics_server, ext_proc).map(|_| ());
        stop.cancel();
        tasks.close();
        tasks.wait().await;
        served
    }
}

/// Every open response holds a stream, and answers of models take long.
const MAX_STREAMS: u32 = 65_536;
/// How much of one body may be on its way to us.
const STREAM_WINDOW: u32 = 256 * 1024;
/// How much of all bodies on one connection.
const CONNECTION_WINDOW: u32 = 4 * 1024 * 1024;
/// What a message has besides its body.
const MESSAGE_OVERHEAD: usize = 64 * 1024;
