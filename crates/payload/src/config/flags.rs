//! The original's command line.

use std::path::PathBuf;

use clap::{ArgAction, Args};

use super::PluginSpec;

/// The flags of payload processing. Booleans take `--flag`, `--flag=true` or `--flag=false`.
#[derive(Args, Debug, Clone)]
#[command(disable_help_flag = false)]
pub struct Flags {
    /// Port of the ext_proc service
    #[arg(long, default_value_t = 9004, value_name = "PORT", allow_negative_numbers = true)]
    pub grpc_port: i64,
    /// Port of the gRPC health service
    #[arg(long, default_value_t = 9005, value_name = "PORT", allow_negative_numbers = true)]
    pub grpc_health_port: i64,
    /// Port of the metrics
    #[arg(long, default_value_t = 9090, value_name = "PORT", allow_negative_numbers = true)]
    pub metrics_port: i64,
    /// Envoy hands bodies over in full-duplex streams (FULL_DUPLEX_STREAMED); else in one piece (BUFFERED)
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", action = ArgAction::Set, value_parser = boolean)]
    pub streaming: bool,
    /// Serve ext_proc over TLS
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "true", action = ArgAction::Set, value_parser = boolean)]
    pub secure_serving: bool,
    /// Folder with tls.crt and tls.key; without it a certificate is made at every start
    #[arg(long, value_name = "FOLDER")]
    pub cert_path: Option<PathBuf>,
    /// Export traces with OpenTelemetry
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "true", action = ArgAction::Set, value_parser = boolean)]
    pub tracing: bool,
    /// Let only those read the metrics who may get /metrics in this cluster
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "true", action = ArgAction::Set, value_parser = boolean)]
    pub metrics_endpoint_auth: bool,
    /// Serve /debug/pprof; accepted for compatibility, Go's profiles do not exist here
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "true", action = ArgAction::Set, value_parser = boolean)]
    pub enable_pprof: bool,
    /// A plugin: its type, name and JSON settings, parted by colons; repeat for more, in the order they are to run
    #[arg(long = "plugin", value_name = "PLUGIN")]
    pub plugins: Vec<PluginSpec>,
    /// How much to log: 2 normal, 3 verbose, 4 debug, 5 trace
    #[arg(short = 'v', long = "v", default_value_t = 2, value_name = "LEVEL", allow_negative_numbers = true)]
    pub verbosity: i32,
    /// Beats -v: debug, info, error or a number
    #[arg(long, value_name = "LEVEL")]
    pub zap_log_level: Option<String>,
    #[command(flatten)]
    zap: IgnoredZapFlags,
}

/// Accepted and without effect, as in the original.
#[derive(Args, Debug, Clone)]
struct IgnoredZapFlags {
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true)]
    zap_devel: Option<Option<String>>,
    #[arg(long, hide = true)]
    zap_encoder: Option<String>,
    #[arg(long, hide = true)]
    zap_stacktrace_level: Option<String>,
    #[arg(long, hide = true)]
    zap_time_encoding: Option<String>,
}

/// Flags that parse and make no sense together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FlagError {
    /// A port that is none.
    #[error("invalid value {value} for flag \"{name}\": must be between 1 and 65535")]
    Port {
        /// The flag.
        name: &'static str,
        /// What it was given.
        value: i64,
    },
    /// Two servers on one port.
    #[error(
        "port conflict: grpc-port ({grpc}), grpc-health-port ({health}), and metrics-port ({metrics}) must all be different"
    )]
    PortConflict {
        /// `--grpc-port`
        grpc: i64,
        /// `--grpc-health-port`
        health: i64,
        /// `--metrics-port`
        metrics: i64,
    },
}

impl Flags {
    /// Checks the ports; gives them as ext_proc, health, metrics.
    pub fn ports(&self) -> Result<[u16; 3], FlagError> {
        let port = |name, value: i64| {
            u16::try_from(value).ok().filter(|port| *port > 0).ok_or(FlagError::Port { name, value })
        };
        let ports = [
            port("grpc-port", self.grpc_port)?,
            port("grpc-health-port", self.grpc_health_port)?,
            port("metrics-port", self.metrics_port)?,
        ];
        let [grpc, health, metrics] = ports;
        if grpc == health || grpc == metrics || health == metrics {
            let (grpc, health, metrics) = (self.grpc_port, self.grpc_health_port, self.metrics_port);
            return Err(FlagError::PortConflict { grpc, health, metrics });
        }
        Ok(ports)
    }

    /// The chain: what was asked for, else the framework's default.
    pub fn chain(&self) -> Vec<PluginSpec> {
        if self.plugins.is_empty() { PluginSpec::defaults() } else { self.plugins.clone() }
    }

    /// The level to log at.
    pub fn log_level(&self) -> tracing::Level {
        let by_name = match self.zap_log_level.as_deref() {
            Some("debug") => Some(4),
            Some("info") => Some(2),
            Some("error") => return tracing::Level::ERROR,
            Some(number) => number.parse().ok(),
            None => None,
        };
        // A negative number would silence what operators look for; it counts as the default.
        match by_name.unwrap_or(self.verbosity) {
            4 => tracing::Level::DEBUG,
            5.. => tracing::Level::TRACE,
            _ => tracing::Level::INFO,
        }
    }
}

/// The spellings Go accepts.
fn boolean(text: &str) -> Result<bool, String> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err("expected true or false".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser, Debug)]
    struct Cli {
        #[command(flatten)]
        flags: Flags,
    }

    fn parse(args: &[&str]) -> Result<Flags, clap::Error> {
        Cli::try_parse_from([&["bbr"], args].concat()).map(|cli| cli.flags)
    }

    #[test]
    fn the_deployments_arguments() {
        let flags =
            parse(&["--streaming", "--v", "3", "--plugin", "a:b", "--plugin", "c:d:{}", "--tracing=false"])
                .unwrap();
        assert!(flags.streaming && flags.secure_serving && !flags.tracing);
        assert_eq!((flags.verbosity, flags.chain().len()), (3, 2));
        assert_eq!(flags.ports(), Ok([9004, 9005, 9090]));
    }

    #[test]
    fn spellings_of_booleans_and_levels() {
        let flags = parse(&["--secure-serving=F", "-v=4", "--zap-devel", "--zap-encoder", "json"]).unwrap();
        assert!(!flags.secure_serving);
        assert_eq!(flags.log_level(), tracing::Level::DEBUG);
        assert_eq!(parse(&["-v", "-1"]).unwrap().log_level(), tracing::Level::INFO);
        assert_eq!(parse(&["-v", "5", "--zap-log-level=error"]).unwrap().log_level(), tracing::Level::ERROR);
        assert_eq!(parse(&["--streaming=perhaps"]).unwrap_err().exit_code(), 2);
    }

    #[test]
    fn s27_flags() {
        let error = parse(&["--plugin", "nope"]).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert!(error.to_string().contains("usage: --plugin <type>:<name>:<json>"), "{error}");
        let conflict = parse(&["--grpc-port=9005"]).unwrap().ports().unwrap_err();
        let text = "port conflict: grpc-port (9005), grpc-health-port (9005), and metrics-port (9090) must all be different";
        assert_eq!(conflict.to_string(), text);
        let range = parse(&["--metrics-port", "70000"]).unwrap().ports().unwrap_err();
        assert_eq!(
            range.to_string(),
            r#"invalid value 70000 for flag "metrics-port": must be between 1 and 65535"#
        );
    }
}
