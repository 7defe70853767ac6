//! The certificate of the ext_proc port.

use std::path::Path;

use rcgen::{CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, KeyPair};

/// A certificate chain and its key, as PEM.
#[derive(Clone)]
pub struct Identity {
    /// The certificate, or chain.
    pub certificate: String,
    /// Its private key.
    pub key: String,
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Identity").finish_non_exhaustive()
    }
}

/// Why there is no certificate.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be read.
    #[error("cannot read {0}: {1}")]
    Read(String, std::io::Error),
    /// A certificate cannot be made.
    #[error("cannot make a self-signed certificate: {0}")]
    Make(#[from] rcgen::Error),
}

impl Identity {
    /// Made for this process: `O=Inference Ext`, ten years, for servers, without names. Envoy does not check it.
    pub fn self_signed() -> Result<Identity, Error> {
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::OrganizationName, "Inference Ext");
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let now = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC);
        params.not_before = rcgen::date_time_ymd(i32::from(now.year()), now.month() as u8, now.day() as u8);
        params.not_after =
            rcgen::date_time_ymd(i32::from(now.year()) + 10, now.month() as u8, now.day().min(28) as u8);
        let key = KeyPair::generate()?;
        Ok(Identity { certificate: params.self_signed(&key)?.pem(), key: key.serialize_pem() })
    }

    /// `tls.crt` and `tls.key` of a folder, as a mounted Secret has them.
    pub fn from_folder(folder: &Path) -> Result<Identity, Error> {
        let read = |name: &str| {
            let path = folder.join(name);
            std::fs::read_to_string(&path).map_err(|e| Error::Read(path.display().to_string(), e))
        };
        Ok(Identity { certificate: read("tls.crt")?, key: read("tls.key")? })
    }
}

/// Chooses the process's TLS implementation; safe to call again.
pub fn install_crypto() {
    // An error only says that there is one already.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_self_signed_certificate_can_be_written_and_read_back() {
        let made = Identity::self_signed().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let missing = Identity::from_folder(folder.path()).unwrap_err().to_string();
        assert!(missing.contains("tls.crt"), "{missing}");
        std::fs::write(folder.path().join("tls.crt"), &made.certificate).unwrap();
        std::fs::write(folder.path().join("tls.key"), &made.key).unwrap();
        let read = Identity::from_folder(folder.path()).unwrap();
        assert_eq!((read.certificate, read.key), (made.certificate.clone(), made.key.clone()));
        assert!(!format!("{made:?}").contains("PRIVATE"));
    }
}
