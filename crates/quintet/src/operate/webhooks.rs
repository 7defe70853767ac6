//! The webhooks of all systems on one TLS port.

use anyhow::{Context, Result};
use kube::Client;
use quintet_kit::Clock;
use quintet_kit::serve::{Listener, Tls, TlsFiles, TlsSource, TlsVersion};
use quintet_kit::webhook::Webhooks;
use quintet_kit::webhook::authority::Keeper;
use tokio_util::sync::CancellationToken;

use crate::serve::{serve, taken};
use crate::systems::Systems;

/// The Secret that holds certificates of our own.
pub const SECRET: &str = "quintet-webhook-certificates";

/// Where webhooks are served, and with which certificate.
#[derive(Clone, Debug)]
pub struct WebhookPort {
    /// `HOST:PORT`.
    pub address: String,
    /// A mounted certificate; none has an authority of our own sign one, and the API server told to trust it.
    pub certificate: Option<TlsFiles>,
    /// The namespace of this process: of the Services that it is called through, and of our certificates.
    pub namespace: String,
}

impl WebhookPort {
    /// Serves the webhooks of these systems until told to stop; does nothing if they have none.
    pub async fn open(&self, systems: &Systems, client: &Client, stop: &CancellationToken) -> Result<()> {
        let hooks = systems.iter().fold(Webhooks::new(), |all, system| all.and(system.webhooks()));
        if hooks.is_empty() {
            return Ok(());
        }
        let source = match &self.certificate {
            Some(files) => TlsSource::Files(files.clone()),
            None => self.our_own(&hooks, client, stop).await?,
        };
        let tls = Tls { source, oldest: TlsVersion::V1_2, http2: true };
        let listener = Listener::bind_tls(&self.address, tls, stop).await;
        let listener = listener.map_err(|error| taken(&self.address, &error))?;
        let address = serve(listener, hooks.router(), stop)?;
        tracing::info!(%address, "serving webhooks");
        Ok(())
    }

    async fn our_own(
        &self,
        hooks: &Webhooks,
        client: &Client,
        stop: &CancellationToken,
    ) -> Result<TlsSource> {
        let (namespace, clock) = (&self.namespace, Clock::system());
        let names = |service: &String| {
            [format!("{service}.{namespace}.svc"), format!("{service}.{namespace}.svc.cluster.local")]
        };
        let keeper = Keeper {
            namespace: namespace.clone(),
            secret: SECRET.into(),
            names: hooks.services().iter().flat_map(names).chain(["localhost".into()]).collect(),
            targets: hooks.targets().to_vec(),
        };
        let certificate =
            keeper.certificate(client, &clock).await.context("making the webhooks' certificate")?;
        let (client, shown) = (client.clone(), certificate.clone());
        tokio::spawn(stop.clone().run_until_cancelled_owned(async move {
            keeper.keep(&client, &clock, &shown).await;
        }));
        Ok(TlsSource::Held(certificate))
    }
}
