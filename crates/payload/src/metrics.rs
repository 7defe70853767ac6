//! What is counted. Labels come from the configuration, never from requests.

use std::sync::Arc;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::{Family, MetricConstructor};
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use quintet_kit::metrics::{Book, Described};

use crate::config::PluginSpec;

/// The process's metrics; clones share the counts.
#[derive(Debug, Clone)]
pub struct Metrics(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    book: Book,
    success: Counter,
    field_not_found: Family<FieldLabels, Counter>,
    field_empty: Family<FieldLabels, Counter>,
    plugin_duration: Family<PluginLabels, Histogram, Buckets>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct InfoLabels {
    commit: &'static str,
    build_ref: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct FieldLabels {
    field: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PluginLabels {
    extension_point: &'static str,
    plugin_type: String,
    plugin_name: String,
}

/// Where in the life of a request a plugin ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExtensionPoint {
    /// On the request.
    Request,
    /// On the response.
    Response,
}

impl ExtensionPoint {
    fn label(self) -> &'static str {
        match self {
            ExtensionPoint::Request => "request",
            ExtensionPoint::Response => "response",
        }
    }
}

/// Makes histograms with the original's buckets.
#[derive(Debug, Clone)]
struct Buckets;

impl MetricConstructor<Histogram> for Buckets {
    fn new_metric(&self) -> Histogram {
        Histogram::new([0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1])
    }
}

impl Default for Metrics {
    fn default() -> Self {
        let mut book = Book::default();
        let success = Counter::default();
        let (field_not_found, field_empty) = (Family::default(), Family::default());
        let plugin_duration = Family::new_with_constructor(Buckets);
        let info = Family::<InfoLabels, Gauge>::default();
        let commit = option_env!("QUINTET_COMMIT").unwrap_or("unknown");
        info.get_or_create(&InfoLabels { commit, build_ref: env!("CARGO_PKG_VERSION") }).set(1);
        book.register("bbr_success", "[ALPHA] Request bodies processed without error", success.clone());
        book.register(
            "bbr_body_field_not_found",
            "[ALPHA] Request bodies without the field that was looked for",
            field_not_found.clone(),
        );
        book.register(
            "bbr_body_field_empty",
            "[ALPHA] Request bodies in which the field that was looked for is empty",
            field_empty.clone(),
        );
        book.register("bbr_plugin_duration_seconds", "[ALPHA] Time a plugin took", plugin_duration.clone());
        book.register("bbr_info", "[ALPHA] The running build", info);
        Metrics(Arc::new(Inner { book, success, field_not_found, field_empty, plugin_duration }))
    }
}

impl Metrics {
    /// A request was processed without error.
    pub fn success(&self) {
        self.0.success.inc();
    }

    /// A body lacked `field`.
    pub fn field_not_found(&self, field: &str) {
        self.0.field_not_found.get_or_create(&FieldLabels { field: field.to_owned() }).inc();
    }

    /// A body's `field` was empty.
    pub fn field_empty(&self, field: &str) {
        self.0.field_empty.get_or_create(&FieldLabels { field: field.to_owned() }).inc();
    }

    /// Where a plugin's times are kept.
    pub fn plugin_times(&self, extension_point: ExtensionPoint, plugin: &PluginSpec) -> Histogram {
        let labels = PluginLabels {
            extension_point: extension_point.label(),
            plugin_type: plugin.kind.clone(),
            plugin_name: plugin.name.clone(),
        };
        self.0.plugin_duration.get_or_create(&labels).clone()
    }

    /// All of it in the text format that Prometheus reads.
    pub fn encode(&self) -> String {
        self.0.book.encode()
    }

    /// What is counted.
    pub fn described(&self) -> &[Described] {
        self.0.book.described()
    }
}
