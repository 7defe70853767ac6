//! One lease per system, under the original's name: an original that still runs, and other replicas, never write at the
//! same time as we do.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result};
use kube::{Client, Config};
use quintet_kit::fence::Gate;
use quintet_kit::lease::{Election, Standing};
use quintet_kit::metrics::Metrics;
use quintet_kit::run::Settings;
use quintet_kit::{Clock, Fence, System};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// How long giving the leases back may take; after that they expire by themselves.
const RELEASE: Duration = Duration::from_secs(3);

/// The leases of this process.
#[derive(Debug)]
pub struct Leases {
    place: Option<Place>,
    waiting: Vec<(Election, Gate)>,
    held: JoinSet<()>,
    standings: Standings,
    stop: CancellationToken,
}

/// How each system's candidate stands, by the system's name.
pub type Standings = BTreeMap<String, watch::Receiver<Standing>>;

/// Where leases are asked for, and as whom.
struct Place {
    client: Client,
    namespace: String,
    identity: String,
    metrics: Metrics,
    clock: Clock,
    lasts: Option<Duration>,
}

impl std::fmt::Debug for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} in {}", self.identity, self.namespace)
    }
}

impl Leases {
    /// Leases in this namespace; with none, systems write at once. They last so long, or as long as the originals'.
    pub fn new(
        namespace: Option<String>,
        lasts: Option<Duration>,
        server: &Config,
        metrics: &Metrics,
        settings: &Settings,
    ) -> Result<Self> {
        let place = namespace.map(|namespace| {
            // A renewal has a deadline: the client must not try again by itself for minutes.
            let mut server = server.clone();
            server.default_retry = false;
            Ok::<_, anyhow::Error>(Place {
                client: Client::try_from(server).context("setting up the connection for leases")?,
                namespace,
                // Not only the pod's name: a container that was started again is another process.
                identity: format!("{}_{}", settings.instance, uuid::Uuid::new_v4()),
                metrics: metrics.clone(),
                clock: settings.clock,
                lasts,
            })
        });
        Ok(Leases {
            place: place.transpose()?,
            waiting: vec![],
            held: JoinSet::new(),
            standings: Standings::new(),
            stop: CancellationToken::new(),
        })
    }

    /// What a system asks before it writes.
    pub fn fence(&mut self, system: &dyn System) -> Fence {
        let (Some(place), Some(lease)) = (&self.place, system.rows().lease) else { return Fence::open() };
        let Place { client, namespace, identity, metrics, clock, lasts } = place;
        let terms = lasts.map_or(lease.terms, |lasts| lease.terms.lasting(lasts));
        let election = Election::new(client.clone(), namespace, &lease.name, identity, *clock)
            .terms(terms)
            .metrics(metrics);
        self.standings.insert(system.name().into(), election.standing());
        let (gate, fence) = Fence::gated();
        self.waiting.push((election, gate));
        fence
    }

    /// How each system's candidate stands.
    pub fn standings(&self) -> Standings {
        self.standings.clone()
    }

    /// Begins to ask for the leases.
    pub fn campaign(&mut self) {
        for (election, gate) in self.waiting.drain(..) {
            let stop = self.stop.clone();
            self.held.spawn(async move {
                election.hold(&gate, &stop).await;
                if let Err(error) = election.release(&gate).await {
                    tracing::warn!(%error, "a lease was not given back; it expires by itself");
                }
            });
        }
    }

    /// Gives them back, so that the next process need not wait until they expire. Call it after the last write.
    pub async fn release(mut self) {
        self.stop.cancel();
        let all = async { while self.held.join_next().await.is_some() {} };
        if tokio::time::timeout(RELEASE, all).await.is_err() {
            tracing::warn!("not all leases were given back in time; they expire by themselves");
        }
    }
}
