//! The flags that the originals' managers share.

use std::path::PathBuf;

use clap::Args;
use quintet_kit::serve::TlsFiles;

use super::go::{self, switch};
use super::zap::Zap;
use crate::client::connect::Server;
use crate::serve::Ports;

/// What every manager is told. The flags about its metrics' address and certificate have other names or defaults in each.
#[derive(Args, Debug)]
pub struct Shared {
    /// Metrics over TLS, for those whom the cluster lets; false for plain text and everybody
    #[arg(long, value_parser = switch(), num_args = 0..=1, require_equals = true, default_value = "true", default_missing_value = "true")]
    metrics_secure: bool,
    /// Where the probes are served; 0 or empty for nowhere
    #[arg(long, default_value = ":8081", value_name = "ADDRESS")]
    health_probe_bind_address: String,
    /// Write only while holding the lease
    #[arg(long, value_parser = switch(), num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    pub leader_elect: bool,
    /// Path of a kubeconfig, outside a cluster
    #[arg(long, default_value = "", value_name = "PATH")]
    kubeconfig: String,
    /// How logs are written.
    #[command(flatten)]
    pub zap: Zap,
}

impl Shared {
    /// The API server to work on.
    pub fn server(&self) -> Server {
        let kubeconfig = (!self.kubeconfig.is_empty()).then(|| PathBuf::from(&self.kubeconfig));
        Server { kubeconfig, context: None }
    }

    /// What is served, with metrics at this address and, if they are secure, this certificate.
    pub fn ports(&self, metrics: &str, certificate: Option<TlsFiles>) -> Ports {
        let metrics = go::address(metrics, Some(":8080"));
        let (secure, plain) = if self.metrics_secure { (metrics, None) } else { (None, metrics) };
        Ports {
            health: go::address(&self.health_probe_bind_address, None),
            always_ready: true,
            metrics: secure,
            certificate,
            plain_metrics: plain,
        }
    }
}

/// The files, if both are there.
pub fn if_there(files: TlsFiles) -> Option<TlsFiles> {
    (files.certificate.exists() && files.key.exists()).then_some(files)
}
