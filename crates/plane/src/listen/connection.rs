//! One connection: the handshake, then requests until the client leaves or the server stops.

use std::io;
use std::time::Duration;

use http::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tower::Service;

use crate::PlaneService;
use crate::auth::PeerCertificate;

/// A client that says nothing for this long is cut off: before the handshake is done, and before a request's headers are.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often an idle HTTP/2 connection is asked whether it still lives.
const PING: Duration = Duration::from_secs(30);

/// Serves one connection to its end.
pub(super) async fn serve(
    stream: TcpStream,
    tls: Option<TlsAcceptor>,
    service: PlaneService,
    stop: CancellationToken,
) -> Result<(), axum::BoxError> {
    stream.set_nodelay(true)?;
    let Some(tls) = tls else { return requests(stream, None, service, stop).await };
    let handshake = tokio::time::timeout(PATIENCE, tls.accept(stream));
    let Some(shaken) = stop.run_until_cancelled(handshake).await else { return Ok(()) };
    let stream = shaken.map_err(|_| io::Error::new(io::ErrorKind::TimedOut, "no TLS handshake"))??;
    let certificate = stream.get_ref().1.peer_certificates().and_then(|chain| chain.first());
    let peer = certificate.map(|der| PeerCertificate(der.to_vec()));
    requests(stream, peer, service, stop).await
}

async fn requests(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    peer: Option<PeerCertificate>,
    service: PlaneService,
    stop: CancellationToken,
) -> Result<(), axum::BoxError> {
    let service = service_fn(move |mut request: Request<Incoming>| {
        if let Some(peer) = &peer {
            request.extensions_mut().insert(peer.clone());
        }
        service.clone().call(request)
    });
    let mut http = Builder::new(TokioExecutor::new());
    http.http1().timer(TokioTimer::new()).header_read_timeout(PATIENCE);
    http.http2().timer(TokioTimer::new()).keep_alive_interval(PING).keep_alive_timeout(PATIENCE);
    let connection = http.serve_connection_with_upgrades(TokioIo::new(stream), service);
    tokio::pin!(connection);
    tokio::select! {
        ended = connection.as_mut() => return ended,
        () = stop.cancelled() => connection.as_mut().graceful_shutdown(),
    }
    connection.await
}
