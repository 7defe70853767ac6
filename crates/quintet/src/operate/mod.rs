//! A process of operators on a cluster: `quintet run`, and `/manager` in an original's place.

pub mod leases;
pub mod webhooks;

use std::time::Duration;

use anyhow::{Context, Result};
use kube::client::ClientBuilder;
use kube::{Client, Config};
use quintet_kit::metrics::Metrics;
use quintet_kit::run::{Manager, Settings};
use tokio_util::sync::CancellationToken;

use crate::errors::{Exit, Refusal};
use crate::serve::{Doctor, Ports};
use crate::systems::Systems;
use leases::Leases;
use webhooks::WebhookPort;

/// Reconciles that were begun get this long to finish; less than a pod's usual grace period of 30 s.
const GRACE: Duration = Duration::from_secs(25);
/// How long the server may take to answer the first question.
const FIRST_ANSWER: Duration = Duration::from_secs(15);

/// What to run, where, and what to show of it.
#[derive(Debug)]
pub struct Operators {
    /// The connection.
    pub server: Config,
    /// The systems.
    pub systems: Systems,
    /// The namespace that their leases are in; none lets them write at once.
    pub leases: Option<String>,
    /// How long a lease is good for; none for the original's time.
    pub lease_lasts: Option<Duration>,
    /// How many reconciles run at once, of all controllers together.
    pub workers: usize,
    /// Where the process's own endpoints are.
    pub ports: Ports,
    /// Where webhooks are served, if any system has them.
    pub webhooks: Option<WebhookPort>,
}

impl Operators {
    /// Runs until told to stop; what was begun is finished, and the leases are given back.
    pub async fn run(self, stop: CancellationToken) -> Result<()> {
        let metrics = Metrics::new();
        let client = client(&self.server, &metrics)?;
        let settings = Settings { instance: instance(), workers: self.workers, ..Settings::default() };
        let mut leases = Leases::new(self.leases, self.lease_lasts, &self.server, &metrics, &settings)?;
        let mut manager = Manager::new(client.clone(), metrics.clone(), settings);
        for system in self.systems.iter() {
            manager = manager.with(system.clone(), leases.fence(system.as_ref()));
        }
        // Served until the very end: a probe that finds nobody would have the process killed while it finishes.
        let serving = CancellationToken::new();
        let _until_the_end = serving.clone().drop_guard();
        let doctor = Doctor::of(manager.readiness(), &leases, self.webhooks.is_some());
        self.ports.open(&client, metrics.clone(), doctor.clone(), &serving).await?;
        answers(&client).await?;
        if let Some(port) = &self.webhooks {
            let asked = (&client, &metrics);
            doctor.reached(port.open(&self.systems, manager.hubs(), asked, &serving).await?);
        }

        leases.campaign();
        let running = tokio::spawn(manager.run(stop.clone()));
        stop.cancelled().await;
        match tokio::time::timeout(GRACE, running).await {
            Ok(ended) => {
                ended.context("the operators ended badly")?;
                leases.release().await;
                Ok(())
            }
            // The leases are kept: what did not finish may still write. They expire by themselves.
            Err(_) => {
                Err(Refusal::new(Exit::Failed, format!("some reconciles did not finish within {GRACE:?}"))
                    .next("the log above names them; what they left half done is taken up at the next start")
                    .into())
            }
        }
    }
}

fn client(server: &Config, metrics: &Metrics) -> Result<Client> {
    let builder = ClientBuilder::try_from(server.clone()).context("setting up the connection")?;
    let host = server.cluster_url.authority().map(ToString::to_string).unwrap_or_default();
    Ok(builder.with_layer(&metrics.rest().host(host)).build())
}

/// A wrong address or token is told at once, and not found out from the log of a process that never gets ready.
async fn answers(client: &Client) -> Result<()> {
    match tokio::time::timeout(FIRST_ANSWER, client.apiserver_version()).await {
        Ok(answer) => answer.map(drop).context("asking the API server for its version"),
        Err(_) => Err(Refusal::new(
            Exit::Unreachable,
            format!("the API server did not answer within {FIRST_ANSWER:?}"),
        )
        .next("check the address in the kubeconfig, and whether a firewall is in between")
        .into()),
    }
}

/// The name of this process: the pod's in a cluster.
fn instance() -> String {
    let named = ["POD_NAME", "HOSTNAME"].iter().find_map(|name| std::env::var(name).ok());
    named.filter(|name| !name.is_empty()).unwrap_or_else(|| "quintet".into())
}
