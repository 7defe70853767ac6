//! The `--zap-*` flags of the originals, and log lines as that library writes them.

use clap::{Args, ValueEnum};
use quintet_kit::logging::{JsonFields, TimeFormat, ZapLines};
use tracing_subscriber::EnvFilter;

use super::go::switch;

/// The `--zap-*` flags.
#[derive(Args, Clone, Debug)]
pub struct Zap {
    /// Defaults for development: lines for eyes, and all of them
    #[arg(long, value_parser = switch(), num_args = 0..=1, require_equals = true, default_missing_value = "true", help_heading = "Logs")]
    zap_devel: Option<bool>,
    /// Lines as JSON objects, or for eyes
    #[arg(long, value_enum, value_name = "ENCODER", help_heading = "Logs")]
    zap_encoder: Option<Encoder>,
    /// debug, info, error, panic, or a number above 0 for more
    #[arg(long, value_parser = level, value_name = "LEVEL", help_heading = "Logs")]
    zap_log_level: Option<&'static str>,
    /// info, error or panic; accepted, as errors here carry their causes and not a stack
    #[arg(long, value_parser = ["info", "error", "panic"], value_name = "LEVEL", help_heading = "Logs")]
    zap_stacktrace_level: Option<String>,
    /// How times are written in JSON
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT", help_heading = "Logs")]
    zap_time_encoding: Times,
}

/// How lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Encoder {
    /// One JSON object a line
    Json,
    /// For eyes
    Console,
}

/// How times look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "lower")]
enum Times {
    Epoch,
    Millis,
    Nano,
    Iso8601,
    #[default]
    Rfc3339,
    Rfc3339nano,
}

impl From<Times> for TimeFormat {
    fn from(times: Times) -> Self {
        match times {
            Times::Epoch => TimeFormat::Seconds,
            Times::Millis => TimeFormat::Milliseconds,
            Times::Nano => TimeFormat::Nanoseconds,
            Times::Iso8601 => TimeFormat::Iso8601,
            Times::Rfc3339 => TimeFormat::Rfc3339,
            Times::Rfc3339nano => TimeFormat::Rfc3339Nano,
        }
    }
}

/// Our level for one of zap's.
fn level(text: &str) -> Result<&'static str, String> {
    match (text, text.parse::<u32>()) {
        ("debug", _) | (_, Ok(1..=4)) => Ok("debug"),
        (_, Ok(5..)) => Ok("trace"),
        ("info", _) => Ok("info"),
        ("error", _) => Ok("error"),
        ("panic", _) => Ok("off"), // what would panic there ends the process here, with a word on standard error
        _ => Err("one of debug, info, error, panic, or a number above 0".into()),
    }
}

impl Zap {
    /// For originals that are in development unless told otherwise.
    pub fn developing(&self) -> Self {
        Zap { zap_devel: Some(self.zap_devel.unwrap_or(true)), ..self.clone() }
    }

    fn is_developing(&self) -> bool {
        self.zap_devel.unwrap_or(false)
    }

    fn level(&self) -> &'static str {
        self.zap_log_level.unwrap_or(if self.is_developing() { "debug" } else { "info" })
    }

    fn encoder(&self) -> Encoder {
        self.zap_encoder.unwrap_or(if self.is_developing() { Encoder::Console } else { Encoder::Json })
    }

    /// Starts logging to standard error. Does nothing if somebody else has.
    pub fn start(&self) {
        // Others' libraries are as quiet as they are in the originals.
        let level = self.level();
        let filter = if level == "off" {
            "off".into()
        } else {
            let ours = ["quintet", "quintet_kit", "quintet_mlflow", "quintet_model_registry"];
            ours.iter().fold("warn".to_owned(), |all, part| format!("{all},{part}={level}"))
        };
        let filter = EnvFilter::new(filter);
        let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
        let _ = match self.encoder() {
            Encoder::Json => lines
                .event_format(ZapLines { time: self.zap_time_encoding.into() })
                .fmt_fields(JsonFields)
                .try_init(),
            Encoder::Console => lines.with_ansi(false).try_init(), // as in the originals: logs are files
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Flags {
        #[command(flatten)]
        zap: Zap,
    }

    fn zap(flags: &[&str]) -> Result<Zap, clap::Error> {
        Flags::try_parse_from(["x"].iter().chain(flags)).map(|flags| flags.zap)
    }

    #[test]
    fn development_changes_only_the_defaults() {
        let read = |flags: &[&str]| {
            let zap = zap(flags).unwrap();
            (zap.level(), zap.encoder())
        };
        assert_eq!(read(&[]), ("info", Encoder::Json));
        assert_eq!(read(&["--zap-devel"]), ("debug", Encoder::Console));
        let registry = |flags: &[&str]| zap(flags).unwrap().developing().encoder();
        assert_eq!(registry(&[]), Encoder::Console);
        assert_eq!(registry(&["--zap-devel=false"]), Encoder::Json);
        assert_eq!(
            read(&["--zap-devel=true", "--zap-encoder=json", "--zap-log-level=2"]),
            ("debug", Encoder::Json)
        );
        assert_eq!(read(&["--zap-log-level=error", "--zap-time-encoding=rfc3339nano"]).0, "error");
        assert_eq!(read(&["--zap-stacktrace-level=panic", "--zap-log-level=10"]).0, "trace");
    }

    #[test]
    fn wrong_values_are_refused() {
        for wrong in
            ["--zap-log-level=0", "--zap-log-level=loud", "--zap-encoder=xml", "--zap-time-encoding=sundial"]
        {
            assert!(zap(&[wrong]).is_err(), "{wrong}");
        }
    }
}
