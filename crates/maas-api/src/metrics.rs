//! Counters, in Prometheus' text format.

use std::fmt::Write as _;

use parking_lot::Mutex;
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge},
};
use quintet_kit::metrics::{Book, Described, MetricKind};

/// How a request ended. Both labels are of closed sets.
#[derive(Clone, Debug, EncodeLabelSet, Eq, Hash, PartialEq)]
pub(crate) struct RequestLabels {
    method: &'static str,
    code: u16,
}

#[derive(Clone, Debug, EncodeLabelSet, Eq, Hash, PartialEq)]
struct CodeLabel {
    code: u16,
}

/// What is counted.
#[derive(Debug)]
pub struct Metrics {
    book: Mutex<Book>,
    requests: Family<RequestLabels, Counter>,
    scrapes: Family<CodeLabel, Counter>,
    scraping: Gauge,
    /// Validations answered from memory.
    pub(crate) validation_hits: Counter,
    /// Validations that asked the database.
    pub(crate) validation_misses: Counter,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut book = Book::default();
        let metrics = Self {
            requests: Family::default(),
            scrapes: Family::default(),
            scraping: Gauge::default(),
            validation_hits: Counter::default(),
            validation_misses: Counter::default(),
            book: Mutex::default(),
        };
        let Self { requests, scrapes, scraping, validation_hits, validation_misses, .. } = &metrics;
        book.register("maas_api_requests", "Requests by method and status", requests.clone());
        book.register(
            "maas_api_validation_cache_hits",
            "Validations answered from memory",
            validation_hits.clone(),
        );
        book.register(
            "maas_api_validation_cache_misses",
            "Validations that asked the database",
            validation_misses.clone(),
        );
        book.register(
            "promhttp_metric_handler_requests",
            "Total number of scrapes by HTTP status code",
            scrapes.clone(),
        );
        book.register(
            "promhttp_metric_handler_requests_in_flight",
            "Current number of scrapes being served",
            scraping.clone(),
        );
        for code in [200, 500, 503] {
            drop(scrapes.get_or_create(&CodeLabel { code }));
        }
        *metrics.book.lock() = book;
        metrics
    }
}

impl Metrics {
    /// Adds the counters that the check for administrators keeps.
    pub(crate) fn admin_checks(&self, hits: Counter, misses: Counter) {
        let mut book = self.book.lock();
        book.register("sar_cache_hits", "Total number of SAR admin check cache hits", hits);
        book.register("sar_cache_misses", "Total number of SAR admin check cache misses", misses);
    }

    /// What is counted.
    pub fn described() -> Vec<Described> {
        let metrics = Self::default();
        metrics.admin_checks(Counter::default(), Counter::default());
        let process =
            PROCESS.map(|(name, kind, help)| Described { name: name.into(), kind, help: help.into() });
        let book = metrics.book.lock();
        book.described().iter().cloned().chain(process).collect()
    }

    /// Counts a request.
    pub(crate) fn count(&self, method: &http::Method, code: u16) {
        let method = match method.as_str() {
            "GET" => "GET",
            "POST" => "POST",
            "DELETE" => "DELETE",
            "OPTIONS" => "OPTIONS",
            _ => "other", // whatever a client makes up
        };
        self.requests.get_or_create(&RequestLabels { method, code }).inc();
    }

    /// Everything, as text.
    pub fn render(&self) -> String {
        self.scraping.inc();
        let text = self.book.lock().encode();
        self.scraping.dec();
        self.scrapes.get_or_create(&CodeLabel { code: 200 }).inc();
        let mut text = as_prometheus(&text);
        process(&mut text);
        text
    }
}

/// From OpenMetrics to the older text format, in which a counter's name has its `_total` everywhere.
fn as_prometheus(text: &str) -> String {
    let counters: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.strip_suffix(" counter")).collect();
    let mut out = String::with_capacity(text.len());
    for line in text.lines().filter(|line| *line != "# EOF" && !line.starts_with("# UNIT")) {
        let mut words = line.splitn(4, ' ');
        match (words.next(), words.next(), words.next(), words.next()) {
            (Some("#"), Some(what), Some(name), Some(rest)) if counters.contains(&name) => {
                let rest = rest.trim_end_matches('.');
                let stop = if what == "HELP" { "." } else { "" };
                let _ = writeln!(out, "# {what} {name}_total {rest}{stop}");
            }
            _ => {
                let _ = writeln!(out, "{line}");
            }
        }
    }
    out
}

/// What is told of the process itself.
const PROCESS: [(&str, MetricKind, &str); 3] = [
    ("process_cpu_seconds_total", MetricKind::Counter, "Total user and system CPU time spent in seconds."),
    ("process_resident_memory_bytes", MetricKind::Gauge, "Resident memory size in bytes."),
    ("process_open_fds", MetricKind::Gauge, "Number of open file descriptors."),
];

/// The process itself, as far as the operating system tells.
fn process(out: &mut String) {
    let Some(this) = process_figures() else { return };
    for ((name, kind, help), value) in
        PROCESS.iter().zip([this.cpu_seconds, this.resident_bytes, this.open_files])
    {
        let kind = if *kind == MetricKind::Counter { "counter" } else { "gauge" };
        let _ = write!(out, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}\n");
    }
}

/// What [`process_figures`] finds.
pub(crate) struct ProcessFigures {
    pub(crate) cpu_seconds: f64,
    pub(crate) resident_bytes: f64,
    pub(crate) open_files: f64,
}

/// From `/proc`; `None` where there is none.
pub(crate) fn process_figures() -> Option<ProcessFigures> {
    /// Fixed by the kernel's interface, whatever the machine's real ones are.
    const TICKS: f64 = 100.0;
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The second field is the program's name in parentheses and may hold anything.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?;
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(ProcessFigures {
        cpu_seconds: ticks / TICKS,
        resident_bytes: resident.trim().trim_end_matches(" kB").parse::<f64>().ok()? * 1024.0,
        open_files: std::fs::read_dir("/proc/self/fd").ok()?.count() as f64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_have_their_full_name_everywhere() {
        let metrics = Metrics::default();
        let hits = Counter::default();
        metrics.admin_checks(hits.clone(), Counter::default());
        hits.inc();
        metrics.count(&http::Method::GET, 200);
        metrics.count(&http::Method::from_bytes(b"BREW").expect("a token"), 404);
        let text = metrics.render();
        for line in [
            "# HELP sar_cache_hits_total Total number of SAR admin check cache hits.",
            "# TYPE sar_cache_hits_total counter",
            "sar_cache_hits_total 1",
            "maas_api_requests_total{method=\"GET\",code=\"200\"} 1",
            "maas_api_requests_total{method=\"other\",code=\"404\"} 1",
            "promhttp_metric_handler_requests_total{code=\"200\"} 0",
            "# TYPE promhttp_metric_handler_requests_in_flight gauge",
        ] {
            assert!(text.lines().any(|l| l == line), "{line} is not in\n{text}");
        }
        assert!(!text.contains("# EOF"));
        assert!(metrics.render().contains("promhttp_metric_handler_requests_total{code=\"200\"} 1"));
    }
}
