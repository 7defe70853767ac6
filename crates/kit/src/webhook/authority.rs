//! A certificate authority of our own, for clusters that bring none: kept in a Secret that all replicas share.
//!
//! Everything is renewed at two thirds of its life, by the wall clock. A new authority is first only *trusted*: it goes
//! beside the old one into the bundle that the API server gets, and signs nothing before every place has had that bundle
//! for a while, since API servers learn of it by a watch, each in its own time. So at any moment, whatever a replica shows
//! is signed by an authority that every API server trusts. What to do is decided by [`Material::next`], a pure function
//! but for the keys it makes; [`Keeper::keep`] does it.

use super::publish::Target;
use crate::clock::Clock;
use crate::serve::{Certificate, TlsError};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::Client;
use kube::api::{Api, PostParams};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, SanType, SerialNumber,
};
use std::collections::BTreeMap;
use std::time::Duration;
use thiserror::Error;

/// How often a look is begun anew when other replicas were quicker; a renewal takes three.
const ROUNDS: usize = 20;
/// Clocks of two machines differ.
const SKEW: SignedDuration = SignedDuration::from_mins(10);

/// How long things last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lives {
    /// An authority.
    pub authority: SignedDuration,
    /// A certificate that it signed.
    pub signed: SignedDuration,
    /// From when every place has the bundle with a new authority until that signs.
    pub settling: SignedDuration,
    /// From one look at the clock to the next. A machine that slept has timers that did not run.
    pub look: Duration,
}

impl Default for Lives {
    /// A year, ninety days, and a minute each.
    fn default() -> Self {
        Lives::lasting(SignedDuration::from_hours(24 * 365))
    }
}

impl Lives {
    /// With an authority that is good for so long; what it signs lives two fifths of that, ninety days at most.
    #[must_use]
    pub fn lasting(authority: SignedDuration) -> Self {
        let minute = SignedDuration::from_mins(1);
        Lives {
            authority,
            signed: SignedDuration::from_hours(24 * 90).min(authority * 2 / 5),
            settling: minute.min(authority / 30),
            look: minute.min(authority / 60).unsigned_abs(),
        }
    }
}

/// Why there is no certificate.
#[derive(Debug, Error)]
pub enum AuthorityError {
    /// A certificate could not be made or read.
    #[error("making a certificate: {0}")]
    Make(#[from] rcgen::Error),
    /// TLS does not accept it.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The server refuses.
    #[error("keeping the certificates: {0}")]
    Server(#[from] kube::Error),
    /// What the Secret holds is not ours, or was damaged.
    #[error("Secret {0} does not hold certificates of ours; delete it, so that new ones are made")]
    Damaged(String),
    /// Other replicas were quicker, again and again.
    #[error("Secret {0} changes all the time")]
    Busy(String),
}

/// A certificate and its key, as PEM, and when it was made and ends.
#[derive(Clone, PartialEq, Eq)]
struct Pair {
    certificate: String,
    key: String,
    made: Timestamp,
    ends: Timestamp,
}

impl std::fmt::Debug for Pair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pair").field("made", &self.made).field("ends", &self.ends).finish_non_exhaustive()
    }
}

impl Pair {
    /// Two thirds of its life are over.
    fn is_due(&self, now: Timestamp) -> bool {
        let life = self.ends.duration_since(self.made);
        now.duration_since(self.made) * 3 >= life * 2
    }
}

/// An authority that signs nothing yet.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Coming {
    pair: Pair,
    /// Since when every place was seen to have it in its bundle.
    published: Option<Timestamp>,
}

/// What the Secret holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Material {
    /// Signs.
    authority: Pair,
    /// Will sign, once it is trusted everywhere.
    coming: Option<Coming>,
    /// Signed until lately: trusted until its last certificate has gone.
    leaving: Option<(String, Timestamp)>,
    /// What is shown.
    shown: Pair,
    /// The names it is good for.
    names: Vec<String>,
}

