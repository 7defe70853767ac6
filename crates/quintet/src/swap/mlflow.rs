//! In the place of the MLflow operator's manager.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use quintet_kit::System;
use quintet_kit::serve::TlsFiles;
use quintet_mlflow::{Config, ConfigError, Mlflow};

use super::flags::{Shared, if_there};
use super::go;
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
    /// Folder with the certificate of the metrics server, read again when it changes
    #[arg(long, default_value = "", value_name = "PATH")]
    metrics_cert_path: String,
    /// The certificate's name in that folder
    #[arg(long, default_value = "tls.crt", value_name = "FILE")]
    metrics_cert_name: String,
    /// The key's name in that folder
    #[arg(long, default_value = "tls.key", value_name = "FILE")]
    metrics_cert_key: String,
    /// The namespace that MLflow runs in
    #[arg(long, default_value = "opendatahub", value_name = "NAME")]
    namespace: String,
    #[command(flatten)]
    shared: Shared,
}

/// Runs as the original does.
pub fn main(arguments: &[OsString]) -> ExitCode {
    let flags: Flags = match go::parse(arguments) {
        Ok(flags) => flags,
        Err(code) => return code,
    };
    super::run(&flags.shared.zap, async || {
        let config = flags.config(|name| std::env::var(name).ok())?;
        let system: Arc<dyn System> = Arc::new(Mlflow::new(config));
        Ok(Operators {
            server: flags.shared.server().config().await?,
            systems: vec![system].into(),
            // The original's lease is beside its pod; outside a cluster, beside what it makes.
            leases: flags.shared.leader_elect.then(|| pod_namespace().unwrap_or(flags.namespace.clone())),
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
        self.shared.ports(&self.metrics_bind_address, self.certificate())
    }

    /// The files, if both are there: the original, too, makes a certificate of its own otherwise.
    fn certificate(&self) -> Option<TlsFiles> {
        let folder = Path::new(&self.metrics_cert_path);
        let certificate = folder.join(&self.metrics_cert_name);
        let files = TlsFiles { certificate, key: folder.join(&self.metrics_cert_key) };
        if self.metrics_cert_path.is_empty() { None } else { if_there(files) }
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
