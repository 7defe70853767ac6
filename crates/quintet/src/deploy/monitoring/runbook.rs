//! The page `docs/runbook.md`.

use anyhow::Result;
use quintet_kit::metrics::MetricKind;
use std::fmt::Write;

use super::alerts::{self, Alert};
use super::families::{Family, Part, families};

const PAGE: &str = include_str!("runbook.md");

/// The page: what is written by hand, with tables of the alerts and the metrics.
pub fn page() -> Result<String> {
    Ok(PAGE.replace("{ALERTS}\n", &alerts(&alerts::all()?)?).replace("{METRICS}\n", &metrics(&families()?)?))
}

fn alerts(all: &[Alert]) -> Result<String> {
    let mut text = String::new();
    for Alert { name, severity, lasting, expression, means, act, .. } in all {
        let lasting = if *lasting == "0m" { "at once".into() } else { format!("after {lasting}") };
        write!(
            text,
            "### {name}\n\n{severity}, {lasting}. {means}\n\n**Do:** {act}\n\n```promql\n{expression}\n```\n\n"
        )?;
    }
    Ok(text.trim_end().to_owned() + "\n")
}

fn metrics(all: &[Family]) -> Result<String> {
    let mut text = String::new();
    for part in Part::ALL {
        write!(
            text,
            "### {}\n\n| family | kind | labels | what it tells |\n|---|---|---|---|\n",
            part.title()
        )?;
        for Family { described, by, means, .. } in all.iter().filter(|family| family.part == part) {
            let kind = match described.kind {
                MetricKind::Counter => "counter",
                MetricKind::Gauge => "gauge",
                MetricKind::Histogram => "histogram",
            };
            let labels: Vec<String> = by.iter().map(|label| format!("`{label}`")).collect();
            writeln!(text, "| `{}` | {kind} | {} | {means} |", described.name, labels.join(", "))?;
        }
        text.push('\n');
    }
    Ok(text.trim_end().to_owned() + "\n")
}