impl Material {
    /// The first authority, and a certificate for these names.
    ///
    /// # Errors
    /// If a name is neither a host name nor an address.
    pub fn first(names: &[String], lives: &Lives, now: Timestamp) -> Result<Self, AuthorityError> {
        let authority = authority(lives, now)?;
        let shown = sign(&authority, names, lives, now)?;
        Ok(Material { authority, coming: None, leaving: None, shown, names: names.to_vec() })
    }

    /// What it should be now, if that is something else. `trusted` says that every place was found to have the bundle as
    /// it is.
    ///
    /// # Errors
    /// As [`Material::first`].
    pub fn next(
        &self,
        names: &[String],
        trusted: bool,
        lives: &Lives,
        now: Timestamp,
    ) -> Result<Option<Self>, AuthorityError> {
        if self.authority.ends <= now {
            // Asleep for too long: nothing is left to be careful about.
            return Material::first(names, lives, now).map(Some);
        }
        let mut next = self.clone();
        let settled = |since: &Timestamp| now.duration_since(*since) >= lives.settling;
        match &mut next.coming {
            None if self.authority.is_due(now) => {
                next.coming = Some(Coming { pair: authority(lives, now)?, published: None });
            }
            Some(coming) if trusted && coming.published.as_ref().is_some_and(settled) => {
                next.leaving = Some((self.authority.certificate.clone(), self.shown.ends));
                next.authority = coming.pair.clone();
                next.shown = sign(&next.authority, names, lives, now)?;
                next.names = names.to_vec();
                next.coming = None;
            }
            // A place that lost the bundle has to learn it anew.
            Some(coming) if trusted != coming.published.is_some() => {
                coming.published = trusted.then_some(now);
            }
            _ if self.shown.is_due(now) || self.names != names => {
                next.shown = sign(&self.authority, names, lives, now)?;
                next.names = names.to_vec();
            }
            _ => {}
        }
        if next.leaving.as_ref().is_some_and(|(_, until)| *until <= now) {
            next.leaving = None;
        }
        Ok((next != *self).then_some(next))
    }

    /// Every authority that is to be trusted now, as PEM.
    #[must_use]
    pub fn bundle(&self) -> String {
        let coming = self.coming.as_ref().map(|coming| coming.pair.certificate.as_str());
        let leaving = self.leaving.as_ref().map(|(certificate, _)| certificate.as_str());
        [Some(self.authority.certificate.as_str()), coming, leaving].into_iter().flatten().collect()
    }

    /// The chain and key to show.
    #[must_use]
    pub fn shown(&self) -> (&str, &str) {
        (&self.shown.certificate, &self.shown.key)
    }

    fn to_data(&self) -> BTreeMap<String, ByteString> {
        let mut all = BTreeMap::new();
        let mut put = |name: &str, text: &str| {
            all.insert(name.to_owned(), ByteString(text.as_bytes().to_vec()));
        };
        let mut pair = |prefix: &str, pair: &Pair| {
            put(&format!("{prefix}.crt"), &pair.certificate);
            put(&format!("{prefix}.key"), &pair.key);
            put(&format!("{prefix}.made"), &pair.made.to_string());
            put(&format!("{prefix}.ends"), &pair.ends.to_string());
        };
        pair("authority", &self.authority);
        pair("tls", &self.shown);
        if let Some(coming) = &self.coming {
            pair("coming", &coming.pair);
        }
        if let Some(published) = self.coming.as_ref().and_then(|coming| coming.published) {
            put("coming.published", &published.to_string());
        }
        if let Some((certificate, until)) = &self.leaving {
            put("leaving.crt", certificate);
            put("leaving.until", &until.to_string());
        }
        put("names", &self.names.join(" "));
        put("ca.crt", &self.bundle());
        all
    }

