//! Certificates: from files that are read again when they change, or made at start.

use std::{path::PathBuf, sync::Arc, time::Duration};

use arc_swap::ArcSwap;
use rcgen::{
    CertificateParams, DnType, ExtendedKeyUsagePurpose, KeyPair, KeyUsagePurpose, SanType, SerialNumber,
};
use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};
use tokio_util::sync::CancellationToken;

/// How often files are looked at. Kubernetes takes a minute to bring a new certificate into a pod anyway.
const LOOK: Duration = Duration::from_secs(10);
/// How long a certificate made at start is valid, in days: ten years, and two more for slow upgrades.
const VALID_DAYS: i64 = 12 * 365;

/// How a socket speaks TLS.
#[derive(Clone, Debug)]
pub struct Tls {
    /// Where the certificate comes from.
    pub source: TlsSource,
    /// The oldest version that is spoken.
    pub oldest: TlsVersion,
    /// HTTP/2 is offered beside HTTP/1.1.
    pub http2: bool,
}

/// Where the certificate comes from.
#[derive(Clone, Debug)]
pub enum TlsSource {
    /// From whoever renews it.
    Held(Certificate),
    /// From two files.
    Files(TlsFiles),
    /// Made at start, in the name of the instance.
    SelfSigned {
        /// The organization in it.
        organization: String,
        /// The names it is good for.
        hosts: Vec<String>,
    },
}

/// A certificate chain and its key, in PEM.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// The chain.
    pub certificate: PathBuf,
    /// The key.
    pub key: PathBuf,
}

/// The oldest version of TLS that is spoken.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum TlsVersion {
    /// 1.2
    #[default]
    V1_2,
    /// 1.3
    V1_3,
}

/// Why there is no certificate.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// Not from these files.
    #[error("loading TLS certificate: {0}")]
    Load(String),
    /// Not made here.
    #[error("generating self-signed certificate: {0}")]
    Generate(#[from] rcgen::Error),
}

/// The server's side of TLS. Files are followed until `stop`.
pub(super) fn config(tls: Tls, stop: &CancellationToken) -> Result<ServerConfig, TlsError> {
    let current = match tls.source {
        TlsSource::Held(certificate) => certificate,
        TlsSource::Files(files) => {
            let (current, seen) = load(&files)?;
            let current = Certificate::of(current);
            tokio::spawn(stop.clone().run_until_cancelled_owned(current.clone().follow(files, seen, LOOK)));
            current
        }
        TlsSource::SelfSigned { organization, hosts } => Certificate::of(generate(&organization, &hosts)?),
    };
    let versions: &[_] = match tls.oldest {
        TlsVersion::V1_2 => &[&rustls::version::TLS12, &rustls::version::TLS13],
        TlsVersion::V1_3 => &[&rustls::version::TLS13],
    };
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(versions)
        .map_err(|error| TlsError::Load(error.to_string()))?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(current));
    let protocols: &[&[u8]] = if tls.http2 { &[b"h2", b"http/1.1"] } else { &[b"http/1.1"] };
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    Ok(config)
}

/// The certificate that is shown now; clones share it.
#[derive(Clone, Debug)]
pub struct Certificate(Arc<ArcSwap<CertifiedKey>>);

impl ResolvesServerCert for Certificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.load_full())
    }
}

impl Certificate {
    fn of(pair: CertifiedKey) -> Self {
        Certificate(Arc::new(ArcSwap::from_pointee(pair)))
    }

    /// A certificate chain and its key, both PEM.
    ///
    /// # Errors
    /// If they are not, or do not belong together.
    pub fn from_pem(chain: &str, key: &str) -> Result<Self, TlsError> {
        let contents = Contents { certificate: chain.into(), key: key.into() };
        contents.parse().map(Self::of).map_err(TlsError::Load)
    }

    /// Shows another one from now on; connections that were made go on.
    ///
    /// # Errors
    /// As [`Certificate::from_pem`]; the one there is goes on being shown.
    pub fn replace(&self, chain: &str, key: &str) -> Result<(), TlsError> {
        let contents = Contents { certificate: chain.into(), key: key.into() };
        self.0.store(Arc::new(contents.parse().map_err(TlsError::Load)?));
        Ok(())
    }

    /// Takes over what is in the files whenever that changes. What cannot be used is not taken over: the certificate
    /// there is goes on being good until it expires.
    async fn follow(self, files: TlsFiles, mut seen: Contents, every: Duration) {
        let mut ticks = tokio::time::interval(every);
        loop {
            ticks.tick().await;
            let Ok(now) = Contents::read(&files) else { continue };
            if now == seen {
                continue;
            }
            match now.parse() {
                Ok(key) => {
                    self.0.store(Arc::new(key));
                    tracing::info!(certificate = %files.certificate.display(), "took over a new certificate");
                }
                // Half of the pair may have been written so far; the next look sees the other half.
                Err(error) => {
                    tracing::warn!(error, "the new certificate cannot be used; keeping the old one")
                }
            }
            seen = now;
        }
    }
}

/// What is in the files.
#[derive(PartialEq)]
struct Contents {
    certificate: Vec<u8>,
    key: Vec<u8>,
}

