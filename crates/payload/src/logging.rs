//! Log lines as the original writes them: one JSON object per line on standard error.

use quintet_kit::logging::{JsonFields, ZapLines};
use tracing::Level;

/// Starts logging at `level`. Does nothing if somebody else has.
pub fn init(level: Level) {
    let filter = tracing_subscriber::EnvFilter::new(format!("warn,quintet_payload={level}"));
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .event_format(ZapLines::default())
        .fmt_fields(JsonFields)
        .with_writer(std::io::stderr)
        .try_init();
}
