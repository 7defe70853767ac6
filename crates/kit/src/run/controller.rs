//! Runs one controller: gate, queue, workers.

use crate::error::{Failure, Retry};
use crate::event::{Events, Note};
use crate::fence::Fence;
use crate::hub::{HubRef, Hubs, State, Subscription};
use crate::key::Key;
use crate::metrics::{ControllerMetrics, Metrics};
use crate::queue::{Action, Backoff, Job, Queue};
use crate::wiring::{ControllerRows, Wiring};
use futures::future::BoxFuture;
use futures::stream::{self, SelectAll};
use futures::{FutureExt, StreamExt};
use k8s_openapi::api::core::v1::ObjectReference;
use std::any::Any;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

/// The work of a controller: read, decide, apply, status.
pub trait Reconcile: Send + Sync + 'static {
    /// What a reconcile is about.
    type Key: Key;
    /// How it fails.
    type Error: Failure;

    /// Brings one key to its desired state. Called also for keys whose object is gone.
    fn reconcile(&self, key: Self::Key) -> impl Future<Output = Result<Action, Self::Error>> + Send;

    /// What an event about a failure is attached to; none leaves the event out.
    fn regarding(&self, _key: &Self::Key) -> Option<ObjectReference> {
        None
    }
}

/// A controller that is ready to run.
pub struct Controller {
    rows: ControllerRows,
    run: Box<dyn Start>,
    limits: Limits,
    events: Option<Events>,
}

#[derive(Clone, Copy, Debug)]
struct Limits {
    concurrency: usize,
    timeout: Duration,
    resync: Duration,
    backoff: Backoff,
}

impl fmt::Debug for Controller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Controller({})", self.rows.controller)
    }
}

impl Controller {
    /// A controller with four workers, two minutes for a reconcile and a resync every hour.
    #[must_use]
    pub fn new<R: Reconcile>(wiring: Wiring<R::Key>, reconciler: R) -> Self {
        Controller {
            rows: wiring.rows().clone(),
            run: Box::new(Parts { wiring: Arc::new(wiring), reconciler: Arc::new(reconciler) }),
            limits: Limits {
                concurrency: 4,
                timeout: Duration::from_secs(120),
                resync: Duration::from_secs(60 * 60),
                backoff: Backoff::default(),
            },
            events: None,
        }
    }

    /// At most so many keys at once.
    #[must_use]
    pub fn concurrency(mut self, workers: usize) -> Self {
        self.limits.concurrency = workers.max(1);
        self
    }

    /// At most this long for a reconcile.
    #[must_use]
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.limits.timeout = limit;
        self
    }

    /// Every key is looked at again after this long, whatever happens: an event that was missed must heal.
    #[must_use]
    pub fn resync(mut self, period: Duration) -> Self {
        self.limits.resync = period;
        self
    }

    /// How long to wait after failures.
    #[must_use]
    pub fn backoff(mut self, backoff: Backoff) -> Self {
        self.limits.backoff = backoff;
        self
    }

    /// Failures are recorded as warnings on the object that the reconciler names.
    #[must_use]
    pub fn events(mut self, events: Events) -> Self {
        self.events = Some(events);
        self
    }

    /// The controller's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.rows.controller
    }

    /// The controller's wiring as data.
    #[must_use]
    pub fn rows(&self) -> &ControllerRows {
        &self.rows
    }

    pub(super) fn connect(self, surroundings: Surroundings) -> Connected {
        let (waiting, state) = watch::channel(Some(vec![]));
        let run = self.run.start(Run {
            name: self.rows.controller,
            limits: self.limits,
            events: self.events,
            surroundings,
            waiting,
        });
        Connected { run, state }
    }
}

