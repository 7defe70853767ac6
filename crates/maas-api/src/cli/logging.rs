//! Logs: a JSON object per line, with the original's keys; for people when debugging.

use std::fmt;

use serde_json::{Map, Value};
use tracing::{
    Event, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{
    EnvFilter,
    fmt::{FmtContext, FormatEvent, FormatFields, format::Writer},
    registry::LookupSpan,
};

/// Sends logs to stdout. `RUST_LOG` narrows or widens them. Does nothing where logs already go somewhere.
pub(super) fn start(debug: bool) {
    let default = if debug { "debug,hyper=info,h2=info,rustls=info,sqlx=info,kube=info" } else { "info" };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(default));
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stdout);
    let _ = if debug { builder.try_init() } else { builder.event_format(Json).try_init() };
}

/// `{"timestamp": …, "level": …, "caller": …, "message": …, …}`
struct Json;

impl<S: Subscriber + for<'a> LookupSpan<'a>, N: for<'a> FormatFields<'a> + 'static> FormatEvent<S, N>
    for Json
{
    fn format_event(
        &self,
        _: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let metadata = event.metadata();
        let mut fields = Fields(Map::new());
        event.record(&mut fields);
        let mut line = Map::new();
        let caller = format!("{}:{}", metadata.file().unwrap_or("?"), metadata.line().unwrap_or(0));
        line.insert("timestamp".into(), jiff::Timestamp::now().to_string().into());
        line.insert("level".into(), metadata.level().as_str().to_lowercase().into());
        line.insert("caller".into(), caller.into());
        line.insert("message".into(), fields.0.remove("message").unwrap_or_default());
        for (name, value) in fields.0 {
            line.entry(name).or_insert(value);
        }
        writeln!(writer, "{}", Value::Object(line))
    }
}

struct Fields(Map<String, Value>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name().into(), format!("{value:?}").into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().into(), value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.0.insert(field.name().into(), value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.insert(field.name().into(), value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.0.insert(field.name().into(), value.into());
    }
}
