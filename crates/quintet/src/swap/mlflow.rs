//! In the place of the MLflow operator's manager.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use quintet_kit::System;
use quintet_kit::serve::TlsFiles;
use quintet_mlflow::{Config, ConfigError, Mlflow};

use super::go::{self, switch};
use super::zap::Zap;
use crate::client::connect::Server;
use crate::operate::Operators;
use crate::serve::Ports;
use crate::systems::pod_namespace;

/// The original's flags.
#[derive(Parser, Debug)]
#[command(name = "manager", about = "The MLflow operator", max_term_width = 110)]
pub struct Flags {
    /// Where metrics are served; 0 for nowhere, empty for :8080
    #[arg(long, default_value = "0", value_name = "ADDRESS", allow_hyphen_values = true)]
    metrics_bind_address: String,
    /// Metrics over TLS, for those whom the cluster lets; false for plain text and everybody
    #[arg(long, value_parser = switch(), num_args = 0..=1, require_equals = true, default_value = "true", default_missing_value = "true")]
    metrics_secure: bool,
    /// Folder with the certificate of the metrics server, read again when it changes
    #[arg(long, default_value = "", value_name = "PATH")]
    metrics_cert_path: String,
    /// The certificate's name in that folder
    #[arg(long, default_value = "tls.crt", value_name = "FILE")]
    metrics_cert_name: String,
    /// The key's name in that folder
    #[arg(long, default_value = "tls.key", value_name = "FILE")]
    metrics_cert_key: String,
    /// Where the probes are served; 0 or empty for nowhere
    #[arg(long, default_value = ":8081", value_name = "ADDRESS")]
    health_probe_bind_address: String,
    /// The namespace that MLflow runs in
    #[arg(long, default_value = "opendatahub", value_name = "NAME")]
    namespace: String,
    /// Write only while holding the lease
    #[arg(long, value_parser = switch(), num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    leader_elect: bool,
    /// Path of a kubeconfig, outside a cluster
    #[arg(long, default_value = "", value_name = "PATH")]
    kubeconfig: String,
    #[command(flatten)]
    zap: Zap,
}

/// Runs as the original does.
pub fn main(arguments: &[OsString]) -> ExitCode {
    let flags: Flags = match go::parse(arguments) {
        Ok(flags) => flags,
        Err(code) => return code,
    };
    super::run(&flags.zap, async || {
        let config = flags.config(|name| std::env::var(name).ok())?;
        let kubeconfig = (!flags.kubeconfig.is_empty()).then(|| PathBuf::from(&flags.kubeconfig));
        let system: Arc<dyn System> = Arc::new(Mlflow::new(config));
        Ok(Operators {
            server: Server { kubeconfig, context: None }.config().await?,
            systems: vec![system].into(),
            // The original's lease is beside its pod; outside a cluster, beside what it makes.
            leases: flags.leader_elect.then(|| pod_namespace().unwrap_or(flags.namespace.clone())),
            lease_lasts: None,
            workers: 1,
            ports: flags.ports(),
            webhooks: None,
        })
    })
}

impl Flags {
    fn config(&self, variable: impl Fn(&str) -> Option<String>) -> Result<Config, ConfigError> {
        Config::new(&self.namespace, variable)
    }

    fn ports(&self) -> Ports {
        let metrics = go::address(&self.metrics_bind_address, Some(":8080"));
        let (secure, plain) = if self.metrics_secure { (metrics, None) } else { (None, metrics) };
        Ports {
            health: go::address(&self.health_probe_bind_address, None),
            always_ready: true,
            metrics: secure,
            certificate: self.certificate(),
            plain_metrics: plain,
        }
    }

    /// The files, if both are there: the original, too, makes a certificate of its own otherwise.
    fn certificate(&self) -> Option<TlsFiles> {
        let folder = Path::new(&self.metrics_cert_path);
        let files = TlsFiles {
            certificate: folder.join(&self.metrics_cert_name),
            key: folder.join(&self.metrics_cert_key),
        };
        (!self.metrics_cert_path.is_empty() && files.certificate.exists() && files.key.exists())
            .then_some(files)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(given: &[&str]) -> Flags {
        let arguments: Vec<OsString> = ["/manager"].iter().chain(given).map(OsString::from).collect();
        go::parse(&arguments).expect("the original's flags")
    }

    #[test]
    fn the_arguments_of_the_shipped_manifests_are_understood() {
        let ports = flags(&[
            "--leader-elect",
            "--health-probe-bind-address=:8081",
            "-metrics-bind-address=:8443",
            "--metrics-cert-path=/etc/metrics-certs",
            "--namespace=redhat-ods-applications",
            "--zap-log-level=debug",
            "--zap-devel",
        ])
        .ports();
        assert_eq!((ports.health.as_deref(), ports.metrics.as_deref()), (Some(":8081"), Some(":8443")));
        assert!(ports.plain_metrics.is_none() && ports.certificate.is_none(), "no such files here");
    }

    #[test]
    fn metrics_are_off_unless_asked_for_and_plain_if_told_so() {
        let ports = flags(&[]).ports();
        assert_eq!((ports.metrics, ports.plain_metrics), (None, None));
        let ports = flags(&["--metrics-bind-address=", "--metrics-secure=false"]).ports();
        assert_eq!((ports.metrics, ports.plain_metrics.as_deref()), (None, Some(":8080")));
    }

    #[test]
    fn an_empty_namespace_is_refused() {
        let error = flags(&["--namespace="]).config(|_| None).unwrap_err();
        assert!(error.to_string().starts_with("namespace must be specified"), "{error}");
    }
}
