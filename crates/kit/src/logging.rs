//! Log lines as operators written in Go have them: one JSON object per line.

use std::fmt;

use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, FormattedFields};
use tracing_subscriber::registry::LookupSpan;

/// `{"level":…,"ts":…,"caller":…,"msg":…, fields…}`, the fields of the spans around it included. Fields named after an
/// HTTP header (`x_…`) get its dashes.
#[derive(Clone, Copy, Debug, Default)]
pub struct ZapLines {
    /// How times are written.
    pub time: TimeFormat,
}

/// How times are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeFormat {
    /// Seconds since 1970, with a fraction.
    Seconds,
    /// Milliseconds since 1970, with a fraction.
    Milliseconds,
    /// Nanoseconds since 1970.
    Nanoseconds,
    /// `2026-01-02T03:04:05.678Z`
    Iso8601,
    /// `2026-01-02T03:04:05Z`
    #[default]
    Rfc3339,
    /// `2026-01-02T03:04:05.678901234Z`
    Rfc3339Nano,
}

impl TimeFormat {
    fn write(self, time: jiff::Timestamp) -> Value {
        match self {
            TimeFormat::Seconds => time.as_duration().as_secs_f64().into(),
            TimeFormat::Milliseconds => (time.as_duration().as_secs_f64() * 1e3).into(),
            TimeFormat::Nanoseconds => i64::try_from(time.as_nanosecond()).unwrap_or(i64::MAX).into(),
            TimeFormat::Iso8601 => time.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string().into(),
            TimeFormat::Rfc3339 => time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string().into(),
            TimeFormat::Rfc3339Nano => time.strftime("%Y-%m-%dT%H:%M:%S%.9fZ").to_string().into(),
        }
    }
}

impl<S, N> FormatEvent<S, N> for ZapLines
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
        line.0.insert("ts".into(), self.time.write(jiff::Timestamp::now()));
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
#[derive(Clone, Copy, Debug, Default)]
pub struct JsonFields;

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
            "message" => "msg".into(),
            header if header.starts_with("x_") => header.replace('_', "-"),
            name => name.into(),
        };
        self.0.insert(name, value);
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
            .event_format(ZapLines::default())
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

    #[test]
    fn times_are_written_as_told() {
        let time: jiff::Timestamp = "2026-01-02T03:04:05.678901234Z".parse().unwrap();
        for (format, expected) in [
            (TimeFormat::Seconds, serde_json::json!(1_767_323_045.678_901_2)),
            (TimeFormat::Nanoseconds, serde_json::json!(1_767_323_045_678_901_234_i64)),
            (TimeFormat::Iso8601, "2026-01-02T03:04:05.678Z".into()),
            (TimeFormat::Rfc3339, "2026-01-02T03:04:05Z".into()),
            (TimeFormat::Rfc3339Nano, "2026-01-02T03:04:05.678901234Z".into()),
        ] {
            assert_eq!(format.write(time), expected, "{format:?}");
        }
    }
}