    fn from_data(data: &BTreeMap<String, ByteString>) -> Option<Self> {
        let text = |name: &str| data.get(name).and_then(|bytes| String::from_utf8(bytes.0.clone()).ok());
        let time = |name: &str| -> Option<Timestamp> { text(name)?.parse().ok() };
        let pair = |prefix: &str| {
            Some(Pair {
                certificate: text(&format!("{prefix}.crt"))?,
                key: text(&format!("{prefix}.key"))?,
                made: time(&format!("{prefix}.made"))?,
                ends: time(&format!("{prefix}.ends"))?,
            })
        };
        let leaving = text("leaving.crt").zip(time("leaving.until"));
        Some(Material {
            authority: pair("authority")?,
            coming: pair("coming").map(|pair| Coming { pair, published: time("coming.published") }),
            leaving,
            shown: pair("tls")?,
            names: text("names")?.split_whitespace().map(str::to_owned).collect(),
        })
    }
}

fn authority(lives: &Lives, now: Timestamp) -> Result<Pair, AuthorityError> {
    let mut params = lasting(now, lives.authority);
    let serial: u64 = rand::random();
    // Each has a name of its own: two of the same name and different keys confuse those who verify.
    params.distinguished_name.push(DnType::CommonName, format!("quintet-webhooks-{serial:016x}"));
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    let key = KeyPair::generate()?;
    let certificate = params.self_signed(&key)?.pem();
    Ok(Pair { certificate, key: key.serialize_pem(), made: now, ends: ends(now, lives.authority) })
}

fn sign(authority: &Pair, names: &[String], lives: &Lives, now: Timestamp) -> Result<Pair, AuthorityError> {
    let mut params = lasting(now, lives.signed);
    params.distinguished_name.push(DnType::CommonName, "quintet-webhooks");
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    for name in names {
        params.subject_alt_names.push(match name.parse() {
            Ok(address) => SanType::IpAddress(address),
            Err(_) => SanType::DnsName(name.as_str().try_into()?),
        });
    }
    let issuer = Issuer::from_ca_cert_pem(&authority.certificate, KeyPair::from_pem(&authority.key)?)?;
    let key = KeyPair::generate()?;
    let certificate = params.signed_by(&key, &issuer)?.pem();
    Ok(Pair { certificate, key: key.serialize_pem(), made: now, ends: ends(now, lives.signed) })
}

fn ends(now: Timestamp, life: SignedDuration) -> Timestamp {
    now.saturating_add(life).unwrap_or(now)
}

/// Parameters of a certificate that is good from a little before now.
fn lasting(now: Timestamp, life: SignedDuration) -> CertificateParams {
    let at = |time: Timestamp| {
        let seconds = u64::try_from(time.as_second()).unwrap_or_default();
        rcgen::date_time_ymd(1970, 1, 1) + Duration::from_secs(seconds)
    };
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.serial_number = Some(SerialNumber::from(rand::random::<[u8; 16]>().to_vec()));
    params.not_before = at(now.saturating_sub(SKEW).unwrap_or(now));
    params.not_after = at(ends(now, life));
    params
}

/// Where the certificates are kept, and who must trust them.
#[derive(Clone, Debug)]
pub struct Keeper {
    /// The Secret's namespace.
    pub namespace: String,
    /// The Secret's name.
    pub secret: String,
    /// The names that the API server calls us by: those of the webhooks' Services.
    pub names: Vec<String>,
    /// Whose bundles are kept up to date.
    pub targets: Vec<Target>,
    /// How long certificates last.
    pub lives: Lives,
}

impl Keeper {
    /// The certificate to show, made if there is none yet. Many replicas may ask at once: one of them makes it.
    ///
    /// # Errors
    /// If the server refuses, or the Secret holds something else.
    pub async fn certificate(&self, client: &Client, clock: &Clock) -> Result<Certificate, AuthorityError> {
        let material = self.look(client, clock).await?;
        let (chain, key) = material.shown();
        Ok(Certificate::from_pem(chain, key)?)
    }

