//! In the place of the model registry operator's manager.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result};
use clap::Parser;
use kube::Client;
use quintet_kit::System;
use quintet_kit::serve::TlsFiles;
use quintet_kit::webhook::authority::Lives;
use quintet_model_registry::{Config, ModelRegistryOperator, WEBHOOK_MOUNT};

use super::flags::{Shared, if_there};
use super::{Setup, go, webhook_host};
use crate::operate::Operators;
use crate::operate::webhooks::WebhookPort;
use crate::serve::Ports;
use crate::systems::{home_namespace, pod_namespace};

/// Where the original's manager serves webhooks; it has no flag for it.
const WEBHOOKS: &str = ":9443";
/// Moves that port, for tests and for machines where it is taken.
const WEBHOOK_LISTEN: &str = "QUINTET_WEBHOOK_LISTEN";
/// Where certificates are kept that nobody mounted.
const SECRET: &str = "model-registry-operator-webhook-certificates";

/// The original's flags.
#[derive(Parser, Debug)]
#[command(name = "manager", about = "The model registry operator", max_term_width = 110)]
pub struct Flags {
    /// Where metrics are served; 0 for nowhere, empty for :8080
    #[arg(long, default_value = ":8443", value_name = "ADDRESS", allow_hyphen_values = true)]
    metrics_bind_address: String,
    /// Folder with the certificate of the metrics server, read again when it changes; empty for one made at start
    #[arg(long, default_value = "", value_name = "PATH")]
    metrics_cert_dir: String,
    /// The certificate's name in that folder; empty for tls.crt
    #[arg(long, default_value = "", value_name = "FILE")]
    metrics_cert_name: String,
    /// The key's name in that folder; empty for tls.key
    #[arg(long, default_value = "", value_name = "FILE")]
    metrics_key_name: String,
    #[command(flatten)]
    shared: Shared,
}

/// Runs as the original does.
pub fn main(arguments: &[OsString]) -> ExitCode {
    let flags: Flags = match go::parse(arguments) {
        Ok(flags) => flags,
        Err(code) => return code,
    };
    // The original's logs are those of development unless told otherwise.
    super::run(&flags.shared.zap.developing(), async || {
        let config = Config::new(|name| std::env::var(name).ok())?;
        let server = flags.shared.server().config().await?;
        let client = Client::try_from(server.clone()).context("setting up the connection")?;
        served(&client).await.context(Setup("error detecting cluster capabilities"))?;
        let namespace = home_namespace();
        let webhooks = config.webhooks.then(|| webhooks(&namespace));
        let system: Arc<dyn System> = Arc::new(ModelRegistryOperator::new(config));
        Ok(Operators {
            server,
            systems: vec![system].into(),
            leases: flags.shared.leader_elect.then(|| pod_namespace().unwrap_or(namespace)),
            lease_lasts: None,
            workers: 1,
            ports: flags.ports(),
            webhooks,
        })
    })
}

/// Asks which APIs there are, as the original does before all else: without an answer it does not start. Those that come
/// and go later are noticed anyway.
async fn served(client: &Client) -> Result<()> {
    let groups = client.list_api_groups().await?;
    let has = |group: &str| groups.groups.iter().any(|served| served.name == group);
    tracing::info!(
        logger = "setup",
        isOpenShift = has("route.openshift.io"),
        hasUserAPI = has("user.openshift.io"),
        hasConfigAPI = has("config.openshift.io"),
        hasAuthAPI = has("services.platform.opendatahub.io"),
        "cluster capabilities detected"
    );
    Ok(())
}

/// Where webhooks are served: with the certificate that the original's Deployment mounts, or one of our own.
fn webhooks(namespace: &str) -> WebhookPort {
    let address = std::env::var(WEBHOOK_LISTEN).ok().filter(|address| !address.is_empty());
    WebhookPort {
        address: address.unwrap_or_else(|| WEBHOOKS.into()),
        certificate: if_there(files(Path::new(WEBHOOK_MOUNT), "", "")),
        namespace: namespace.into(),
        secret: SECRET.into(),
        hosts: webhook_host(),
        lives: Lives::default(),
    }
}

impl Flags {
    fn ports(&self) -> Ports {
        self.shared.ports(&self.metrics_bind_address, self.certificate())
    }

    /// The files, which must be there if a folder is named, as in the original.
    fn certificate(&self) -> Option<TlsFiles> {
        let folder = Path::new(&self.metrics_cert_dir);
        let files = files(folder, &self.metrics_cert_name, &self.metrics_key_name);
        (!self.metrics_cert_dir.is_empty()).then_some(files)
    }
}

fn files(folder: &Path, certificate: &str, key: &str) -> TlsFiles {
    let named = |name: &str, usual: &str| folder.join(if name.is_empty() { usual } else { name });
    TlsFiles { certificate: named(certificate, "tls.crt"), key: named(key, "tls.key") }
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
        let flags = flags(&[
            "--health-probe-bind-address=:8081",
            "--metrics-bind-address=:8443",
            "--leader-elect",
            "--metrics-secure=true",
            "--metrics-cert-dir=/etc/server-cert/",
            "--metrics-cert-name=tls.crt",
            "-metrics-key-name=tls.key",
            "-zap-log-level=info",
        ]);
        let ports = flags.ports();
        assert!(flags.shared.leader_elect && ports.plain_metrics.is_none());
        assert_eq!((ports.health.as_deref(), ports.metrics.as_deref()), (Some(":8081"), Some(":8443")));
        let files = ports.certificate.expect("a folder is named");
        assert_eq!(files.certificate, Path::new("/etc/server-cert/tls.crt"));
        assert_eq!(files.key, Path::new("/etc/server-cert/tls.key"));
    }

    #[test]
    fn metrics_are_secure_unless_told_otherwise() {
        let ports = flags(&[]).ports();
        assert_eq!((ports.metrics.as_deref(), ports.plain_metrics), (Some(":8443"), None));
        assert!(ports.certificate.is_none(), "one is made at start");
        let ports = flags(&["--metrics-secure=false"]).ports();
        assert_eq!((ports.metrics, ports.plain_metrics.as_deref()), (None, Some(":8443")));
    }
}
