//! Runs several systems on one client and one set of caches.

use super::context::Context;
use super::controller::{Connected, Surroundings};
use super::health::{Health, Readiness};
use super::system::{Fatal, Started, System};
use crate::clock::Clock;
use crate::fence::Fence;
use crate::hub::Hubs;
use crate::metrics::Metrics;
use crate::queue::Backoff;
use futures::FutureExt;
use futures::future::{BoxFuture, join_all};
use kube::Client;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

/// How long a system may take to get ready to run.
const START: Duration = Duration::from_secs(60);

/// What applies to the whole process.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The clock.
    pub clock: Clock,
    /// The name of this process, the pod's in a cluster.
    pub instance: String,
    /// At most so many reconciles at once, of all controllers together.
    pub workers: usize,
    /// How long reconciles that were begun may take to finish when told to stop.
    pub grace: Duration,
    /// How long to wait before a failed system is started again.
    pub restart: Backoff,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            clock: Clock::system(),
            instance: "quintet".into(),
            workers: 32,
            grace: Duration::from_secs(20),
            restart: Backoff { first: Duration::from_secs(5), ..Backoff::default() },
        }
    }
}

/// Runs systems: one cache, one limit on work, and readiness for each.
#[derive(Clone)]
pub struct Manager {
    hubs: Hubs,
    metrics: Metrics,
    settings: Settings,
    workers: Arc<Semaphore>,
    readiness: Readiness,
    systems: Vec<(Arc<dyn System>, Fence)>,
}

impl std::fmt::Debug for Manager {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Manager").field("readiness", &self.readiness).finish_non_exhaustive()
    }
}

impl Manager {
    /// A manager without systems. Must be made inside a Tokio runtime.
    #[must_use]
    pub fn new(client: Client, metrics: Metrics, settings: Settings) -> Self {
        Manager {
            hubs: Hubs::new(client, metrics.clone()),
            workers: Arc::new(Semaphore::new(settings.workers.max(1))),
            metrics,
            settings,
            readiness: Readiness::default(),
            systems: vec![],
        }
    }

    /// With this system, which writes only while the fence is open.
    #[must_use]
    pub fn with(mut self, system: Arc<dyn System>, fence: Fence) -> Self {
        self.readiness.set(system.name(), Health::Starting);
        self.systems.push((system, fence));
        self
    }

    /// How each system is doing.
    #[must_use]
    pub fn readiness(&self) -> Readiness {
        self.readiness.clone()
    }

    /// What is counted.
    #[must_use]
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// The caches.
    #[must_use]
    pub fn hubs(&self) -> &Hubs {
        &self.hubs
    }

    /// Runs until told to stop; then reconciles that were begun are finished. A system that fails is stopped and started
    /// again by itself, whatever the others do.
    pub async fn run(self, stop: CancellationToken) {
        let each = self.systems.iter().map(|(system, fence)| Supervisor {
            system: system.clone(),
            context: Context {
                hubs: self.hubs.clone(),
                metrics: self.metrics.clone(),
                fence: fence.clone(),
                settings: self.settings.clone(),
            },
            workers: self.workers.clone(),
            readiness: self.readiness.clone(),
        });
        // All are wired before the first list, so that every kind is listed once.
        let each = join_all(each.map(|supervisor| async {
            let first = supervisor.prepare(&stop).await;
            (supervisor, first)
        }));
        let Some(each) = stop.run_until_cancelled(each).await else { return };
        self.hubs.start();
        let mut running = JoinSet::new();
        for (supervisor, first) in each {
            running.spawn(supervisor.run(first, stop.clone()));
        }
        running.join_all().await;
    }
}

/// Keeps one system running.
struct Supervisor {
    system: Arc<dyn System>,
    context: Context,
    workers: Arc<Semaphore>,
    readiness: Readiness,
}

/// A system whose watches feed its queues.
struct Prepared {
    controllers: Vec<Connected>,
    tasks: Vec<BoxFuture<'static, Result<(), Fatal>>>,
    stop: CancellationToken,
}