    /// Renews what is due, publishes whom to trust and shows what the Secret holds, for ever.
    pub async fn keep(&self, client: &Client, clock: &Clock, certificate: &Certificate) {
        loop {
            tokio::time::sleep(self.lives.look).await;
            if let Err(error) = self.refresh(client, clock, certificate).await {
                tracing::warn!(%error, secret = self.secret, "webhook certificates not refreshed; trying again");
            }
        }
    }

    /// One round of that.
    ///
    /// # Errors
    /// As [`Keeper::certificate`].
    pub async fn refresh(
        &self,
        client: &Client,
        clock: &Clock,
        certificate: &Certificate,
    ) -> Result<(), AuthorityError> {
        let material = self.look(client, clock).await?;
        let (chain, key) = material.shown();
        certificate.replace(chain, key)?;
        Ok(())
    }

    /// Brings Secret and bundles forward until nothing is due; gives what is in force then.
    async fn look(&self, client: &Client, clock: &Clock) -> Result<Material, AuthorityError> {
        let api: Api<Secret> = Api::namespaced(client.clone(), &self.namespace);
        for _ in 0..ROUNDS {
            let Some(secret) = api.get_opt(&self.secret).await? else {
                let material = Material::first(&self.names, &self.lives, clock.now())?;
                ours(api.create(&PostParams::default(), &self.to_secret(&material, None)).await)?;
                continue; // read again: another may have been quicker
            };
            let found = secret.data.as_ref().and_then(Material::from_data);
            let material = found.ok_or_else(|| AuthorityError::Damaged(self.secret.clone()))?;
            let mut trusted = true;
            for target in &self.targets {
                trusted &= target.trust(client, &material.bundle()).await?;
            }
            match material.next(&self.names, trusted, &self.lives, clock.now())? {
                None => return Ok(material),
                Some(next) => {
                    let version = secret.metadata.resource_version;
                    let written = self.to_secret(&next, version);
                    ours(api.replace(&self.secret, &PostParams::default(), &written).await)?;
                }
            }
        }
        Err(AuthorityError::Busy(self.secret.clone()))
    }

    /// The version goes along, so that of two replicas one is refused.
    fn to_secret(&self, material: &Material, version: Option<String>) -> Secret {
        let mut secret = Secret { data: Some(material.to_data()), ..Secret::default() };
        secret.metadata.name = Some(self.secret.clone());
        secret.metadata.resource_version = version;
        secret
    }
}

