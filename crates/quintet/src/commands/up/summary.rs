//! What a person, or a script, is told once the local cluster is up.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use quintet_kit::run::Health;
use serde_json::json;

use crate::client::connect::LOCAL_KUBECONFIG;
use crate::output::{self, Format, Paint, Tone};
use crate::serve;

/// What there is to tell.
pub(super) struct Facts {
    pub(super) kubeconfig: PathBuf,
    pub(super) apiserver: String,
    pub(super) operators: BTreeMap<String, Health>,
    pub(super) health: SocketAddr,
    pub(super) metrics: SocketAddr,
    pub(super) maas_api: Option<String>,
    pub(super) took: Duration,
}

/// Prints it: one JSON line for scripts, else a page.
pub(super) fn print(facts: &Facts, format: Option<Format>) -> Result<()> {
    match format {
        None => output::print(&page(facts, Paint::detect())),
        Some(Format::Json) => output::print(&(line(facts).to_string() + "\n")),
        Some(Format::Yaml) => output::print(&output::document(&line(facts), Format::Yaml)?),
    }
}

fn line(facts: &Facts) -> serde_json::Value {
    json!({
        "kubeconfig": facts.kubeconfig,
        "apiserver": facts.apiserver,
        "gateway": null,
        "maasApi": facts.maas_api,
        "pid": std::process::id(),
    })
}

fn page(facts: &Facts, paint: Paint) -> String {
    let systems: Vec<String> = facts
        .operators
        .iter()
        .map(|(name, health)| {
            let tone = if *health == Health::Ready { Tone::Good } else { Tone::Waiting };
            format!("{name} {}", paint.tone(tone, &serve::words(health)))
        })
        .collect();
    let operators = if systems.is_empty() { "none".to_string() } else { systems.join(", ") };
    let path = facts.kubeconfig.display();
    let flag = if facts.kubeconfig.as_os_str() == LOCAL_KUBECONFIG {
        String::new()
    } else {
        format!(" --kubeconfig {path}")
    };
    let title = paint.tone(Tone::Strong, &format!("Quintet is up, after {:.1} s.", facts.took.as_secs_f64()));
    format!(
        "{title} Ctrl-C stops it; nothing is kept.

  API server   {}
  kubeconfig   {path}
  operators    {operators}
  maas-api     {}
  health       http://{}/readyz
  metrics      http://{}/metrics

Try, in another terminal:
  quintet apply{flag} -f examples/mlflow/minimal.yaml
  quintet tree{flag} mlflow mlflow
  quintet get{flag} mlflows -w
  kubectl --kubeconfig {path} get mlflows

",
        facts.apiserver,
        facts.maas_api.as_deref().unwrap_or("none"),
        facts.health,
        facts.metrics
    )
}
