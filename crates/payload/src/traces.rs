//! One span per request, sent where OpenTelemetry's environment variables say.
//!
//! | variable | unless set |
//! |---|---|
//! | `OTEL_TRACES_EXPORTER` | `console`: a JSON line per span on standard output; `otlp` sends them by gRPC |
//! | `OTEL_EXPORTER_OTLP_ENDPOINT` | `http://localhost:4317` |
//! | `OTEL_SERVICE_NAME` | `gateway-api-inference-extension/bbr` |
//! | `OTEL_TRACES_SAMPLER`, `OTEL_TRACES_SAMPLER_ARG` | `parentbased_traceidratio`, `0.1` |

use std::io::Write;

use opentelemetry::trace::{SpanKind, Status, Tracer as _, TracerProvider as _};
use opentelemetry_otlp::{ExporterBuildError, SpanExporter as OtlpExporter};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{Sampler, SdkTracer, SdkTracerProvider, SpanData, SpanExporter};
use serde_json::json;

const SERVICE: &str = "gateway-api-inference-extension/bbr";
const SAMPLER: &str = "parentbased_traceidratio";
const RATIO: f64 = 0.1;

/// Where spans go. Dropping it sends what is still held.
#[derive(Debug)]
pub struct Traces(SdkTracerProvider);

impl Traces {
    /// As `variable` says. Must be called inside the runtime that the exporter is to send from.
    pub fn new(variable: impl Fn(&str) -> Option<String>) -> Result<Traces, ExporterBuildError> {
        let name = variable("OTEL_SERVICE_NAME").filter(|name| !name.is_empty());
        let resource = Resource::builder().with_service_name(name.unwrap_or_else(|| SERVICE.into())).build();
        let mut provider = SdkTracerProvider::builder().with_resource(resource);
        // Other samplers are read by the SDK; of this one we have another default.
        if variable("OTEL_TRACES_SAMPLER").is_none_or(|sampler| sampler == SAMPLER) {
            let ratio = variable("OTEL_TRACES_SAMPLER_ARG").and_then(|ratio| ratio.parse().ok());
            let ratio = Sampler::TraceIdRatioBased(ratio.unwrap_or(RATIO));
            provider = provider.with_sampler(Sampler::ParentBased(Box::new(ratio)));
        }
        let provider = match variable("OTEL_TRACES_EXPORTER").as_deref() {
            Some("otlp") => provider.with_batch_exporter(OtlpExporter::builder().with_tonic().build()?),
            _ => provider.with_batch_exporter(Console),
        };
        Ok(Traces(provider.build()))
    }

    /// Makes spans.
    pub fn tracer(&self) -> Tracer {
        Tracer(self.0.tracer("gateway-api-inference-extension/pkg/bbr"))
    }
}

impl Drop for Traces {
    fn drop(&mut self) {
        if let Err(error) = self.0.shutdown() {
            tracing::warn!(%error, "the last traces were not sent");
        }
    }
}

/// Makes spans.
#[derive(Clone, Debug)]
pub struct Tracer(SdkTracer);

impl Tracer {
    /// A request begins.
    pub(crate) fn request(&self) -> Span {
        Span(self.0.span_builder("gateway.request").with_kind(SpanKind::Server).start(&self.0))
    }
}

/// A request under way; ends when dropped.
#[derive(Debug)]
pub(crate) struct Span(opentelemetry_sdk::trace::Span);

impl Span {
    /// It failed.
    pub(crate) fn failed(&mut self, why: String) {
        opentelemetry::trace::Span::set_status(&mut self.0, Status::error(why));
    }
}

/// Writes spans to standard output.
#[derive(Debug)]
struct Console;

impl SpanExporter for Console {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let mut out = std::io::stdout().lock();
        for span in batch {
            let micros = |time: std::time::SystemTime| {
                time.duration_since(std::time::UNIX_EPOCH).unwrap_or_default().as_micros() as u64
            };
            let line = json!({
                "name": span.name,
                "traceId": span.span_context.trace_id().to_string(),
                "spanId": span.span_context.span_id().to_string(),
                "start": micros(span.start_time),
                "end": micros(span.end_time),
                "status": format!("{:?}", span.status),
            });
            let _ = writeln!(out, "{line}"); // whoever closed it does not want to know
        }
        Ok(())
    }
}
