//! Counts what webhooks are asked, as controller-runtime does.

use super::book::Book;
use http::StatusCode;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use tokio::time::Instant;

/// Prometheus' own bounds, which the original uses here.
const SECONDS: [f64; 11] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Path {
    webhook: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Answer {
    webhook: String,
    code: String,
}

/// The families.
#[derive(Clone, Debug)]
pub(super) struct Webhooks {
    requests: Family<Answer, Counter>,
    in_flight: Family<Path, Gauge>,
    seconds: Family<Path, Histogram, fn() -> Histogram>,
}

impl Default for Webhooks {
    fn default() -> Self {
        Webhooks {
            requests: Family::default(),
            in_flight: Family::default(),
            seconds: Family::new_with_constructor(|| Histogram::new(SECONDS)),
        }
    }
}

impl Webhooks {
    pub(super) fn register(&self, book: &mut Book) {
        let (requests, in_flight) = (self.requests.clone(), self.in_flight.clone());
        book.register("controller_runtime_webhook_requests", "Reviews by the answer's code", requests);
        book.register("controller_runtime_webhook_requests_in_flight", "Reviews under way", in_flight);
        book.register(
            "controller_runtime_webhook_latency_seconds",
            "Time until a review is answered",
            self.seconds.clone(),
        );
    }

    pub(super) fn at(&self, path: &str) -> WebhookMetrics {
        // Zeros tell "nobody asked" from "nothing is measured".
        for code in ["200", "500"] {
            let labels = Answer { webhook: path.into(), code: code.into() };
            drop(self.requests.get_or_create(&labels));
        }
        let webhook = Path { webhook: path.into() };
        WebhookMetrics {
            path: path.into(),
            requests: self.requests.clone(),
            in_flight: self.in_flight.get_or_create(&webhook).clone(),
            seconds: self.seconds.get_or_create(&webhook).clone(),
        }
    }
}

/// What one webhook counts.
#[derive(Clone, Debug)]
pub(crate) struct WebhookMetrics {
    path: String,
    requests: Family<Answer, Counter>,
    in_flight: Gauge,
    seconds: Histogram,
}

impl WebhookMetrics {
    /// Counts a review as under way until it is answered, or its caller hung up.
    pub(crate) fn asked(&self) -> Asked<'_> {
        self.in_flight.inc();
        Asked { webhook: self, at: Instant::now() }
    }
}

/// A review under way.
#[derive(Debug)]
pub(crate) struct Asked<'a> {
    webhook: &'a WebhookMetrics,
    at: Instant,
}

impl Asked<'_> {
    pub(crate) fn answered(self, code: StatusCode) {
        let labels = Answer { webhook: self.webhook.path.clone(), code: code.as_str().into() };
        self.webhook.requests.get_or_create(&labels).inc();
        self.webhook.seconds.observe(self.at.elapsed().as_secs_f64());
    }
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        self.webhook.in_flight.dec();
    }
}
