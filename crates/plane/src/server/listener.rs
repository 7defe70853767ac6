//! The API on a socket: HTTP/1.1 and 2, plain or with TLS.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use rustls::ServerConfig;
use rustls::pki_types::CertificateDer;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt;

use super::PlaneService;

/// How long a client may take for its handshake, and again for its request's head.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long connections may finish what they do after a stop.
const DRAIN: Duration = Duration::from_secs(2);

/// The certificates a client showed; verified by the TLS configuration before a request gets here.
#[derive(Debug, Clone)]
pub struct PeerCertificates(pub Vec<CertificateDer<'static>>);

/// A plane on a socket; it ends when this is dropped, or on [`Server::stop`].
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    stop: CancellationToken,
    connections: TaskTracker,
}

impl Server {
    /// Serves on a listener; with a TLS configuration, over TLS only.
    ///
    /// # Errors
    /// If the listener does not know its address.
    pub fn start(
        service: PlaneService,
        listener: TcpListener,
        tls: Option<Arc<ServerConfig>>,
    ) -> std::io::Result<Self> {
        let address = listener.local_addr()?;
        let (stop, connections) = (CancellationToken::new(), TaskTracker::new());
        let tls = tls.map(|mut config| {
            if config.alpn_protocols.is_empty() {
                Arc::make_mut(&mut config).alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
            }
            TlsAcceptor::from(config)
        });
        let accepting = accept(service, listener, tls, stop.clone(), connections.clone());
        connections.spawn(stop.clone().run_until_cancelled_owned(accepting));
        Ok(Self { address, stop, connections })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops accepting, lets requests finish for a moment (watches end), and closes.
    pub async fn stop(self) {
        self.stop.cancel();
        self.connections.close();
        // Whoever has not finished by then is cut off when the runtime drops the task.
        let _ = tokio::time::timeout(DRAIN, self.connections.wait()).await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

async fn accept(
    service: PlaneService,
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    stop: CancellationToken,
    connections: TaskTracker,
) {
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Out of file descriptors, most likely: wait for some to be freed rather than spin.
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let (service, tls, stop) = (service.clone(), tls.clone(), stop.clone());
        connections.spawn(async move {
            if let Err(error) = connection(service, stream, tls, stop).await {
                tracing::debug!(error = %error, "a connection ended");
            }
        });
    }
}

async fn connection(
    service: PlaneService,
    stream: TcpStream,
    tls: Option<TlsAcceptor>,
    stop: CancellationToken,
) -> Result<(), axum::BoxError> {
    stream.set_nodelay(true)?;
    let Some(tls) = tls else { return serve(service, stream, None, stop).await };
    let stream = tokio::time::timeout(PATIENCE, tls.accept(stream)).await??;
    let certificates = stream.get_ref().1.peer_certificates();
    let certificates =
        certificates.map(|all| PeerCertificates(all.iter().map(|c| c.clone().into_owned()).collect()));
    serve(service, stream, certificates, stop).await
}

async fn serve(
    service: PlaneService,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    certificates: Option<PeerCertificates>,
    stop: CancellationToken,
) -> Result<(), axum::BoxError> {
    let service = service.map_request(move |mut request: http::Request<hyper::body::Incoming>| {
        if let Some(certificates) = &certificates {
            request.extensions_mut().insert(certificates.clone());
        }
        request
    });
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(PATIENCE).max_headers(128);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(250)
        .max_header_list_size(64 * 1024)
        .keep_alive_interval(Duration::from_secs(30))
        .keep_alive_timeout(Duration::from_secs(15));
    let connection =
        builder.serve_connection_with_upgrades(TokioIo::new(stream), TowerToHyperService::new(service));
    tokio::pin!(connection);
    tokio::select! {
        result = connection.as_mut() => return result,
        () = stop.cancelled() => connection.as_mut().graceful_shutdown(),
    }
    tokio::time::timeout(DRAIN, connection).await?
}
