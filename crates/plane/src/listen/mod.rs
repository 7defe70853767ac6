//! The plane on a socket: TLS, client certificates, HTTP/1.1 and 2, and connections that cannot hold it up.

mod certificates;
mod connection;

pub use certificates::{Authority, CertificateError, Issued};

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::Plane;

/// More connections than this wait to be accepted.
const CONNECTIONS: usize = 4096;
/// After the stop, requests under way get this long. Watches never end by themselves.
const DRAIN: Duration = Duration::from_secs(2);

impl Plane {
    /// Serves the API on a listener until told to stop; without a TLS configuration in plain text.
    ///
    /// # Errors
    /// If the listener breaks; an error of one connection ends only that one.
    pub async fn serve(
        &self,
        listener: TcpListener,
        tls: Option<Arc<ServerConfig>>,
        stop: CancellationToken,
    ) -> io::Result<()> {
        let acceptor = tls.map(TlsAcceptor::from);
        let (places, connections) = (Arc::new(Semaphore::new(CONNECTIONS)), TaskTracker::new());
        loop {
            let accepted = async {
                let place = places.clone().acquire_owned().await.map_err(io::Error::other)?;
                listener.accept().await.map(|(stream, _)| (stream, place))
            };
            let Some(accepted) = stop.run_until_cancelled(accepted).await else { break };
            let (stream, place) = match accepted {
                Ok(accepted) => accepted,
                Err(error) if is_of_one_connection(&error) => continue,
                Err(error) => return Err(error),
            };
            let (service, acceptor, stop) = (self.service(), acceptor.clone(), stop.clone());
            connections.spawn(async move {
                if let Err(error) = connection::serve(stream, acceptor, service, stop).await {
                    tracing::debug!(%error, "connection ended");
                }
                drop(place);
            });
        }
        connections.close();
        let _ = tokio::time::timeout(DRAIN, connections.wait()).await;
        Ok(())
    }
}

fn is_of_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}
