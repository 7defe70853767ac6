//! Sockets.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use axum::Router;
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::{conn::auto, graceful::GracefulShutdown},
    service::TowerToHyperService,
};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use super::{TlsError, TlsSource, TlsVersion, tls};

/// How long an idle connection is kept, and how long a request's head may take: hyper has one timer for both.
const IDLE: Duration = Duration::from_secs(60);
/// How long a TLS handshake may take.
const HANDSHAKE: Duration = Duration::from_secs(5);
/// How large a request's head may be.
const LARGEST_HEAD: usize = 1 << 20;
/// How long running requests may take when the service stops.
const DRAIN: Duration = Duration::from_secs(15);

/// Why the service does not serve.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// No certificate.
    #[error("failed to create server: {0}")]
    Tls(#[from] TlsError),
    /// No socket.
    #[error("server failed to start: {0}")]
    Listen(io::Error),
    /// Requests did not end in time.
    #[error("server forced to shutdown: requests were still running after {} s", DRAIN.as_secs())]
    Forced,
}

/// A socket that listens, and the certificate it shows.
pub struct Listener {
    socket: TcpListener,
    tls: Option<TlsAcceptor>,
}

impl Listener {
    /// Listens on `host:port`; an empty host is every address.
    pub async fn bind(address: &str) -> Result<Self, ServeError> {
        Ok(Self { socket: listen(address).await.map_err(ServeError::Listen)?, tls: None })
    }

    /// The same with TLS. Certificate files are read again when they change, until `stop`.
    pub async fn bind_tls(
        address: &str,
        source: TlsSource,
        oldest: TlsVersion,
        stop: &CancellationToken,
    ) -> Result<Self, ServeError> {
        let config = tls::config(source, oldest, stop)?;
        let socket = listen(address).await.map_err(ServeError::Listen)?;
        Ok(Self { socket, tls: Some(TlsAcceptor::from(Arc::new(config))) })
    }

    /// Where it listens.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Serves until `stop`, then lets running requests end.
    pub async fn serve(self, service: Router, stop: CancellationToken) -> Result<(), ServeError> {
        let mut server = auto::Builder::new(TokioExecutor::new());
        server.http1().timer(TokioTimer::new()).header_read_timeout(IDLE).max_buf_size(LARGEST_HEAD);
        server
            .http2()
            .timer(TokioTimer::new())
            .keep_alive_interval(IDLE)
            .max_header_list_size(LARGEST_HEAD as u32)
            .max_concurrent_streams(1000);
        let (server, running) = (Arc::new(server), GracefulShutdown::new());
        while let Some(accepted) = stop.run_until_cancelled(self.socket.accept()).await {
            let (stream, _) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Out of file descriptors, most likely: running connections have to end first.
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            };
            let _ = stream.set_nodelay(true);
            let (server, service, watcher) = (server.clone(), service.clone(), running.watcher());
            let tls = self.tls.clone();
            tokio::spawn(async move {
                let service = TowerToHyperService::new(service);
                let ended = match tls {
                    None => {
                        watcher
                            .watch(server.serve_connection(TokioIo::new(stream), service).into_owned())
                            .await
                    }
                    Some(tls) => {
                        let Some(stream) = handshake(&tls, stream).await else { return };
                        watcher
                            .watch(server.serve_connection(TokioIo::new(stream), service).into_owned())
                            .await
                    }
                };
                if let Err(error) = ended {
                    tracing::debug!(%error, "connection ended");
                }
            });
        }
        drop(self.socket);
        tokio::time::timeout(DRAIN, running.shutdown()).await.map_err(|_| ServeError::Forced)
    }
}

async fn handshake(
    tls: &TlsAcceptor,
    stream: TcpStream,
) -> Option<tokio_rustls::server::TlsStream<TcpStream>> {
    match tokio::time::timeout(HANDSHAKE, tls.accept(stream)).await {
        Ok(Ok(stream)) => Some(stream),
        Ok(Err(error)) => {
            tracing::debug!(%error, "TLS handshake failed");
            None
        }
        Err(_) => None,
    }
}

async fn listen(address: &str) -> io::Result<TcpListener> {
    match address.strip_prefix(':') {
        None => TcpListener::bind(address).await,
        // Every address of both families, or of the one there is.
        Some(port) => match TcpListener::bind(format!("[::]:{port}")).await {
            Err(error) if error.kind() != io::ErrorKind::AddrInUse => {
                TcpListener::bind(format!("0.0.0.0:{port}")).await
            }
            bound => bound,
        },
    }
}
