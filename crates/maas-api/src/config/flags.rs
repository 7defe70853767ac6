//! Flags as Go programs read them: one dash or two, `--x=v` or `--x v`, booleans only `--x` or `--x=v`.

use std::fmt::Write as _;

use super::Settings;
use crate::server::TlsVersion;

/// A flag that cannot be used. `Help` is not an error.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum FlagError {
    /// `-h` or `--help`.
    #[error("help requested")]
    Help,
    /// It does not exist.
    #[error("flag provided but not defined: -{0}")]
    Unknown(String),
    /// It is not a flag at all.
    #[error("bad flag syntax: {0}")]
    Syntax(String),
    /// Its value is missing.
    #[error("flag needs an argument: -{0}")]
    NoValue(String),
    /// Its value is not a truth value.
    #[error("invalid boolean value {value:?} for -{name}: parse error")]
    NotBool {
        /// The flag.
        name: String,
        /// The value.
        value: String,
    },
    /// Its value is not a version of TLS.
    #[error(
        "invalid value {0:?} for flag -tls-min-version: unsupported TLS version {0:?}: must be 1.2 or 1.3"
    )]
    NotAVersion(String),
}

enum Kind {
    Text(fn(&mut Settings) -> &mut String),
    Bool(fn(&mut Settings) -> &mut bool),
    Version,
}

/// Every flag, with what it means.
const FLAGS: [(&str, Kind, &str); 13] = [
    (
        "address",
        Kind::Text(|s| &mut s.address),
        "where to listen (default \":8443\" with TLS, \":8080\" without)",
    ),
    ("debug", Kind::Bool(|s| &mut s.debug), "verbose logs, and calls from web pages on this machine"),
    ("gateway-name", Kind::Text(|s| &mut s.gateway_name), "name of the Gateway; kept, but without effect"),
    (
        "gateway-namespace",
        Kind::Text(|s| &mut s.gateway_namespace),
        "its namespace; kept, but without effect",
    ),
    (
        "maas-subscription-namespace",
        Kind::Text(|s| &mut s.subscription_namespace),
        "where MaaSSubscriptions are (default \"models-as-a-service\")",
    ),
    ("name", Kind::Text(|s| &mut s.instance_name), "organization in a self-signed certificate"),
    (
        "namespace",
        Kind::Text(|s| &mut s.namespace),
        "where the Secret maas-db-config is (default \"maas-api\")",
    ),
    ("port", Kind::Text(|s| &mut s.port), "deprecated: use --address with --secure=false"),
    ("secure", Kind::Bool(|s| &mut s.secure), "HTTPS"),
    ("tls-cert", Kind::Text(|s| &mut s.tls_cert), "certificate file (PEM); read again when it changes"),
    ("tls-key", Kind::Text(|s| &mut s.tls_key), "its key (PEM)"),
    ("tls-min-version", Kind::Version, "oldest version of TLS: 1.2 or 1.3 (default 1.2)"),
    ("tls-self-signed", Kind::Bool(|s| &mut s.tls_self_signed), "make a certificate at start"),
];

/// All flags, one to a line; made once.
pub static USAGE: std::sync::LazyLock<String> = std::sync::LazyLock::new(|| {
    let mut usage = "Usage of maas-api:\n".to_owned();
    for (name, kind, meaning) in &FLAGS {
        let value = if matches!(kind, Kind::Bool(_)) { "" } else { " string" };
        let _ = write!(usage, "  -{name}{value}\n    \t{meaning}\n");
    }
    usage.push_str(
        "\nEvery flag has an environment variable; see docs/systems/maas-api.md for those and for more.\n",
    );
    usage
});

/// Reads flags up to the first argument that is none; the rest is ignored.
pub(super) fn apply(settings: &mut Settings, arguments: &[String]) -> Result<(), FlagError> {
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let Some(rest) = argument.strip_prefix('-').filter(|rest| !rest.is_empty()) else { break };
        let rest = rest.strip_prefix('-').unwrap_or(rest);
        if rest.is_empty() {
            break; // `--` ends the flags
        }
        let (name, value) = match rest.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (rest, None),
        };
        if name.is_empty() || name.starts_with('-') {
            return Err(FlagError::Syntax(argument.clone()));
        }
        let Some((_, kind, _)) = FLAGS.iter().find(|(flag, ..)| *flag == name) else {
            let help = matches!(name, "h" | "help");
            return Err(if help { FlagError::Help } else { FlagError::Unknown(name.to_owned()) });
        };
        if let Kind::Bool(field) = kind {
            let value = value.unwrap_or_else(|| "true".into());
            let parsed = parse_bool(&value);
            *field(settings) = parsed.ok_or_else(|| FlagError::NotBool { name: name.to_owned(), value })?;
            continue;
        }
        let value = match value {
            Some(value) => value,
            None => arguments.next().cloned().ok_or_else(|| FlagError::NoValue(name.to_owned()))?,
        };
        match kind {
            Kind::Text(field) => *field(settings) = value,
            Kind::Version => {
                settings.tls_min_version = parse_version(&value).ok_or(FlagError::NotAVersion(value))?
            }
            Kind::Bool(_) => {}
        }
        settings.port_flag |= name == "port";
    }
    Ok(())
}

/// The spellings Go accepts.
pub(super) fn parse_bool(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Some(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Some(false),
        _ => None,
    }
}

pub(super) fn parse_version(text: &str) -> Option<TlsVersion> {
    match text {
        "1.2" => Some(TlsVersion::V1_2),
        "1.3" => Some(TlsVersion::V1_3),
        _ => None,
    }
}
