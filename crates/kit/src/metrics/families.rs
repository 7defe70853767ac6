//! The families, and a handle for each part of the kit.

use super::book::{Book, Described};
use super::migration::{MigrationMetrics, Migrations};
use super::rest::RestMetrics;
use super::webhook::{WebhookMetrics, Webhooks};
use crate::kind::Gvk;
use parking_lot::Mutex;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;
use tokio::time::Instant;

/// controller-runtime's own bounds of a reconcile's duration.
const RECONCILE_SECONDS: [f64; 34] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.25,
    1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0,
];
/// client-go's bounds of the time in a queue: powers of ten from 10 ns.
const QUEUE_SECONDS: [f64; 12] = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0];

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ControllerLabel {
    controller: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ResultLabels {
    controller: String,
    result: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ReasonLabels {
    controller: String,
    reason: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct QueueLabels {
    name: String,
    controller: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct WriteLabels {
    controller: String,
    group: String,
    kind: String,
    policy: &'static str,
    outcome: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct CacheLabels {
    group: String,
    kind: String,
    selection: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct LeaseLabel {
    name: String,
}

type Seconds = Gauge<f64, AtomicU64>;
type Histograms<L> = Family<L, Histogram, fn() -> Histogram>;

#[derive(Debug)]
struct Families {
    book: Book,
    reconciles: Family<ResultLabels, Counter>,
    errors: Family<ControllerLabel, Counter>,
    terminal: Family<ControllerLabel, Counter>,
    panics: Family<ControllerLabel, Counter>,
    failures: Family<ReasonLabels, Counter>,
    seconds: Histograms<ControllerLabel>,
    active: Family<ControllerLabel, Gauge>,
    concurrent: Family<ControllerLabel, Gauge>,
    depth: Family<QueueLabels, Gauge>,
    adds: Family<QueueLabels, Counter>,
    retries: Family<QueueLabels, Counter>,
    queued: Histograms<QueueLabels>,
    worked: Histograms<QueueLabels>,
    unfinished: Family<QueueLabels, Seconds>,
    longest: Family<QueueLabels, Seconds>,
    /// The work under way in each queue, from which the two above are computed when somebody looks.
    working: Mutex<HashMap<QueueLabels, Working>>,
    writes: Family<WriteLabels, Counter>,
    objects: Family<CacheLabels, Gauge>,
    invalid: Family<CacheLabels, Counter>,
    events_lost: Counter<u64, AtomicU64>,
    leads: Family<LeaseLabel, Gauge>,
    migrations: Migrations,
    rest: RestMetrics,
    webhooks: Webhooks,
}

/// Everything the process counts; clones share it.
#[derive(Clone, Debug)]
pub struct Metrics(Arc<Families>);

impl Default for Metrics {
    fn default() -> Self {
        Metrics::new()
    }
}

impl Metrics {
    /// Counts that start at nothing.
    #[must_use]
    pub fn new() -> Self {
        let mut f = Families {
            book: Book::default(),
            reconciles: Family::default(),
            errors: Family::default(),
            terminal: Family::default(),
            panics: Family::default(),
            failures: Family::default(),
            seconds: Family::new_with_constructor(|| Histogram::new(RECONCILE_SECONDS)),
            active: Family::default(),
            concurrent: Family::default(),
            depth: Family::default(),
            adds: Family::default(),
            retries: Family::default(),
            queued: Family::new_with_constructor(|| Histogram::new(QUEUE_SECONDS)),
            worked: Family::new_with_constructor(|| Histogram::new(QUEUE_SECONDS)),
            unfinished: Family::default(),
            longest: Family::default(),
            working: Mutex::default(),
            writes: Family::default(),
            objects: Family::default(),
            invalid: Family::default(),
            events_lost: Counter::default(),
            leads: Family::default(),
            migrations: Migrations::default(),
            rest: RestMetrics::default(),
            webhooks: Webhooks::default(),
        };
        let r = &mut f.book;
        // Counters get their `_total` when they are printed.
        r.register("controller_runtime_reconcile", "Reconciles by result", f.reconciles.clone());
        r.register("controller_runtime_reconcile_errors", "Reconciles that failed", f.errors.clone());
        r.register(
            "controller_runtime_terminal_reconcile_errors",
            "Reconciles that failed in a way only a change can mend",
            f.terminal.clone(),
        );
        r.register("controller_runtime_reconcile_panics", "Reconciles that panicked", f.panics.clone());
        r.register("controller_runtime_reconcile_time_seconds", "Length of a reconcile", f.seconds.clone());
        r.register("controller_runtime_active_workers", "Reconciles under way", f.active.clone());
        r.register(
            "controller_runtime_max_concurrent_reconciles",
            "Reconciles that may be under way at once",
            f.concurrent.clone(),
        );
        r.register("workqueue_depth", "Keys ready to be worked on", f.depth.clone());
        r.register("workqueue_adds", "Keys added", f.adds.clone());
        r.register("workqueue_retries", "Keys tried again after a failure", f.retries.clone());
        r.register("workqueue_queue_duration_seconds", "Time from ready to begun", f.queued.clone());
        r.register("workqueue_work_duration_seconds", "Time from begun to finished", f.worked.clone());
        r.register(
            "workqueue_unfinished_work_seconds",
            "Time spent on keys being worked on",
            f.unfinished.clone(),
        );
        r.register("workqueue_longest_running_processor_seconds", "The longest of these", f.longest.clone());
        r.register("quintet_reconcile_failures", "Failed reconciles by reason", f.failures.clone());
        r.register("quintet_writes", "Writes sent, skipped as nothing differs, and failed", f.writes.clone());
        r.register("quintet_cache_objects", "Objects kept in a cache", f.objects.clone());
        r.register("quintet_cache_invalid_objects", "Objects that did not fit their type", f.invalid.clone());
        r.register("quintet_events_lost", "Events that could not be recorded", f.events_lost.clone());
        r.register("leader_election_master_status", "1 while this process holds the lease", f.leads.clone());
        f.migrations.register(r);
        f.rest.register(r);
        f.webhooks.register(r);
        Metrics(Arc::new(f))
    }

    /// All of it as a scrape reads it.
    #[must_use]
    pub fn encode(&self) -> String {
        for (labels, working) in self.0.working.lock().iter() {
            let (all, longest) = working.seconds();
            self.0.unfinished.get_or_create(labels).set(all);
            self.0.longest.get_or_create(labels).set(longest);
        }
        self.0.book.encode()
    }

    /// What is counted.
    #[must_use]
    pub fn described(&self) -> &[Described] {
        self.0.book.described()
    }

    /// The content type of [`Metrics::encode`].
    pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

    /// Counts the requests of a client: a layer for its service.
    #[must_use]
    pub fn rest(&self) -> RestMetrics {
        self.0.rest.clone()
    }

    /// The handle of a controller.
    #[must_use]
    pub fn controller(&self, name: &str) -> ControllerMetrics {
        let label = ControllerLabel { controller: name.into() };
        // A family shows once it has a value: zeros tell "nothing failed" from "nothing is measured".
        for result in ["success", "error", "requeue", "requeue_after"] {
            drop(self.0.reconciles.get_or_create(&ResultLabels { controller: name.into(), result }));
        }
        drop(self.0.errors.get_or_create(&label));
        drop(self.0.terminal.get_or_create(&label));
        drop(self.0.panics.get_or_create(&label));
        ControllerMetrics { families: self.clone(), label }
    }

    /// The handle of a queue.
    #[must_use]
    pub fn queue(&self, name: &str) -> QueueMetrics {
        let labels = QueueLabels { name: name.into(), controller: name.into() };
        QueueMetrics {
            depth: self.0.depth.get_or_create(&labels).clone(),
            adds: self.0.adds.get_or_create(&labels).clone(),
            retries: self.0.retries.get_or_create(&labels).clone(),
            queued: self.0.queued.get_or_create(&labels).clone(),
            worked: self.0.worked.get_or_create(&labels).clone(),
            working: self.0.working.lock().entry(labels).or_default().clone(),
        }
    }

    pub(crate) fn cache(&self, kind: &Gvk, selection: &str) -> CacheMetrics {
        let labels =
            CacheLabels { group: kind.group.clone(), kind: kind.kind.clone(), selection: selection.into() };
        CacheMetrics {
            objects: self.0.objects.get_or_create(&labels).clone(),
            invalid: self.0.invalid.get_or_create(&labels).clone(),
        }
    }

    /// The handle of a storage-version migration of a resource, named as its definition.
    #[must_use]
    pub fn migration(&self, resource: &str) -> MigrationMetrics {
        self.0.migrations.of(resource)
    }

    /// The handle of the webhook at a path.
    pub(crate) fn webhook(&self, path: &str) -> WebhookMetrics {
        self.0.webhooks.at(path)
    }

    /// Whether this process holds a lease.
    pub(crate) fn leads(&self, lease: &str, leads: bool) {
        self.0.leads.get_or_create(&LeaseLabel { name: lease.into() }).set(i64::from(leads));
    }

    pub(crate) fn event_lost(&self) {
        self.0.events_lost.inc();
    }

    /// Counts a write.
    pub fn write(&self, controller: &str, kind: &Gvk, policy: &'static str, outcome: WriteOutcome) {
        let labels = WriteLabels {
            controller: controller.into(),
            group: kind.group.clone(),
            kind: kind.kind.clone(),
            policy,
            outcome: outcome.label(),
        };
        self.0.writes.get_or_create(&labels).inc();
    }
}

/// What became of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteOutcome {
    /// A request was sent and accepted.
    Sent,
    /// Nothing differed, so nothing was sent.
    Skipped,
    /// It was refused, or could not be sent.
    Failed,
}

impl WriteOutcome {
    fn label(self) -> &'static str {
        match self {
            WriteOutcome::Sent => "sent",
            WriteOutcome::Skipped => "skipped",
            WriteOutcome::Failed => "failed",
        }
    }
}

/// What a controller counts.
#[derive(Clone, Debug)]
pub struct ControllerMetrics {
    families: Metrics,
    label: ControllerLabel,
}

impl ControllerMetrics {
    pub(crate) fn concurrency(&self, workers: usize) {
        self.families.0.concurrent.get_or_create(&self.label).set(i64::try_from(workers).unwrap_or(i64::MAX));
    }

    /// Counts a worker as active until the guard is dropped.
    pub(crate) fn active(&self) -> Active {
        let gauge = self.families.0.active.get_or_create(&self.label).clone();
        gauge.inc();
        Active(gauge)
    }

    pub(crate) fn reconciled(&self, result: &'static str, took: Duration) {
        let labels = ResultLabels { controller: self.label.controller.clone(), result };
        self.families.0.reconciles.get_or_create(&labels).inc();
        self.families.0.seconds.get_or_create(&self.label).observe(took.as_secs_f64());
    }

    pub(crate) fn failed(&self, reason: &'static str, terminal: bool) {
        self.families.0.errors.get_or_create(&self.label).inc();
        if terminal {
            self.families.0.terminal.get_or_create(&self.label).inc();
        }
        let labels = ReasonLabels { controller: self.label.controller.clone(), reason };
        self.families.0.failures.get_or_create(&labels).inc();
    }

    pub(crate) fn panicked(&self) {
        self.families.0.panics.get_or_create(&self.label).inc();
    }
}

/// A worker at work.
#[derive(Debug)]
pub(crate) struct Active(Gauge);

impl Drop for Active {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// What a queue counts.
#[derive(Clone, Debug)]
pub struct QueueMetrics {
    depth: Gauge,
    adds: Counter,
    retries: Counter,
    queued: Histogram,
    worked: Histogram,
    working: Working,
}

/// When the work under way was begun, and how many keys at that moment.
#[derive(Clone, Debug, Default)]
struct Working(Arc<Mutex<BTreeMap<Instant, usize>>>);

impl Working {
    fn begun(&self, at: Instant) {
        *self.0.lock().entry(at).or_default() += 1;
    }

    fn ended(&self, at: Instant) {
        let mut working = self.0.lock();
        if let Some(count) = working.get_mut(&at) {
            *count -= 1;
            if *count == 0 {
                working.remove(&at);
            }
        }
    }

    /// The seconds of all together, and of the longest.
    fn seconds(&self) -> (f64, f64) {
        let working = self.0.lock();
        let seconds = |at: &Instant| at.elapsed().as_secs_f64();
        let all = working.iter().fold(0.0, |all, (at, count)| all + seconds(at) * *count as f64);
        (all, working.keys().next().map_or(0.0, seconds))
    }
}

impl QueueMetrics {
    pub(crate) fn depth(&self, depth: usize) {
        self.depth.set(i64::try_from(depth).unwrap_or(i64::MAX));
    }
    pub(crate) fn added(&self) {
        self.adds.inc();
    }
    pub(crate) fn retried(&self) {
        self.retries.inc();
    }
    pub(crate) fn begun(&self, waited: Duration, at: Instant) {
        self.queued.observe(waited.as_secs_f64());
        self.working.begun(at);
    }
    pub(crate) fn ended(&self, begun: Instant, at: Instant) {
        self.worked.observe((at - begun).as_secs_f64());
        self.working.ended(begun);
    }
}

/// What a cache counts.
#[derive(Clone, Debug)]
pub struct CacheMetrics {
    objects: Gauge,
    invalid: Counter,
}

impl CacheMetrics {
    pub(crate) fn objects(&self, count: usize) {
        self.objects.set(i64::try_from(count).unwrap_or(i64::MAX));
    }
    pub(crate) fn invalid(&self) {
        self.invalid.inc();
    }
}