/// Another replica was quicker: no error, its work is as good as ours.
fn ours(written: kube::Result<Secret>) -> kube::Result<()> {
    match written {
        Err(kube::Error::Api(status)) if status.is_conflict() || status.is_already_exists() => Ok(()),
        other => other.map(drop),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Vec<String> {
        vec!["hooks.home.svc".into(), "127.0.0.1".into()]
    }

    fn lives() -> Lives {
        Lives::default()
    }

    fn at(days: i64) -> Timestamp {
        let start: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        start.saturating_add(SignedDuration::from_hours(24 * days)).unwrap()
    }

    /// True if what is shown verifies against the bundle at that moment.
    fn verifies(bundle: &str, shown: &str, now: Timestamp) -> bool {
        use rustls::client::WebPkiServerVerifier;
        use rustls::pki_types::pem::PemObject;
        use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
        let mut roots = rustls::RootCertStore::empty();
        for root in CertificateDer::pem_slice_iter(bundle.as_bytes()) {
            roots.add(root.unwrap()).unwrap();
        }
        let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
        let verifier = WebPkiServerVerifier::builder_with_provider(roots.into(), provider).build().unwrap();
        let shown = CertificateDer::from_pem_slice(shown.as_bytes()).unwrap();
        let now = UnixTime::since_unix_epoch(Duration::from_secs(now.as_second().unsigned_abs()));
        let name = ServerName::try_from("hooks.home.svc").unwrap();
        rustls::client::danger::ServerCertVerifier::verify_server_cert(
            &*verifier,
            &shown,
            &[],
            &name,
            &[],
            now,
        )
        .is_ok()
    }

    #[test]
    fn an_authority_may_be_short_lived_and_then_everything_is() {
        let seconds = SignedDuration::from_secs;
        let expected = Lives {
            authority: seconds(60),
            signed: seconds(24),
            settling: seconds(2),
            look: Duration::from_secs(1),
        };
        assert_eq!(Lives::lasting(seconds(60)), expected);
        let by_default = Lives {
            authority: SignedDuration::from_hours(365 * 24),
            signed: SignedDuration::from_hours(90 * 24),
            settling: seconds(60),
            look: Duration::from_secs(60),
        };
        assert_eq!(lives(), by_default);
    }

    #[test]
    fn what_is_kept_is_what_was_made() {
        let made = Material::first(&names(), &lives(), at(0)).unwrap();
        assert_eq!(Material::from_data(&made.to_data()), Some(made.clone()));
        assert!(!format!("{made:?}").contains("PRIVATE"));
        let due = made.next(&names(), true, &lives(), at(250)).unwrap().unwrap();
        assert_eq!(Material::from_data(&due.to_data()), Some(due));
        assert_eq!(Material::from_data(&BTreeMap::new()), None);
    }

    #[test]
    fn a_new_authority_is_trusted_before_it_signs_and_the_old_one_after() {
        let first = Material::first(&names(), &lives(), at(0)).unwrap();
        assert_eq!(first.next(&names(), true, &lives(), at(59)).unwrap(), None, "nothing is due");
        let renewed = first.next(&names(), true, &lives(), at(60)).unwrap().expect("two thirds of 90 days");
        assert_eq!(renewed.bundle(), first.bundle());
        assert_ne!(renewed.shown(), first.shown());

        let due = renewed.next(&names(), true, &lives(), at(244)).unwrap().expect("two thirds of a year");
        assert_eq!(due.shown(), renewed.shown(), "the new one signs nothing yet");
        assert!(due.bundle().starts_with(&renewed.bundle()) && due.bundle().len() > renewed.bundle().len());
        let waiting = due
            .next(&names(), false, &lives(), at(245))
            .unwrap()
            .expect("what is shown is renewed meanwhile");
        assert!(verifies(&first.bundle(), waiting.shown().0, at(245)), "by the old authority");

        let published = waiting.next(&names(), true, &lives(), at(245)).unwrap().expect("every place has it");
        assert_eq!(published.shown(), waiting.shown(), "an API server may not have heard of it yet");
        assert_eq!(published.next(&names(), true, &lives(), at(245)).unwrap(), None, "it waits");
        let lost = published.next(&names(), false, &lives(), at(246)).unwrap().expect("a place lost it");
        assert_eq!(lost, waiting, "and has to learn it anew");
        assert_eq!(Material::from_data(&published.to_data()), Some(published.clone()));

        let turned = published.next(&names(), true, &lives(), at(246)).unwrap().expect("now it signs");
        assert!(
            verifies(&due.bundle(), turned.shown().0, at(246)),
            "for those who have the bundle of before"
        );
        assert!(
            verifies(&turned.bundle(), waiting.shown().0, at(246)),
            "and others may still show the old one"
        );
        let left =
            turned.next(&names(), true, &lives(), at(246 + 90)).unwrap().expect("nobody shows it any more");
        assert!(left.leaving.is_none() && left.bundle().len() < turned.bundle().len());
    }

    #[test]
    fn other_names_need_another_certificate_and_a_long_sleep_a_new_beginning() {
        let first = Material::first(&names(), &lives(), at(0)).unwrap();
        let other = first.next(&["elsewhere.svc".into()], true, &lives(), at(1)).unwrap().unwrap();
        assert_eq!((other.bundle(), &other.names[..]), (first.bundle(), &["elsewhere.svc".to_owned()][..]));
        let late = first.next(&names(), true, &lives(), at(366)).unwrap().unwrap();
        assert!(verifies(&late.bundle(), late.shown().0, at(366)));
        assert!(Material::first(&["ümläut".into()], &lives(), at(0)).is_err());
    }
}