impl Supervisor {
    async fn prepare(&self, stop: &CancellationToken) -> Result<Prepared, Fatal> {
        let start =
            AssertUnwindSafe(timeout(START, self.system.start(self.context.clone()))).catch_unwind().await;
        let Started { controllers, tasks } = match start {
            Ok(Ok(started)) => started?,
            Ok(Err(_elapsed)) => return Err("not started in time".into()),
            Err(_panic) => return Err("panicked while starting".into()),
        };
        let stop = stop.child_token();
        let surroundings = Surroundings {
            hubs: self.context.hubs.clone(),
            metrics: self.context.metrics.clone(),
            fence: self.context.fence.clone(),
            workers: self.workers.clone(),
            stop: stop.clone(),
            grace: self.context.settings.grace,
        };
        let controllers =
            controllers.into_iter().map(|controller| controller.connect(surroundings.clone())).collect();
        Ok(Prepared { controllers, tasks, stop })
    }

    async fn run(self, first: Result<Prepared, Fatal>, stop: CancellationToken) {
        let (mut next, mut failures) = (first, 0);
        loop {
            let ended = match next {
                Ok(prepared) => self.keep(prepared).await,
                Err(error) => Err(error),
            };
            let Err(error) = ended else { break };
            failures += 1;
            self.readiness.set(self.system.name(), Health::Failed { error: crate::error::chain(&*error) });
            let backoff = self.context.settings.restart;
            let pause = sleep(backoff.jittered(backoff.delay(failures)));
            if stop.run_until_cancelled(pause).await.is_none() {
                break;
            }
            self.readiness.set(self.system.name(), Health::Starting);
            next = match stop.run_until_cancelled(self.prepare(&stop)).await {
                Some(next) => next,
                None => break,
            };
        }
        self.readiness.set(self.system.name(), Health::Stopped);
    }

    /// Runs a prepared system until it is stopped or fails.
    async fn keep(&self, prepared: Prepared) -> Result<(), Fatal> {
        let Prepared { controllers, tasks, stop } = prepared;
        let mut states: Vec<_> = controllers.iter().map(|controller| controller.state.clone()).collect();
        let mut running: JoinSet<Result<(), Fatal>> = JoinSet::new();
        for controller in controllers {
            running.spawn(controller.run.map(Ok));
        }
        for task in tasks {
            let stop = stop.clone();
            running.spawn(async move { stop.run_until_cancelled(task).await.unwrap_or(Ok(())) });
        }
        let _stop = stop.clone().drop_guard();
        let mut failed = None;
        loop {
            self.readiness.set(self.system.name(), health(&states));
            tokio::select! {
                ended = running.join_next() => match ended {
                    None => break,
                    Some(Ok(Ok(()))) => {}
                    Some(Ok(Err(error))) => { failed.get_or_insert(error); stop.cancel(); break }
                    Some(Err(panic)) => { failed.get_or_insert(panic.into()); stop.cancel(); break }
                },
                () = any_moves(&mut states) => {}
            }
        }
        while running.join_next().await.is_some() {} // what was begun is finished
        failed.map_or(Ok(()), Err)
    }
}

type Waiting = watch::Receiver<Option<Vec<String>>>;

fn health(states: &[Waiting]) -> Health {
    let mut kinds: Vec<String> =
        states.iter().flat_map(|state| state.borrow().clone().unwrap_or_default()).collect();
    kinds.sort();
    kinds.dedup();
    let all_run = states.iter().all(|state| state.borrow().is_none());
    match (all_run, kinds.is_empty()) {
        (true, _) => Health::Ready,
        (false, true) => Health::Starting,
        (false, false) => Health::Waiting { kinds },
    }
}

/// Returns when one of the controllers begins or ceases to wait.
async fn any_moves(states: &mut [Waiting]) {
    let moves = states.iter_mut().map(|state| {
        Box::pin(async move {
            if state.changed().await.is_err() {
                std::future::pending::<()>().await; // the controller has ended
            }
        })
    });
    let moves: Vec<_> = moves.collect();
    if moves.is_empty() {
        std::future::pending::<()>().await;
    }
    futures::future::select_all(moves).await;
}
