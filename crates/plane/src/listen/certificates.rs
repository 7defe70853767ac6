//! A certificate authority of the plane's own, and what it signs.

use std::sync::Arc;

use rcgen::string::Ia5String;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose, SanType,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use thiserror::Error;

use crate::hooks::User;

/// Why a certificate could not be made.
#[derive(Debug, Error)]
pub enum CertificateError {
    /// The name is not one a certificate can carry.
    #[error("{0:?} is neither a host name nor an IP address")]
    Name(String),
    /// Signing failed.
    #[error("signing a certificate: {0}")]
    Sign(#[from] rcgen::Error),
    /// TLS does not accept what was signed.
    #[error("setting up TLS: {0}")]
    Tls(String),
}

/// A certificate and its key, as PEM. The key is secret.
pub struct Issued {
    /// The certificate.
    pub certificate: String,
    /// Its private key.
    pub key: String,
}

impl std::fmt::Debug for Issued {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Issued").field("certificate", &self.certificate).finish_non_exhaustive()
    }
}

/// A certificate authority that lives as long as its process.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Authority")
    }
}

impl Authority {
    /// A new authority of this name.
    ///
    /// # Errors
    /// If no key can be made.
    pub fn new(name: &str) -> Result<Self, CertificateError> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        Ok(Authority { issuer: CertifiedIssuer::self_signed(params, KeyPair::generate()?)? })
    }

    /// The authority's own certificate, as PEM: what clients and webhooks trust.
    pub fn pem(&self) -> String {
        self.issuer.pem()
    }

    /// A server's certificate for these host names and addresses.
    ///
    /// # Errors
    /// If a name is neither.
    pub fn server(&self, names: &[&str]) -> Result<Issued, CertificateError> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, names.first().copied().unwrap_or("plane"));
        for name in names {
            params.subject_alt_names.push(match name.parse() {
                Ok(address) => SanType::IpAddress(address),
                Err(_) => SanType::DnsName(
                    Ia5String::try_from(*name).map_err(|_| CertificateError::Name((*name).into()))?,
                ),
            });
        }
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.sign(params)
    }

    /// A client's certificate: the user's name as CN, each of his groups as O.
    ///
    /// # Errors
    /// If signing fails.
    pub fn client(&self, user: &User) -> Result<Issued, CertificateError> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, user.name.as_str());
        // A distinguished name holds one O here; the first group is the one that matters to callers.
        if let Some(group) = user.groups.first() {
            params.distinguished_name.push(DnType::OrganizationName, group.as_str());
        }
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(params)
    }

    /// A TLS configuration for [`crate::Plane::serve`]: this certificate, and client certificates of this authority
    /// accepted but not asked for.
    ///
    /// # Errors
    /// If the certificate and key do not fit.
    pub fn tls(&self, server: &Issued) -> Result<Arc<ServerConfig>, CertificateError> {
        let tls = |e: &dyn std::fmt::Display| CertificateError::Tls(e.to_string());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut roots = RootCertStore::empty();
        roots.add(self.issuer.der().clone()).map_err(|e| tls(&e))?;
        let clients = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone())
            .allow_unauthenticated()
            .build()
            .map_err(|e| tls(&e))?;
        let chain = CertificateDer::pem_slice_iter(server.certificate.as_bytes())
            .collect::<Result<Vec<_>, _>>()
            .map_err(|e| tls(&e))?;
        let key = PrivateKeyDer::from_pem_slice(server.key.as_bytes()).map_err(|e| tls(&e))?;
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|e| tls(&e))?
            .with_client_cert_verifier(clients)
            .with_single_cert(chain, key)
            .map_err(|e| tls(&e))?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }

    fn sign(&self, params: CertificateParams) -> Result<Issued, CertificateError> {
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?;
        Ok(Issued { certificate: certificate.pem(), key: key.serialize_pem() })
    }
}
