//! Log lines as the original writes them: one JSON object per line on standard error.

use std::fmt;

use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, FormattedFields};
use tracing_subscriber::registry::LookupSpan;

/// Starts logging at `level`. Does nothing if somebody else has.
pub fn init(level: Level) {
    let filter = tracing_subscriber::EnvFilter::new(format!("warn,quintet_payload={level}"));
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .event_format(Lines)
        .fmt_fields(JsonFields)
        .with_writer(std::io::stderr)
        .try_init();
}

/// `{"level":…,"ts":…,"caller":…,"msg":…, fields…}`
struct Lines;

impl<S, N> FormatEvent<S, N> for Lines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut line = Fields::default();
        let meta = event.metadata();
        let caller = format!("{}:{}", meta.file().unwrap_or_default(), meta.line().unwrap_or_default());
        line.0.insert("level".into(), meta.level().as_str().to_ascii_lowercase().into());
        line.0.insert("ts".into(), jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string().into());
        line.0.insert("caller".into(), caller.into());
        for span in context.event_scope().into_iter().flat_map(|scope| scope.from_root()) {
            let extensions = span.extensions();
            let Some(fields) = extensions.get::<FormattedFields<N>>() else { continue };
            // A field recorded later is a second object behind the first.
            let objects =
                serde_json::Deserializer::from_str(&fields.fields).into_iter::<Map<String, Value>>();
            line.0.extend(objects.flatten().flatten());
        }
        event.record(&mut line);
        writeln!(writer, "{}", Value::Object(line.0))
    }
}

/// Keeps a span's fields as JSON until a line needs them.
struct JsonFields;

impl<'a> FormatFields<'a> for JsonFields {
    fn format_fields<R: tracing_subscriber::field::RecordFields>(
        &self,
        mut writer: Writer<'a>,
        fields: R,
    ) -> fmt::Result {
        let mut collected = Fields::default();
        fields.record(&mut collected);
        if collected.0.is_empty() { Ok(()) } else { write!(writer, "{}", Value::Object(collected.0)) }
    }
}

#[derive(Default)]
struct Fields(Map<String, Value>);

impl Fields {
    fn put(&mut self, field: &Field, value: Value) {
        let name = match field.name() {
            "message" => "msg",
            "x_request_id" => "x-request-id",
            name => name,
        };
        self.0.insert(name.into(), value);
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.put(field, format!("{value:?}").into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, value.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parking_lot::Mutex;
    use std::sync::Arc;

    #[derive(Clone, Default)]
    struct Sink(Arc<Mutex<Vec<u8>>>);

    impl std::io::Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_line_is_one_object_with_the_requests_id() {
        let sink = Sink::default();
        let writer = sink.clone();
        let subscriber = tracing_subscriber::fmt()
            .event_format(Lines)
            .fmt_fields(JsonFields)
            .with_writer(move || writer.clone())
            .finish();
        tracing::subscriber::with_default(subscriber, || {
            let span = tracing::info_span!("request", x_request_id = tracing::field::Empty);
            let _in = span.enter();
            span.record("x_request_id", "id \"1\"");
            tracing::warn!(count = 2, "said");
        });
        let line: Value = serde_json::from_slice(&sink.0.lock()).unwrap();
        assert_eq!(line["x-request-id"], "id \"1\"");
        assert_eq!(
            (&line["level"], &line["msg"], &line["count"]),
            (&"warn".into(), &"said".into(), &2.into())
        );
        assert!(line["ts"].is_string() && line["caller"].as_str().unwrap().contains("logging.rs"));
    }
}
