use std::{net::SocketAddr, sync::Arc};

use axum::Router;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto,
    service::TowerToHyperService,
};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// A server on loopback that speaks TLS under a certificate of its own, until the test's runtime ends.
pub(crate) struct TlsServer {
    pub(crate) address: SocketAddr,
    /// Its certificate, as `caBundle` wants it.
    pub(crate) ca: String,
}

impl TlsServer {
    /// Serves `router` under these names, besides the loopback address.
    pub(crate) async fn start(router: Router, names: &[&str]) -> TlsServer {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let names = ["127.0.0.1", "localhost"].iter().chain(names).map(ToString::to_string);
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(names.collect::<Vec<_>>()).expect("a certificate");
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(signing_key.serialize_der()));
        let config = rustls::ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(vec![cert.der().clone()], key)
            .expect("a usable certificate");
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port on loopback");
        let address = listener.local_addr().expect("a bound socket");
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, router) = (acceptor.clone(), router.clone());
                tokio::spawn(async move {
                    // A client that does not trust us hangs up here, which is its right.
                    let Ok(stream) = acceptor.accept(stream).await else { return };
                    let service = TowerToHyperService::new(router);
                    let _ = auto::Builder::new(TokioExecutor::new())
                        .serve_connection(TokioIo::new(stream), service)
                        .await;
                });
            }
        });
        TlsServer { address, ca: STANDARD.encode(cert.pem()) }
    }
}