/// What a controller runs in.
#[derive(Clone)]
pub(super) struct Surroundings {
    pub(super) hubs: Hubs,
    pub(super) metrics: Metrics,
    pub(super) fence: Fence,
    /// Limits the reconciles of all controllers together; waiters are served in turn, so that none starves.
    pub(super) workers: Arc<Semaphore>,
    pub(super) stop: CancellationToken,
    /// How long reconciles that were begun may take to finish after the stop.
    pub(super) grace: Duration,
}

/// A controller whose watches feed its queue, and that works once `run` is polled.
pub(super) struct Connected {
    pub(super) run: BoxFuture<'static, ()>,
    /// What it waits for: none while it works.
    pub(super) state: watch::Receiver<Option<Vec<String>>>,
}

struct Run {
    name: String,
    limits: Limits,
    events: Option<Events>,
    surroundings: Surroundings,
    waiting: watch::Sender<Option<Vec<String>>>,
}

trait Start: Send + Sync {
    fn start(self: Box<Self>, run: Run) -> BoxFuture<'static, ()>;
}

struct Parts<R: Reconcile> {
    wiring: Arc<Wiring<R::Key>>,
    reconciler: Arc<R>,
}

impl<R: Reconcile> Start for Parts<R> {
    fn start(self: Box<Self>, run: Run) -> BoxFuture<'static, ()> {
        let queue = Queue::new(run.limits.backoff, run.surroundings.metrics.queue(&run.name));
        let hubs = &run.surroundings.hubs;
        let subscriptions = self.wiring.wires().iter().map(|wire| wire.connect(hubs, &queue)).collect();
        let needs = self.wiring.wires().iter().map(|wire| (wire.hub(hubs), wire.optional())).collect();
        let metrics = run.surroundings.metrics.controller(&run.name);
        metrics.concurrency(run.limits.concurrency);
        let worker = Arc::new(Worker {
            reconciler: self.reconciler,
            name: run.name,
            timeout: run.limits.timeout,
            events: run.events,
            metrics,
            workers: run.surroundings.workers.clone(),
            stop: run.surroundings.stop.clone(),
        });
        Loop {
            wiring: self.wiring,
            queue,
            needs,
            worker,
            limits: run.limits,
            surroundings: run.surroundings,
            waiting: run.waiting,
            _subscriptions: subscriptions,
        }
        .run()
        .boxed()
    }
}

struct Loop<R: Reconcile> {
    wiring: Arc<Wiring<R::Key>>,
    queue: Queue<R::Key>,
    needs: Vec<(HubRef, bool)>,
    worker: Arc<Worker<R>>,
    limits: Limits,
    surroundings: Surroundings,
    waiting: watch::Sender<Option<Vec<String>>>,
    _subscriptions: Vec<Subscription>,
}

impl<R: Reconcile> Loop<R> {
    async fn run(self) {
        let mut running = JoinSet::new();
        let mut moves: SelectAll<_> = self.needs.iter().map(|(hub, _)| moves(hub.states())).collect();
        let mut resync = interval_at(Instant::now() + self.limits.resync, self.limits.resync);
        resync.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut open = false;
        loop {
            let missing = self.missing();
            if missing.is_empty() != open {
                open = missing.is_empty();
                if open {
                    self.enqueue_all();
                }
            }
            self.waiting.send_if_modified(|old| {
                let new = (!open).then_some(missing);
                let moved = *old != new;
                *old = new;
                moved
            });
            let free = open && running.len() < self.limits.concurrency;
            let fence = &self.surroundings.fence;
            tokio::select! {
                () = self.surroundings.stop.cancelled() => break,
                Some(()) = moves.next() => if open { self.enqueue_all() },
                _ = resync.tick() => self.enqueue_all(),
                Some(_) = running.join_next() => {}
                job = async { fence.opened().await; self.queue.next().await }, if free => {
                    running.spawn(self.worker.clone().work(job));
                }
            }
        }
        let finish = async { while running.join_next().await.is_some() {} };
        if timeout(self.surroundings.grace, finish).await.is_err() {
            tracing::warn!(
                controller = self.wiring.controller(),
                "reconciles cut off, as they did not finish in time"
            );
        }
    }

