use std::{
    net::{IpAddr, Ipv4Addr},
    path::{Path, PathBuf},
};

use kube::config::Kubeconfig;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, ExtendedKeyUsagePurpose,
    IsCa, KeyPair, KeyUsagePurpose, SanType,
};
use serde_json::json;

use crate::Error;

/// The cluster's certificate authority: issues the server's certificate and one per user.
pub(super) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    /// The CA's certificate, for `--client-ca-file`.
    pub(super) certificate: PathBuf,
    /// The API server's certificate and key.
    pub(super) server: (PathBuf, PathBuf),
    /// The keys service account tokens are signed with and checked by: private, public.
    pub(super) service_accounts: (PathBuf, PathBuf),
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Authority").field("certificate", &self.certificate).finish_non_exhaustive()
    }
}

impl Authority {
    /// Makes a CA, a server certificate for loopback and a token signing key, and puts the files into `directory`.
    pub(super) fn new(directory: &Path) -> Result<Authority, Error> {
        let mut params = CertificateParams::default();
        params.distinguished_name = name("quintet-test-ca", &[]);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;

        let mut params = CertificateParams::default();
        params.distinguished_name = name("kube-apiserver", &[]);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.subject_alt_names = vec![SanType::IpAddress(IpAddr::V4(Ipv4Addr::LOCALHOST))];
        for dns in ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"] {
            params.subject_alt_names.push(SanType::DnsName(dns.try_into()?));
        }
        let key = KeyPair::generate()?;
        let server = params.signed_by(&key, &issuer)?;
        let tokens = KeyPair::generate()?;

        let write = |file: &str, content: String| {
            let path = directory.join(file);
            std::fs::write(&path, content).map_err(Error::io(format!("write {}", path.display())))?;
            Ok::<_, Error>(path)
        };
        Ok(Authority {
            certificate: write("ca.crt", issuer.pem())?,
            server: (write("server.crt", server.pem())?, write("server.key", key.serialize_pem())?),
            service_accounts: (
                write("service-accounts.key", tokens.serialize_pem())?,
                write("service-accounts.pub", tokens.public_key_pem())?,
            ),
            issuer,
        })
    }

    /// A kubeconfig for `user` in `groups`, by a new client certificate.
    pub(super) fn kubeconfig(&self, url: &str, user: &str, groups: &[&str]) -> Result<Kubeconfig, Error> {
        Ok(serde_json::from_value(self.document(url, user, groups)?)
            .expect("a kubeconfig we wrote ourselves"))
    }

    /// The same, as a file.
    pub(super) fn write_kubeconfig(
        &self,
        path: &Path,
        url: &str,
        user: &str,
        groups: &[&str],
    ) -> Result<(), Error> {
        // JSON is YAML, so every client reads it.
        let text = self.document(url, user, groups)?.to_string();
        std::fs::write(path, text).map_err(Error::io(format!("write {}", path.display())))
    }

    fn document(&self, url: &str, user: &str, groups: &[&str]) -> Result<serde_json::Value, Error> {
        let mut params = CertificateParams::default();
        params.distinguished_name = name(user, groups);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?;
        Ok(json!({
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "clusters": [{"name": "test", "cluster": {
                "server": url,
                "certificate-authority-data": base64(self.issuer.pem()),
            }}],
            "users": [{"name": user, "user": {
                "client-certificate-data": base64(certificate.pem()),
                "client-key-data": base64(key.serialize_pem()),
            }}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": user, "namespace": "default"}}],
        }))
    }
}

/// As Kubernetes reads certificates: the common name is the user, the organisations are the groups.
fn name(user: &str, groups: &[&str]) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    for group in groups {
        name.push(DnType::OrganizationName, *group);
    }
    name.push(DnType::CommonName, user);
    name
}

fn base64(text: String) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(text)
}
