//! What watches over the processes: alert rules, a dashboard and the runbook, all from the families that the code has.

mod alerts;
mod dashboard;
mod families;
mod runbook;

use anyhow::Result;

pub use families::{Family, families};
pub use runbook::page as runbook_page;

use super::Files;

pub(super) fn files() -> Result<Files> {
    let (families, alerts) = (families()?, alerts::all()?);
    Ok(Files::from([
        ("monitoring/alerts.yaml".into(), alerts::rules(&alerts)?),
        ("monitoring/prometheusrule.yaml".into(), alerts::prometheus_rule(&alerts)?),
        ("monitoring/alerts-test.yaml".into(), alerts::tests(&alerts)?),
        ("monitoring/dashboard.json".into(), dashboard::json(&families)?),
    ]))
}
