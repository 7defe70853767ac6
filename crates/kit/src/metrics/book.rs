//! A registry that can say what is in it: alert rules, dashboards and the runbook are made from that.

use prometheus_client::encoding::text;
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Metric, Registry};

/// What a family is, as a scrape shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// Its name in queries; a histogram's goes on with `_bucket`, `_sum` and `_count`.
    pub name: String,
    /// How it is read.
    pub kind: MetricKind,
    /// What it counts.
    pub help: String,
}

/// How a family is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// It only grows: ask for its rate.
    Counter,
    /// It is what it is now.
    Gauge,
    /// Ask for its quantiles.
    Histogram,
}

/// Families and their descriptions.
#[derive(Debug, Default)]
pub struct Book {
    registry: Registry,
    described: Vec<Described>,
}

impl Book {
    /// Adds a family. A counter's name goes without its `_total`.
    pub fn register(&mut self, name: &str, help: &str, metric: impl Metric) {
        let (kind, ending) = match metric.metric_type() {
            MetricType::Counter => (MetricKind::Counter, "_total"),
            MetricType::Histogram => (MetricKind::Histogram, ""),
            _ => (MetricKind::Gauge, ""),
        };
        self.described.push(Described { name: format!("{name}{ending}"), kind, help: help.into() });
        self.registry.register(name, help, metric);
    }

    /// What is in it, in the order in which it came.
    #[must_use]
    pub fn described(&self) -> &[Described] {
        &self.described
    }

    /// All of it in OpenMetrics' text format.
    #[must_use]
    pub fn encode(&self) -> String {
        let mut out = String::new();
        // Writing to a String does not fail.
        let _ = text::encode(&mut out, &self.registry);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prometheus_client::metrics::counter::Counter;
    use prometheus_client::metrics::family::Family;
    use prometheus_client::metrics::gauge::Gauge;

    #[test]
    fn families_are_described_under_the_names_of_a_scrape() {
        let mut book = Book::default();
        let counter = Counter::<u64>::default();
        book.register("apples", "Apples eaten", counter.clone());
        book.register("trees", "Trees", Family::<Vec<(String, String)>, Gauge>::default());
        counter.inc();
        assert!(book.encode().contains("\napples_total 1\n"), "{}", book.encode());
        let described = book.described().iter().map(|d| (d.name.as_str(), d.kind)).collect::<Vec<_>>();
        assert_eq!(described, [("apples_total", MetricKind::Counter), ("trees", MetricKind::Gauge)]);
    }
}
