//! The operators, in this process, each as long as its Deployment has a Pod.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use kube::Client;
use plane::Plane;
use plane::hooks::User;
use plane::webhook::Backend;
use quintet_kit::fence::Fence;
use quintet_kit::metrics::Metrics;
use quintet_kit::run::{Health, Manager, Readiness, Settings};
use quintet_kit::webhook::Webhooks;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::errors::{Exit, Refusal};
use crate::local::parts::{Active, Parts};
use crate::local::prerequisites;
use crate::serve;
use crate::systems::Systems;

/// How long they may take to start.
const START: Duration = Duration::from_secs(20);

/// The running operators.
pub(super) struct Operators {
    states: States,
    pub(super) health: SocketAddr,
    pub(super) metrics: SocketAddr,
    pub(super) task: JoinHandle<()>,
}

impl Operators {
    pub(super) async fn start(
        plane: &Plane,
        systems: &Systems,
        namespace: &str,
        parts: &Parts,
        stop: &CancellationToken,
    ) -> Result<Self> {
        let counted = Metrics::new();
        let client = plane.client_as(User::service_account(namespace, prerequisites::ACCOUNT));
        let states = States::new(systems);
        let anywhere = SocketAddr::from(([127, 0, 0, 1], 0));
        let told = states.clone();
        let health = serve::health(serve::Doctor::new(move || told.all()));
        let health = serve::listen(anywhere, health, stop.child_token()).await?;
        let metrics = serve::listen(anywhere, serve::metrics(counted.clone()), stop.child_token()).await?;
        parts.serve(metrics, health);
        let keeper = Keeper {
            plane: plane.clone(),
            namespace: namespace.into(),
            client,
            counted,
            systems: systems.clone(),
            states: states.clone(),
        };
        Ok(Operators {
            states,
            health,
            metrics,
            task: tokio::spawn(keeper.run(parts.active(), stop.clone())),
        })
    }

    /// How each is doing.
    pub(super) fn all(&self) -> BTreeMap<String, Health> {
        self.states.all()
    }

    /// Waits until every system runs.
    pub(super) async fn ready(&self, stop: &CancellationToken) -> Result<()> {
        let waits = async {
            while !self.states.all().values().all(|health| *health == Health::Ready) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let limit = tokio::time::timeout(START, waits);
        match stop.run_until_cancelled(limit).await {
            Some(Err(_)) => {
                let all = self.states.all();
                let lines: Vec<_> = all.iter().map(|(s, h)| format!("{s} is {}", serve::words(h))).collect();
                let told = format!("the operators did not start: {}", lines.join("; "));
                Err(Refusal::new(Exit::NotReady, told).into())
            }
            _ => Ok(()),
        }
    }
}

/// How each system is doing, whichever manager runs it now. Clones share it.
#[derive(Clone)]
struct States {
    names: Arc<BTreeSet<String>>,
    now: Arc<watch::Sender<Readiness>>,
}

impl States {
    fn new(systems: &Systems) -> Self {
        let names = systems.iter().map(|system| system.name().to_string()).collect();
        States { names: Arc::new(names), now: Arc::new(watch::channel(Readiness::default()).0) }
    }

    fn all(&self) -> BTreeMap<String, Health> {
        let running = self.now.borrow().all();
        let of = |name: &String| running.get(name).cloned().unwrap_or(Health::Stopped);
        self.names.iter().map(|name| (name.clone(), of(name))).collect()
    }
}

/// Runs one manager after the other, each with the systems that should run. They share its cache, so a system that is
/// paused or resumed starts the others anew: at rest that costs a list per kind.
struct Keeper {
    plane: Plane,
    namespace: String,
    client: Client,
    counted: Metrics,
    systems: Systems,
    states: States,
}

impl Keeper {
    async fn run(self, mut active: Active, stop: CancellationToken) {
        let mut running: Option<(CancellationToken, JoinHandle<()>)> = None;
        while let Some(wanted) = stop.run_until_cancelled(active.next()).await {
            end(running.take()).await;
            let mut manager = Manager::new(self.client.clone(), self.counted.clone(), Settings::default());
            for system in self.systems.iter() {
                let runs = wanted.contains(system.name());
                self.answer(system.webhooks(manager.hubs()), runs);
                if runs {
                    manager = manager.with(system.clone(), Fence::open());
                }
            }
            self.states.now.send_replace(manager.readiness());
            let until = stop.child_token();
            running = Some((until.clone(), tokio::spawn(manager.run(until))));
        }
        end(running).await;
    }
}

impl Keeper {
    /// Lets webhooks answer for their Service in the plane, or no longer: what rests is not reached, as on a cluster.
    fn answer(&self, hooks: Webhooks, runs: bool) {
        let (services, backends) = (hooks.services().to_vec(), self.plane.webhook_backends());
        let router = hooks.router(&self.counted);
        for service in services {
            match runs {
                true => backends.insert(&self.namespace, &service, Backend::InProcess(router.clone())),
                false => backends.remove(&self.namespace, &service),
            }
        }
    }
}

async fn end(running: Option<(CancellationToken, JoinHandle<()>)>) {
    if let Some((stop, task)) = running {
        stop.cancel();
        if let Err(error) = task.await {
            tracing::error!(%error, "the operators ended badly");
        }
    }
}
