//! TLS to a webhook: only the configuration's own `caBundle` is trusted.

use std::io;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{CertificateError, ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Shakes hands; the error is worded as Go's.
pub(super) async fn connect(
    host: &str,
    ca_bundle: &[u8],
    tcp: TcpStream,
) -> Result<TlsStream<TcpStream>, String> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(ca_bundle) {
        let certificate = certificate
            .map_err(|_| "unable to load root certificates: unable to parse bytes as PEM block")?;
        roots.add(certificate).map_err(|error| format!("unable to load root certificates: {error}"))?;
    }
    let name = ServerName::try_from(host.to_owned()).map_err(|_| format!("{host:?} is no name for TLS"))?;
    let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    TlsConnector::from(Arc::new(config))
        .connect(name, tcp)
        .await
        .map_err(|error| handshake_text(&error, host))
}

fn handshake_text(error: &io::Error, host: &str) -> String {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    let why = match inner {
        Some(rustls::Error::InvalidCertificate(why)) => match why {
            CertificateError::UnknownIssuer | CertificateError::BadSignature => {
                "certificate signed by unknown authority".to_owned()
            }
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                "certificate has expired or is not yet valid".to_owned()
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                format!("certificate is not valid for any names, but wanted to match {host}")
            }
            other => format!("{other:?}"),
        },
        _ if error.kind() == io::ErrorKind::UnexpectedEof => return "EOF".into(),
        _ => return format!("tls: {error}"),
    };
    format!("tls: failed to verify certificate: x509: {why}")
}
