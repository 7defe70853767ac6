//! Settings: environment first, then flags, then checks. Nothing here touches the world.

mod flags;
#[cfg(test)]
mod tests;
mod validate;

use std::{collections::HashMap, time::Duration};

pub use flags::{FlagError, USAGE};
pub use validate::ConfigError;

use crate::{
    app::Options,
    cache::CacheLimits,
    server::{TlsFiles, TlsSource, TlsVersion},
    store::postgres::PoolSize,
};

/// Settings as given, not yet checked against each other.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Verbose logs, and calls from pages on this machine.
    pub debug: bool,
    /// Where the Secret with the database's URL is.
    pub namespace: String,
    /// Kept for the sake of existing deployments; without effect.
    pub gateway_name: String,
    /// Kept for the sake of existing deployments; without effect.
    pub gateway_namespace: String,
    /// The organization in a self-signed certificate.
    pub instance_name: String,
    /// Where MaaSSubscriptions are.
    pub subscription_namespace: String,
    /// `host:port` to listen on; empty for the default.
    pub address: String,
    /// HTTPS.
    pub secure: bool,
    /// Certificate file; empty for none.
    pub tls_cert: String,
    /// Key file; empty for none.
    pub tls_key: String,
    /// Make a certificate at start.
    pub tls_self_signed: bool,
    /// Oldest version of TLS.
    pub tls_min_version: TlsVersion,
    /// Deprecated: plain HTTP on this port.
    pub port: String,
    /// Whether `--port` was given on the command line.
    pub port_flag: bool,
    /// Longest, and default, life of a regular key.
    pub max_expiration_days: i64,
    /// For all access checks of one request.
    pub access_check_timeout_seconds: i64,
    /// Answers about administrators that are remembered.
    pub sar_cache_max_size: i64,
    /// Connections to the database.
    pub db_max_open: i64,
    /// Idle ones among them.
    pub db_max_idle: i64,
    /// Age at which one is replaced.
    pub db_max_lifetime_seconds: i64,
    /// Age at which a validation is asked for again. Ours.
    pub validation_cache_seconds: i64,
    /// Validations that are remembered. Ours.
    pub validation_cache_max_size: i64,
    /// Requests of one user in a minute; 0 for any number. Ours.
    pub rate_limit_per_minute: i64,
    /// Authorities for probed models' certificates; empty to check none. Ours.
    pub probe_ca_file: String,
}

/// Settings that fit together.
#[derive(Clone, Debug)]
pub struct Config {
    /// `host:port` to listen on.
    pub address: String,
    /// The certificate, if HTTPS is spoken.
    pub tls: Option<(TlsSource, TlsVersion)>,
    /// How the service behaves.
    pub options: Options,
    /// Connections to the database.
    pub pool: PoolSize,
}

impl Settings {
    /// From the environment and the arguments after the program's name.
    pub fn read(environment: &HashMap<String, String>, arguments: &[String]) -> Result<Self, FlagError> {
        let mut settings = Self::from_environment(environment);
        flags::apply(&mut settings, arguments)?;
        Ok(settings)
    }

    /// "Set but empty" counts as set; what cannot be read counts as not set.
    fn from_environment(environment: &HashMap<String, String>) -> Self {
        let text =
            |name: &str, default: &str| environment.get(name).cloned().unwrap_or_else(|| default.to_owned());
        let flag =
            |name: &str| environment.get(name).and_then(|value| flags::parse_bool(value)).unwrap_or(false);
        let number =
            |name: &str, default| environment.get(name).and_then(|v| v.parse().ok()).unwrap_or(default);
        let gateway_name = text("GATEWAY_NAME", "maas-default-gateway");
        Self {
            debug: flag("DEBUG_MODE"),
            namespace: text("NAMESPACE", "maas-api"),
            instance_name: text("INSTANCE_NAME", &gateway_name),
            gateway_name,
            gateway_namespace: text("GATEWAY_NAMESPACE", "openshift-ingress"),
            subscription_namespace: text("MAAS_SUBSCRIPTION_NAMESPACE", "models-as-a-service"),
            address: text("ADDRESS", ""),
            secure: flag("SECURE"),
            tls_cert: text("TLS_CERT", ""),
            tls_key: text("TLS_KEY", ""),
            tls_self_signed: flag("TLS_SELF_SIGNED"),
            tls_min_version: flags::parse_version(&text("TLS_MIN_VERSION", "")).unwrap_or_default(),
            port: text("PORT", ""),
            port_flag: false,
            max_expiration_days: number("API_KEY_MAX_EXPIRATION_DAYS", 90),
            access_check_timeout_seconds: number("ACCESS_CHECK_TIMEOUT_SECONDS", 15),
            sar_cache_max_size: number("SAR_CACHE_MAX_SIZE", 8192),
            db_max_open: number("DB_MAX_OPEN_CONNS", 25),
            db_max_idle: number("DB_MAX_IDLE_CONNS", 5),
            db_max_lifetime_seconds: number("DB_CONN_MAX_LIFETIME_SECONDS", 300),
            validation_cache_seconds: number("VALIDATION_CACHE_TTL_SECONDS", 30),
            validation_cache_max_size: number("VALIDATION_CACHE_MAX_SIZE", 100_000),
            rate_limit_per_minute: number("RATE_LIMIT_PER_MINUTE", 0),
            probe_ca_file: text("PROBE_CA_FILE", ""),
        }
    }

    /// Where the certificate comes from, if there is one.
    fn tls(&self) -> Option<TlsSource> {
        if !self.tls_cert.is_empty() && !self.tls_key.is_empty() {
            let (certificate, key) = (self.tls_cert.clone().into(), self.tls_key.clone().into());
            return Some(TlsSource::Files(TlsFiles { certificate, key }));
        }
        self.tls_self_signed.then(|| TlsSource::SelfSigned {
            organization: self.instance_name.clone(),
            hosts: vec![
                "localhost".into(),
                "127.0.0.1".into(),
                "maas-api".into(),
                format!("maas-api.{}.svc", self.namespace),
                format!("maas-api.{}.svc.cluster.local", self.namespace),
            ],
        })
    }

    fn options(&self) -> Options {
        let seconds = |n: i64| Duration::from_secs(u64::try_from(n).unwrap_or(0));
        let positive = |n: i64| u64::try_from(n).unwrap_or(0);
        Options {
            max_expiration_days: self.max_expiration_days,
            access_check_timeout: seconds(self.access_check_timeout_seconds),
            sar_cache_size: usize::try_from(self.sar_cache_max_size).unwrap_or(0),
            cache: CacheLimits {
                keys: positive(self.validation_cache_max_size),
                ttl: seconds(self.validation_cache_seconds),
                ..CacheLimits::default()
            },
            rate_limit: u32::try_from(self.rate_limit_per_minute).ok().filter(|limit| *limit > 0),
            debug: self.debug,
        }
    }

    fn pool(&self) -> PoolSize {
        let count = |n: i64| u32::try_from(n).unwrap_or(u32::MAX);
        PoolSize {
            open: count(self.db_max_open),
            idle: count(self.db_max_idle),
            lifetime: Duration::from_secs(self.db_max_lifetime_seconds.unsigned_abs()),
        }
    }
}