    /// What the controller cannot run without and is not there.
    fn missing(&self) -> Vec<String> {
        let missing = self.needs.iter().filter(|(hub, optional)| match hub.state() {
            State::Ready => false,
            State::Absent | State::Gone => !optional,
            State::Syncing => true,
        });
        missing.map(|(hub, _)| describe(hub)).collect()
    }

    fn enqueue_all(&self) {
        self.wiring.every_key(&self.surroundings.hubs).into_iter().for_each(|key| self.queue.add(key));
    }
}

fn describe(hub: &HubRef) -> String {
    let why = match (hub.state(), hub.problem()) {
        (State::Absent | State::Gone, _) => "not served by the cluster".into(),
        (State::Syncing | State::Ready, None) => "not listed yet".into(),
        (State::Syncing | State::Ready, Some(problem)) => format!("not listed yet: {problem}"),
    };
    format!("{} ({}): {why}", hub.kind, hub.select)
}

/// An item whenever the state of a hub moves.
fn moves(states: watch::Receiver<State>) -> impl futures::Stream<Item = ()> + Unpin {
    let each = stream::unfold(states, |mut states| async move {
        states.changed().await.ok()?;
        Some(((), states))
    });
    Box::pin(each)
}

struct Worker<R: Reconcile> {
    reconciler: Arc<R>,
    name: String,
    timeout: Duration,
    events: Option<Events>,
    metrics: ControllerMetrics,
    workers: Arc<Semaphore>,
    stop: CancellationToken,
}

impl<R: Reconcile> Worker<R> {
    async fn work(self: Arc<Self>, job: Job<R::Key>) {
        let permit = self.stop.run_until_cancelled(self.workers.acquire()).await;
        let Some(Ok(_permit)) = permit else { return }; // told to stop before it began
        let span = tracing::info_span!("reconcile", controller = self.name, key = %job.key());
        self.reconcile(job).instrument(span).await;
    }

    async fn reconcile(&self, job: Job<R::Key>) {
        let (_active, started) = (self.metrics.active(), Instant::now());
        let reconcile = self.reconciler.reconcile(job.key().clone());
        let end = AssertUnwindSafe(timeout(self.timeout, reconcile)).catch_unwind().await;
        let took = started.elapsed();
        match end {
            Ok(Ok(Ok(action))) => {
                let result = match action {
                    Action::Wait => "success",
                    Action::After(_) | Action::Due(_) => "requeue_after",
                    Action::Backoff => "requeue",
                };
                self.metrics.reconciled(result, took);
                tracing::debug!(?took, ?action, "reconciled");
                job.done(action);
            }
            Ok(Ok(Err(error))) => {
                let text = crate::error::chain(&error);
                self.failed(job, took, error.reason(), error.retry(), &text);
            }
            Ok(Err(_elapsed)) => {
                let text = format!("not finished within {} seconds", self.timeout.as_secs());
                self.failed(job, took, "Timeout", Retry::Backoff, &text);
            }
            Err(panic) => {
                self.metrics.panicked();
                let text = format!("internal error: {}", panic_text(&*panic));
                self.failed(job, took, "Panic", Retry::Backoff, &text);
            }
        }
    }

    fn failed(&self, job: Job<R::Key>, took: Duration, reason: &'static str, retry: Retry, text: &str) {
        self.metrics.reconciled("error", took);
        self.metrics.failed(reason, retry == Retry::Never);
        if retry == Retry::Soon {
            tracing::debug!(reason, error = text, "conflict");
        } else {
            tracing::warn!(reason, error = text, ?retry, "reconcile failed");
            if let (Some(events), Some(about)) = (&self.events, self.reconciler.regarding(job.key())) {
                events.publish_about(about, Note::warning(reason, "Reconcile", text));
            }
        }
        job.failed(retry);
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("panic")
}
