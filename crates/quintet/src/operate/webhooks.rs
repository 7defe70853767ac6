//! The webhooks of all systems on one TLS port.

use std::collections::BTreeSet;

use anyhow::Result;
use kube::Client;
use quintet_kit::metrics::Metrics;
use quintet_kit::serve::{Listener, Tls, TlsFiles, TlsSource, TlsVersion};
use quintet_kit::webhook::Webhooks;
use quintet_kit::webhook::authority::{AuthorityError, Keeper, Lives};
use quintet_kit::{Clock, Hubs};
use tokio_util::sync::CancellationToken;

use crate::errors::{Exit, Refusal};
use crate::serve::{serve, taken};
use crate::systems::Systems;

/// Where webhooks are served, and with which certificate.
#[derive(Clone, Debug)]
pub struct WebhookPort {
    /// `HOST:PORT`.
    pub address: String,
    /// A mounted certificate; none has an authority of our own sign one, and the API server told to trust it.
    pub certificate: Option<TlsFiles>,
    /// The namespace of this process: of the Services that it is called through, and of our certificates.
    pub namespace: String,
    /// The Secret that our certificates are kept in.
    pub secret: String,
    /// Names that it is called by beside those of the Services.
    pub hosts: Vec<String>,
    /// How long our certificates last.
    pub lives: Lives,
}

impl WebhookPort {
    /// Serves the webhooks of these systems until told to stop; does nothing if they have none. Gives the names of the
    /// systems that convert.
    pub async fn open(
        &self,
        systems: &Systems,
        hubs: &Hubs,
        (client, metrics): (&Client, &Metrics),
        stop: &CancellationToken,
    ) -> Result<BTreeSet<String>> {
        let each = systems.iter().map(|system| (system.name(), system.webhooks(hubs)));
        let each: Vec<(&str, Webhooks)> = each.collect();
        let convert = each.iter().filter(|(_, hooks)| hooks.converts()).map(|(name, _)| (*name).into());
        let convert: BTreeSet<String> = convert.collect();
        let hooks = each.into_iter().fold(Webhooks::new(), |all, (_, hooks)| all.and(hooks));
        if hooks.is_empty() {
            return Ok(convert);
        }
        let source = match &self.certificate {
            Some(files) => TlsSource::Files(files.clone()),
            None => self.our_own(&hooks, client, stop).await?,
        };
        let tls = Tls { source, oldest: TlsVersion::V1_2, http2: true };
        let listener = Listener::bind_tls(&self.address, tls, stop).await;
        let listener = listener.map_err(|error| taken(&self.address, &error))?;
        let address = serve(listener, hooks.router(metrics), stop)?;
        tracing::info!(%address, "serving webhooks");
        Ok(convert)
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
        let services = hooks.services().iter().flat_map(names);
        let mut all: Vec<String> =
            services.chain(["localhost".into()]).chain(self.hosts.iter().cloned()).collect();
        all.dedup();
        let keeper = Keeper {
            namespace: namespace.clone(),
            secret: self.secret.clone(),
            names: all,
            targets: hooks.targets().to_vec(),
            lives: self.lives,
        };
        let certificate =
            keeper.certificate(client, &clock).await.map_err(|error| self.no_certificate(&error))?;
        let (client, shown) = (client.clone(), certificate.clone());
        tokio::spawn(stop.clone().run_until_cancelled_owned(async move {
            keeper.keep(&client, &clock, &shown).await;
        }));
        Ok(TlsSource::Held(certificate))
    }

    /// What to do about it.
    fn no_certificate(&self, error: &AuthorityError) -> Refusal {
        let next = match error {
            AuthorityError::Server(kube::Error::Api(status)) if status.is_forbidden() => {
                "give the rights that `quintet install --rbac` prints, or mount a certificate, or turn webhooks off"
            }
            AuthorityError::Server(kube::Error::Api(status)) if status.is_not_found() => {
                "make the namespace, or name another with --namespace, or turn webhooks off with --webhook-listen 0"
            }
            _ => "mount a certificate, or turn webhooks off, until that is mended",
        };
        let told = format!("no certificate for the webhooks: {error}");
        Refusal::new(Exit::Failed, told).next(next)
    }
}
