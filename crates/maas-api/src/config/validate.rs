//! Whether settings fit together.

use super::{Config, Settings};

/// A setting that will not do. Existing scripts know the texts.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum ConfigError {
    /// Half of a pair.
    #[error("--tls-cert and --tls-key must both be provided together")]
    HalfAPair,
    /// HTTPS without a certificate.
    #[error("--secure requires either --tls-cert/--tls-key or --tls-self-signed")]
    NoCertificate,
    /// No namespace.
    #[error("MAAS_SUBSCRIPTION_NAMESPACE must be non-empty")]
    NoNamespace,
    /// Not a namespace's name.
    #[error("MAAS_SUBSCRIPTION_NAMESPACE {name:?} is invalid: [{reasons}]")]
    BadNamespace {
        /// What was given.
        name: String,
        /// What is wrong with it.
        reasons: String,
    },
    /// A number below its least value.
    #[error("{0} must be at least 1")]
    TooSmall(&'static str),
    /// A number below zero.
    #[error("{0} must not be negative")]
    Negative(&'static str),
}

impl Settings {
    /// Checks the settings, and fills in what follows from them.
    pub fn validate(mut self) -> Result<Config, ConfigError> {
        if !self.port.is_empty() {
            self.secure = false;
            if self.address.is_empty() {
                self.address = format!(":{}", self.port);
            }
        }
        if self.tls_cert.is_empty() != self.tls_key.is_empty() {
            return Err(ConfigError::HalfAPair);
        }
        let tls = self.tls();
        if self.secure && tls.is_none() {
            return Err(ConfigError::NoCertificate);
        }
        if self.address.is_empty() {
            self.address = if tls.is_some() { ":8443" } else { ":8080" }.into();
        }
        self.check_namespace()?;
        for (name, value) in [
            ("API_KEY_MAX_EXPIRATION_DAYS", self.max_expiration_days),
            ("ACCESS_CHECK_TIMEOUT_SECONDS", self.access_check_timeout_seconds),
            ("SAR_CACHE_MAX_SIZE", self.sar_cache_max_size),
            ("DB_MAX_OPEN_CONNS", self.db_max_open),
            ("DB_CONN_MAX_LIFETIME_SECONDS", self.db_max_lifetime_seconds),
        ] {
            if value < 1 {
                return Err(ConfigError::TooSmall(name));
            }
        }
        for (name, value) in [
            ("DB_MAX_IDLE_CONNS", self.db_max_idle),
            ("VALIDATION_CACHE_TTL_SECONDS", self.validation_cache_seconds),
            ("VALIDATION_CACHE_MAX_SIZE", self.validation_cache_max_size),
            ("RATE_LIMIT_PER_MINUTE", self.rate_limit_per_minute),
        ] {
            if value < 0 {
                return Err(ConfigError::Negative(name));
            }
        }
        let version = self.tls_min_version;
        Ok(Config {
            tls: tls.map(|source| (source, version)),
            options: self.options(),
            pool: self.pool(),
            address: self.address,
        })
    }

    fn check_namespace(&self) -> Result<(), ConfigError> {
        let name = &self.subscription_namespace;
        if name.trim().is_empty() {
            return Err(ConfigError::NoNamespace);
        }
        let mut reasons = Vec::new();
        if name.len() > 63 {
            reasons.push("must be no more than 63 characters");
        }
        let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if !name.bytes().all(inner) || name.starts_with('-') || name.ends_with('-') {
            reasons.push(
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and \
                 end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
                 '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
            );
        }
        match reasons.is_empty() {
            true => Ok(()),
            false => Err(ConfigError::BadNamespace { name: name.clone(), reasons: reasons.join(" ") }),
        }
    }
}
