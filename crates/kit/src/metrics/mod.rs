//! What the process counts, under the names that dashboards made for controller-runtime know.
//!
//! Labels come from closed sets (controllers, kinds, reasons), never from objects' names.

mod book;
mod families;
mod migration;
mod rest;
mod webhook;

pub use book::{Book, Described, MetricKind};
pub use families::{CacheMetrics, ControllerMetrics, Metrics, QueueMetrics, WriteOutcome};
pub use migration::MigrationMetrics;
pub use rest::{RestMetrics, RestService};
pub(crate) use webhook::WebhookMetrics;