impl Contents {
    fn read(files: &TlsFiles) -> Result<Self, String> {
        let read =
            |path: &PathBuf| std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()));
        Ok(Self { certificate: read(&files.certificate)?, key: read(&files.key)? })
    }

    fn parse(&self) -> Result<CertifiedKey, String> {
        let chain = CertificateDer::pem_slice_iter(&self.certificate)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| format!("certificate: {error}"))?;
        if chain.is_empty() {
            return Err("certificate: no PEM certificate in the file".into());
        }
        let key = PrivateKeyDer::from_pem_slice(&self.key).map_err(|error| format!("key: {error}"))?;
        let key = ring::sign::any_supported_type(&key).map_err(|error| format!("key: {error}"))?;
        let pair = CertifiedKey::new(chain, key);
        pair.keys_match().map_err(|error| format!("certificate and key do not belong together: {error}"))?;
        Ok(pair)
    }
}

fn load(files: &TlsFiles) -> Result<(CertifiedKey, Contents), TlsError> {
    let contents = Contents::read(files).map_err(TlsError::Load)?;
    let pair = contents.parse().map_err(TlsError::Load)?;
    Ok((pair, contents))
}

fn generate(organization: &str, hosts: &[String]) -> Result<CertifiedKey, TlsError> {
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::OrganizationName, organization);
    params.serial_number = Some(SerialNumber::from(rand::random::<[u8; 16]>().to_vec()));
    params.key_usages = vec![KeyUsagePurpose::KeyEncipherment, KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let now = jiff::Timestamp::now();
    let at = |time: jiff::Timestamp| {
        let date = time.to_zoned(jiff::tz::TimeZone::UTC).date();
        rcgen::date_time_ymd(i32::from(date.year()), date.month() as u8, date.day() as u8)
    };
    params.not_before = at(now);
    params.not_after =
        at(now.saturating_add(jiff::SignedDuration::from_hours(24 * VALID_DAYS)).unwrap_or(now));
    for host in hosts {
        params.subject_alt_names.push(match host.parse() {
            Ok(address) => SanType::IpAddress(address),
            Err(_) => SanType::DnsName(host.as_str().try_into()?),
        });
    }
    let certificate = params.self_signed(&key)?;
    let secret =
        PrivateKeyDer::try_from(key.serialize_der()).map_err(|error| TlsError::Load(error.to_owned()))?;
    let secret =
        ring::sign::any_supported_type(&secret).map_err(|error| TlsError::Load(error.to_string()))?;
    Ok(CertifiedKey::new(vec![certificate.der().clone()], secret))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write_pair(directory: &std::path::Path, name: &str) -> TlsFiles {
        let key = KeyPair::generate().expect("a key");
        let certificate =
            CertificateParams::new(vec![name.into()]).expect("params").self_signed(&key).expect("signed");
        let files = TlsFiles { certificate: directory.join("tls.crt"), key: directory.join("tls.key") };
        std::fs::write(&files.certificate, certificate.pem()).expect("written");
        std::fs::write(&files.key, key.serialize_pem()).expect("written");
        files
    }

    #[tokio::test(start_paused = true)]
    async fn files_are_followed_and_rubbish_is_not() {
        let directory = tempfile::tempdir().expect("a directory");
        let files = write_pair(directory.path(), "one.example");
        let (first, seen) = load(&files).expect("a pair");
        let first = first.cert[0].clone();
        let current = Certificate::of(load(&files).expect("a pair").0);
        let task = tokio::spawn(current.clone().follow(files.clone(), seen, LOOK));
        let shown = async || {
            tokio::time::sleep(2 * LOOK).await; // paused: no time passes
            current.0.load().cert[0].clone()
        };
        assert_eq!(shown().await, first);
        std::fs::write(&files.certificate, "rubbish").expect("written");
        assert_eq!(shown().await, first, "rubbish is not shown");
        write_pair(directory.path(), "two.example");
        let second = shown().await;
        assert_ne!(second, first, "the new pair is");
        std::fs::remove_file(&files.key).expect("removed");
        assert_eq!(shown().await, second, "a missing file changes nothing");
        task.abort();
    }

    #[test]
    fn a_pair_that_does_not_belong_together_is_refused() {
        let (one, two) =
            (tempfile::tempdir().expect("a directory"), tempfile::tempdir().expect("a directory"));
        let mut files = write_pair(one.path(), "a.example");
        files.key = write_pair(two.path(), "a.example").key;
        let error = load(&files).err().expect("refused").to_string();
        assert!(error.contains("do not belong together"), "{error}");
        files.key = one.path().join("nowhere");
        let error = load(&files).err().expect("refused").to_string();
        assert!(error.starts_with("loading TLS certificate: ") && error.contains("nowhere"), "{error}");
    }

    #[test]
    fn a_made_certificate_is_good_for_its_hosts() {
        generate("us", &["localhost".into(), "127.0.0.1".into(), "service.ns.svc".into()]).expect("made");
        assert!(generate("us", &["ümläut".into()]).is_err());
    }
}
