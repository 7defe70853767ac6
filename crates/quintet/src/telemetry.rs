//! Logs for people or machines, and traces to a collector when one is configured.

use std::io::IsTerminal;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

use crate::errors::{Exit, Refusal};

/// How logs look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For eyes
    #[default]
    Text,
    /// One JSON object a line
    Json,
}

/// Flags of the commands that run for long.
#[derive(Args, Clone, Debug)]
pub struct LogArgs {
    /// How logs look
    #[arg(long, value_enum, default_value_t, env = "QUINTET_LOG_FORMAT", help_heading = "Logs")]
    pub log_format: LogFormat,
    /// What is logged: a level, or a filter such as info,quintet_kit=debug
    #[arg(long, default_value = Self::USUAL, env = "QUINTET_LOG", value_name = "FILTER", help_heading = "Logs")]
    pub log: String,
}

impl LogArgs {
    /// What is logged unless told otherwise.
    pub const USUAL: &str = "info";
}

/// Logging is on for as long as this lives; dropping it sends what traces are still held.
#[derive(Debug)]
pub struct Telemetry {
    traces: Option<SdkTracerProvider>,
}

impl Telemetry {
    /// Starts logging to standard error, and tracing if `OTEL_EXPORTER_OTLP_ENDPOINT` names a collector.
    ///
    /// Must be called inside the runtime: the exporter sends from a task of its own.
    pub fn start(args: &LogArgs) -> Result<Self> {
        let filter = EnvFilter::try_new(&args.log).map_err(|error| {
            Refusal::new(
                Exit::Usage,
                format!("--log {:?} is neither a level nor a filter: {error}", args.log),
            )
            .next("a level such as debug, or a filter such as info,quintet_kit=debug")
        })?;
        let lines = match args.log_format {
            LogFormat::Text => {
                let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
                lines.with_ansi(std::io::stderr().is_terminal()).boxed()
            }
            LogFormat::Json => tracing_subscriber::fmt::layer().json().with_writer(std::io::stderr).boxed(),
        };
        let traces = collector()?;
        let spans = traces.as_ref().map(|p| tracing_opentelemetry::layer().with_tracer(p.tracer("quintet")));
        tracing_subscriber::registry()
            .with(filter)
            .with(spans)
            .with(lines)
            .try_init()
            .context("starting logs")?;
        Ok(Telemetry { traces })
    }
}

impl Drop for Telemetry {
    fn drop(&mut self) {
        if let Some(traces) = self.traces.take()
            && let Err(error) = traces.shutdown()
        {
            tracing::warn!(%error, "the last traces were not sent");
        }
    }
}

fn collector() -> Result<Option<SdkTracerProvider>> {
    let named = ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"];
    if named.iter().all(|name| std::env::var_os(name).is_none()) {
        return Ok(None);
    }
    // The exporter reads the standard OTEL_* variables itself.
    let exporter =
        opentelemetry_otlp::SpanExporter::builder().with_tonic().build().context("setting up OTLP")?;
    let resource = Resource::builder().with_service_name("quintet").build();
    Ok(Some(SdkTracerProvider::builder().with_resource(resource).with_batch_exporter(exporter).build()))
}
