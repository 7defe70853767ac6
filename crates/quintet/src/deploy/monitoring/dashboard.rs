//! A Grafana dashboard: what to look at first, then a graph for every family.

use anyhow::Result;
use quintet_kit::metrics::MetricKind;
use serde_json::{Value, json};

use super::families::{Family, Part};
use crate::output::{Format, document};

/// How far back rates look: what Grafana thinks right for the scrape interval and the graph.
const WITHIN: &str = "$__rate_interval";

/// Title, unit, legend, query.
const AT_A_GLANCE: [(&str, &str, &str, &str); 4] = [
    ("Who writes", "short", "{{pod}} {{name}}", "leader_election_master_status"),
    (
        "Share of reconciles that fail",
        "percentunit",
        "{{controller}}",
        "sum by (controller) (rate(controller_runtime_reconcile_errors_total[$__rate_interval])) / sum by (controller) \
         (rate(controller_runtime_reconcile_total[$__rate_interval]))",
    ),
    (
        "Writes that were sent",
        "ops",
        "{{controller}} {{kind}}",
        "sum by (controller, kind) (rate(quintet_writes_total{outcome=\"sent\"}[$__rate_interval]))",
    ),
    (
        "Share of maas-api's answers that are errors",
        "percentunit",
        "",
        "sum(rate(maas_api_requests_total{code=~\"5..\"}[$__rate_interval])) / sum(rate(maas_api_requests_total\
         [$__rate_interval]))",
    ),
];

const WIDTH: usize = 8;
const HEIGHT: usize = 7;
const ACROSS: usize = 24 / WIDTH;

/// The dashboard, to be imported.
pub(super) fn json(families: &[Family]) -> Result<String> {
    let mut panels = Panels::default();
    panels.row("At a glance");
    for (title, unit, legend, query) in AT_A_GLANCE {
        panels.graph(title, "", unit, legend, query);
    }
    for part in Part::ALL {
        panels.row(part.title());
        for family in families.iter().filter(|family| family.part == part) {
            let legend: Vec<String> = family.by.iter().map(|label| format!("{{{{{label}}}}}")).collect();
            let title = match family.described.kind {
                MetricKind::Histogram => format!("{} (99 %)", family.described.name),
                _ => family.described.name.clone(),
            };
            panels.graph(&title, family.means, unit(family), &legend.join(" "), &family.query(WITHIN));
        }
    }
    let source =
        json!({"type": "datasource", "name": "datasource", "label": "Data source", "query": "prometheus"});
    let dashboard = json!({
        "title": "Quintet",
        "uid": "quintet",
        "tags": ["quintet"],
        "schemaVersion": 39,
        "editable": true,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "templating": {"list": [source]},
        "panels": panels.all,
    });
    document(&dashboard, Format::Json)
}

/// Grafana's name of what is measured.
fn unit(family: &Family) -> &'static str {
    let name = family.described.name.as_str();
    match family.described.kind {
        _ if name.ends_with("_seconds") => "s",
        _ if name.ends_with("_bytes") => "bytes",
        MetricKind::Counter if name.ends_with("_seconds_total") => "s",
        MetricKind::Counter => "ops",
        _ => "short",
    }
}

/// Panels from left to right, from top to bottom.
#[derive(Default)]
struct Panels {
    all: Vec<Value>,
    top: usize,
    in_row: usize,
}

impl Panels {
    fn row(&mut self, title: &str) {
        self.top += self.in_row.div_ceil(ACROSS) * HEIGHT;
        self.in_row = 0;
        let place = json!({"h": 1, "w": 24, "x": 0, "y": self.top});
        self.all.push(
            json!({"type": "row", "id": self.all.len() + 1, "title": title, "gridPos": place, "panels": []}),
        );
        self.top += 1;
    }

    fn graph(&mut self, title: &str, about: &str, unit: &str, legend: &str, query: &str) {
        let source = json!({"type": "prometheus", "uid": "${datasource}"});
        let place = json!({
            "h": HEIGHT,
            "w": WIDTH,
            "x": self.in_row % ACROSS * WIDTH,
            "y": self.top + self.in_row / ACROSS * HEIGHT,
        });
        self.all.push(json!({
            "type": "timeseries",
            "id": self.all.len() + 1,
            "title": title,
            "description": about,
            "datasource": source,
            "gridPos": place,
            "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
            "targets": [{"refId": "A", "datasource": source, "expr": query, "legendFormat": legend}],
        }));
        self.in_row += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::super::families;
    use super::*;

    #[test]
    fn every_family_has_a_graph_and_none_covers_another() {
        let families = families().unwrap();
        let dashboard: Value = serde_json::from_str(&json(&families).unwrap()).unwrap();
        let panels = dashboard["panels"].as_array().unwrap();
        for family in &families {
            let name = &family.described.name;
            let shown = panels
                .iter()
                .filter(|p| p["title"].as_str().is_some_and(|t| t.split(' ').next() == Some(name)));
            assert_eq!(shown.count(), 1, "{name}");
        }
        let mut places: Vec<String> =
            panels.iter().map(|p| format!("{} {}", p["gridPos"]["x"], p["gridPos"]["y"])).collect();
        places.sort();
        places.dedup();
        assert_eq!(places.len(), panels.len());
    }
}
