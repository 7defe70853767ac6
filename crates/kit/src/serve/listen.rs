//! Sockets.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use axum::Router;
use http::Request;
use hyper::{
    body::Incoming,
    service::{Service, service_fn},
};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::{
        conn::auto,
        graceful::{GracefulShutdown, Watcher},
    },
    service::TowerToHyperService,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use super::patience::{Impatient, Phase};
use super::tls::{self, Tls, TlsError};

/// How long an idle connection is kept. What a request's head may take is in [`super::patience`].
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

impl std::fmt::Debug for Listener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Listener").field("socket", &self.socket).finish_non_exhaustive()
    }
}

impl Listener {
    /// Listens on `host:port`; an empty host is every address.
    ///
    /// # Errors
    /// If another process has the port.
    pub async fn bind(address: &str) -> Result<Self, ServeError> {
        Ok(Self { socket: listen(address).await.map_err(ServeError::Listen)?, tls: None })
    }

    /// The same with TLS. Certificate files are read again when they change, until `stop`.
    ///
    /// # Errors
    /// If there is no certificate, or another process has the port.
    pub async fn bind_tls(address: &str, tls: Tls, stop: &CancellationToken) -> Result<Self, ServeError> {
        let config = tls::config(tls, stop)?;
        let socket = listen(address).await.map_err(ServeError::Listen)?;
        Ok(Self { socket, tls: Some(TlsAcceptor::from(Arc::new(config))) })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// If the system does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Serves until `stop`, then lets running requests end.
    ///
    /// # Errors
    /// If requests do not end in time.
    pub async fn serve(self, service: Router, stop: CancellationToken) -> Result<(), ServeError> {
        let (server, running) = (Arc::new(protocol()), GracefulShutdown::new());
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
                match tls {
                    None => converse(&server, service, stream, watcher).await,
                    Some(tls) => {
                        if let Some(stream) = handshake(&tls, stream).await {
                            converse(&server, service, stream, watcher).await;
                        }
                    }
                }
            });
        }
        drop(self.socket);
        tokio::time::timeout(DRAIN, running.shutdown()).await.map_err(|_| ServeError::Forced)
    }
}

type Protocol = auto::Builder<TokioExecutor>;

/// HTTP/1.1 or HTTP/2, whichever the client begins with.
fn protocol() -> Protocol {
    let mut server = Protocol::new(TokioExecutor::new());
    server.http1().timer(TokioTimer::new()).header_read_timeout(IDLE).max_buf_size(LARGEST_HEAD);
    server
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(IDLE)
        .max_header_list_size(LARGEST_HEAD as u32)
        .max_concurrent_streams(1000);
    server
}

/// Serves one connection to its end.
async fn converse<S>(server: &Protocol, service: Router, stream: S, watcher: Watcher)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (phase, router) = (Phase::default(), TowerToHyperService::new(service));
    let stream = TokioIo::new(Impatient::new(stream, phase.clone()));
    let service = service_fn(move |request: Request<Incoming>| {
        phase.serving(request.version());
        let (phase, answer) = (phase.clone(), router.call(request));
        async move {
            let answer = answer.await;
            phase.answered();
            answer
        }
    });
    let connection = server.serve_connection(stream, service).into_owned();
    if let Err(error) = watcher.watch(connection).await {
        tracing::debug!(error, "connection ended");
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

#[cfg(test)]
mod tests {
    use axum::routing::get;
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt, DuplexStream},
        time::Instant,
    };

    use super::*;

    /// A client's end of a connection on which large answers can be asked for.
    fn connect() -> DuplexStream {
        let router =
            Router::new().route("/", get(|| async { "x".repeat(1 << 20) })).route("/small", get("y"));
        let (client, stream) = tokio::io::duplex(1024);
        tokio::spawn(async move {
            converse(&protocol(), router, stream, GracefulShutdown::new().watcher()).await;
        });
        client
    }

    /// Reads until the connection is closed, and says after how many seconds that was.
    async fn closed(client: &mut DuplexStream) -> u64 {
        let start = Instant::now();
        let mut rest = Vec::new();
        let _ = client.read_to_end(&mut rest).await;
        start.elapsed().as_secs()
    }

    async fn ask(client: &mut DuplexStream) {
        client.write_all(b"GET /small HTTP/1.1\r\nhost: x\r\n\r\n").await.expect("sent");
        let mut answer = [0; 512];
        let length = client.read(&mut answer).await.expect("received");
        assert!(answer[..length].ends_with(b"y"), "{:?}", String::from_utf8_lossy(&answer[..length]));
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_may_take_five_seconds_from_its_first_byte() {
        let mut client = connect();
        client.write_all(b"GET /small HTTP/1.1\r\n").await.expect("sent");
        assert_eq!(closed(&mut client).await, 5);

        let mut client = connect();
        for byte in b"GET /small HTTP/1.1\r\nhost: x\r\nx: aaaaaaaaa" {
            // Dribbling does not help.
            if client.write_all(&[*byte]).await.is_err() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        panic!("it is still open after {} s", 0.5 * 44.0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_connection_is_kept_for_a_minute() {
        let mut client = connect();
        ask(&mut client).await;
        tokio::time::sleep(Duration::from_secs(50)).await;
        ask(&mut client).await; // the head's five seconds begin with its first byte
        assert_eq!(closed(&mut client).await, 60);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_does_not_read_is_left_after_half_a_minute() {
        let mut client = connect();
        client.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await.expect("sent");
        tokio::time::sleep(Duration::from_secs(29)).await;
        let mut some = [0; 1024];
        client.read_exact(&mut some).await.expect("it still waits");
        tokio::time::sleep(Duration::from_secs(31)).await;
        let mut rest = Vec::new();
        let _ = client.read_to_end(&mut rest).await;
        assert!(rest.len() < 1 << 20, "the rest was not sent");
    }
}
