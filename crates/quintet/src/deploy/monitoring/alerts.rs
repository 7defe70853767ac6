//! Prometheus' alert rules, and tests of them for `promtool test rules`.

use std::borrow::Cow;

use anyhow::Result;
use serde_json::{Value, json};

use crate::deploy::NAMESPACE;
use crate::output::{Format, document};
use crate::systems::Systems;

/// Something that somebody should look at.
#[derive(Clone, Debug)]
pub(super) struct Alert {
    pub(super) name: &'static str,
    /// `critical`: now. `warning`: today.
    pub(super) severity: &'static str,
    /// For how long it must hold.
    pub(super) lasting: &'static str,
    pub(super) expression: Cow<'static, str>,
    pub(super) summary: &'static str,
    /// What it means.
    pub(super) means: &'static str,
    /// What to do.
    pub(super) act: &'static str,
    /// Samples under which it fires, and under which it does not: series and values.
    fires: Samples,
    quiet: Samples,
}

/// All of them, about the leases and controllers of our systems: others on the cluster show the same families.
pub(super) fn all() -> Result<Vec<Alert>> {
    let rows = Systems::with(NAMESPACE, &|_, _| None)?.rows();
    let either = |names: Vec<&str>| names.join("|").replace('.', "\\\\.");
    let leases = either(rows.iter().filter_map(|rows| Some(rows.lease.as_ref()?.name.as_str())).collect());
    let controllers =
        either(rows.iter().flat_map(|rows| &rows.controllers).map(|rows| rows.controller.as_str()).collect());
    let webhooks = either(rows.iter().flat_map(|rows| &rows.webhooks).map(|row| row.path.as_str()).collect());
    let mut alerts = TABLE.to_vec();
    for alert in &mut alerts {
        let expression = alert.expression.replace("LEASES", &leases).replace("CONTROLLERS", &controllers);
        let expression = expression.replace("WEBHOOKS", &webhooks);
        alert.expression = expression.into();
    }
    Ok(alerts)
}

type Samples = &'static [(&'static str, &'static str)];

const TABLE: &[Alert] = &[
    Alert {
        name: "QuintetNobodyLeads",
        severity: "critical",
        lasting: "3m",
        expression: Cow::Borrowed(
            "sum by (namespace, name) (leader_election_master_status{name=~\"LEASES\"}) == 0",
        ),
        summary: "No process holds the lease {{ $labels.name }}",
        means: "Nobody writes for this system: changes of its resources have no effect.",
        act: "`kubectl get lease -A` shows who holds it: an original that still runs keeps it, and that is right. \
              `/readyz/<system>` and the log say what a process waits for, such as the right to update the lease.",
        fires: &[
            (
                "leader_election_master_status{name=\"a5eb1b3b.opendatahub.io\",namespace=\"n\",pod=\"a\"}",
                "0x60",
            ),
            (
                "leader_election_master_status{name=\"a5eb1b3b.opendatahub.io\",namespace=\"n\",pod=\"b\"}",
                "0x60",
            ),
        ],
        quiet: &[
            (
                "leader_election_master_status{name=\"a5eb1b3b.opendatahub.io\",namespace=\"n\",pod=\"a\"}",
                "0x60",
            ),
            (
                "leader_election_master_status{name=\"a5eb1b3b.opendatahub.io\",namespace=\"n\",pod=\"b\"}",
                "1x60",
            ),
            ("leader_election_master_status{name=\"somebody.else\",namespace=\"n\",pod=\"c\"}", "0x60"),
        ],
    },
    Alert {
        name: "QuintetTwoLead",
        severity: "critical",
        lasting: "2m",
        expression: Cow::Borrowed(
            "sum by (namespace, name) (leader_election_master_status{name=~\"LEASES\"}) > 1",
        ),
        summary: "Two processes say that they hold the lease {{ $labels.name }}",
        means: "It should not be possible for longer than a scrape takes to notice that a process ended.",
        act: "Scale to one replica, keep the logs of both and the Lease (`kubectl get lease -o yaml`), and report it.",
        fires: &[
            (
                "leader_election_master_status{name=\"85f368d1.opendatahub.io\",namespace=\"n\",pod=\"a\"}",
                "1x60",
            ),
            (
                "leader_election_master_status{name=\"85f368d1.opendatahub.io\",namespace=\"n\",pod=\"b\"}",
                "1x60",
            ),
        ],
        quiet: &[
            (
                "leader_election_master_status{name=\"85f368d1.opendatahub.io\",namespace=\"n\",pod=\"a\"}",
                "1x5 stale",
            ),
            (
                "leader_election_master_status{name=\"85f368d1.opendatahub.io\",namespace=\"n\",pod=\"b\"}",
                "0x6 1x54",
            ),
        ],
    },
    Alert {
        name: "QuintetGone",
        severity: "critical",
        lasting: "5m",
        expression: Cow::Borrowed(
            "group by (namespace, name) (leader_election_master_status{name=~\"LEASES\"} offset 30m) unless group by \
                     (namespace, name) (leader_election_master_status{name=~\"LEASES\"})",
        ),
        summary: "Metrics of the lease {{ $labels.name }} were there half an hour ago and are gone",
        means: "The process is gone, or its metrics cannot be read any more. Ends by itself half an hour after an uninstall.",
        act: "`kubectl get pods`, `kubectl describe` of the Pod, `kubectl logs --previous`. If it runs: is the scraper's \
              account bound to the ClusterRole `…-metrics-reader`?",
        fires: &[(
            "leader_election_master_status{name=\"a5eb1b3b.opendatahub.io\",namespace=\"n\"}",
            "1x10 stale",
        )],
        quiet: &[(
            "leader_election_master_status{name=\"a5eb1b3b.opendatahub.io\",namespace=\"n\"}",
            "1x120",
        )],
    },
    Alert {
        name: "QuintetWebhookFailing",
        severity: "critical",
        lasting: "5m",
        expression: Cow::Borrowed(
            "sum by (namespace, webhook) (rate(controller_runtime_webhook_requests_total{webhook=~\"WEBHOOKS\",\
                     code=~\"5..\"}[5m])) > 0",
        ),
        summary: "The webhook {{ $labels.webhook }} cannot judge what it is asked",
        means: "The API server refuses every write, or for a conversion every read, that needs this answer.",
        act: "The log says which review failed and why. `kubectl describe` of the webhook configuration shows whom the API \
              server calls; `ENABLE_WEBHOOKS=false` takes the webhooks out until the cause is found.",
        fires: &[(
            "controller_runtime_webhook_requests_total{webhook=\"/convert\",namespace=\"n\",code=\"500\"}",
            "0+6x60",
        )],
        quiet: &[
            (
                "controller_runtime_webhook_requests_total{webhook=\"/convert\",namespace=\"n\",code=\"200\"}",
                "0+6x60",
            ),
            (
                "controller_runtime_webhook_requests_total{webhook=\"/convert\",namespace=\"n\",code=\"500\"}",
                "3x60",
            ),
            (
                "controller_runtime_webhook_requests_total{webhook=\"/theirs\",namespace=\"n\",code=\"500\"}",
                "0+6x60",
            ),
        ],
    },
    Alert {
        name: "QuintetMigrationFailing",
        severity: "warning",
        lasting: "30m",
        expression: Cow::Borrowed(
            "max by (namespace, resource) (quintet_storage_migration_objects{state=\"failed\"}) > 0",
        ),
        summary: "Stored objects of {{ $labels.resource }} cannot be moved to the new version",
        means: "They stay readable. The old version must not be taken from the definition before they are moved.",
        act: "`kubectl describe crd` of the definition has events that say why; most likely a webhook refuses the object: \
              mend the object, it is tried again every ten minutes.",
        fires: &[(
            "quintet_storage_migration_objects{namespace=\"n\",resource=\"r\",state=\"failed\"}",
            "1x60",
        )],
        quiet: &[
            ("quintet_storage_migration_objects{namespace=\"n\",resource=\"r\",state=\"failed\"}", "0x60"),
            ("quintet_storage_migration_objects{namespace=\"n\",resource=\"r\",state=\"pending\"}", "5x60"),
        ],
    },
    Alert {
        name: "QuintetReconcileFailing",
        severity: "warning",
        lasting: "15m",
        expression: Cow::Borrowed(
            "sum by (namespace, controller) (rate(controller_runtime_reconcile_errors_total{controller=~\"CONTROLLERS\"}\
                     [10m])) / sum by (namespace, controller) (rate(controller_runtime_reconcile_total{controller=~\"CONTROLLERS\"}\
                     [10m])) > 0.2",
        ),
        summary: "{{ $value | humanizePercentage }} of the reconciles of {{ $labels.controller }} fail",
        means: "Some resources are not as they should be.",
        act: "`quintet_reconcile_failures_total` by `reason`, then [events](#events): each reason is explained there. The \
              resource's conditions say the same in words.",
        fires: &[
            ("controller_runtime_reconcile_errors_total{controller=\"mlflow\",namespace=\"n\"}", "0+30x60"),
            (
                "controller_runtime_reconcile_total{controller=\"mlflow\",namespace=\"n\",result=\"error\"}",
                "0+30x60",
            ),
            (
                "controller_runtime_reconcile_total{controller=\"mlflow\",namespace=\"n\",result=\"success\"}",
                "0+30x60",
            ),
        ],
        quiet: &[
            ("controller_runtime_reconcile_errors_total{controller=\"mlflow\",namespace=\"n\"}", "0+1x60"),
            (
                "controller_runtime_reconcile_total{controller=\"mlflow\",namespace=\"n\",result=\"error\"}",
                "0+1x60",
            ),
            (
                "controller_runtime_reconcile_total{controller=\"mlflow\",namespace=\"n\",result=\"success\"}",
                "0+30x60",
            ),
        ],
    },
    Alert {
        name: "QuintetReconcilePanics",
        severity: "critical",
        lasting: "0m",
        expression: Cow::Borrowed(
            "sum by (namespace, controller) (increase(controller_runtime_reconcile_panics_total{controller=~\"CONTROLLERS\"}\
                     [15m])) > 0",
        ),
        summary: "A reconcile of {{ $labels.controller }} panicked",
        means: "A bug of ours. The object is tried again, others go on.",
        act: "Report the log line with `internal error` and the object it names.",
        fires: &[(
            "controller_runtime_reconcile_panics_total{controller=\"mlflow\",namespace=\"n\"}",
            "0x24 1x40",
        )],
        quiet: &[(
            "controller_runtime_reconcile_panics_total{controller=\"mlflow\",namespace=\"n\"}",
            "3x60",
        )],
    },
    Alert {
        name: "QuintetQueueGrows",
        severity: "warning",
        lasting: "15m",
        expression: Cow::Borrowed("sum by (namespace, name) (workqueue_depth{name=~\"CONTROLLERS\"}) > 100"),
        summary: "{{ $value }} keys wait in the queue of {{ $labels.name }}",
        means: "More comes in than is worked off.",
        act: "Is a reconcile slow (`controller_runtime_reconcile_time_seconds`), or does somebody write again and again \
              (`workqueue_adds_total`)? The API server's own latency is the usual cause.",
        fires: &[("workqueue_depth{name=\"mlflow\",namespace=\"n\"}", "500x60")],
        quiet: &[("workqueue_depth{name=\"mlflow\",namespace=\"n\"}", "500x5 0x55")],
    },
    Alert {
        name: "QuintetReconcileHangs",
        severity: "warning",
        lasting: "5m",
        expression: Cow::Borrowed(
            "max by (namespace, name) (workqueue_longest_running_processor_seconds{name=~\"CONTROLLERS\"}) > 300",
        ),
        summary: "A reconcile of {{ $labels.name }} has been under way for {{ $value | humanizeDuration }}",
        means: "It waits for an answer, most likely of the API server or of a webhook behind it.",
        act: "Look for slow or failing webhooks of others (`kubectl get validatingwebhookconfigurations,\
              mutatingwebhookconfigurations`). Restarting the Pod is safe.",
        fires: &[("workqueue_longest_running_processor_seconds{name=\"mlflow\",namespace=\"n\"}", "0+60x60")],
        quiet: &[("workqueue_longest_running_processor_seconds{name=\"mlflow\",namespace=\"n\"}", "20x60")],
    },
    Alert {
        name: "QuintetReconcileSlow",
        severity: "warning",
        lasting: "15m",
        expression: Cow::Borrowed(
            "histogram_quantile(0.99, sum by (namespace, controller, le) (rate(controller_runtime_reconcile_time_seconds_bucket\
                     {controller=~\"CONTROLLERS\"}[10m]))) > 5",
        ),
        summary: "One reconcile of {{ $labels.controller }} in a hundred takes {{ $value | humanizeDuration }}",
        means: "A reconcile with nothing to do makes no request; one with much to do takes well below a second.",
        act: "As for QuintetReconcileHangs.",
        fires: &[
            (
                "controller_runtime_reconcile_time_seconds_bucket{controller=\"mlflow\",namespace=\"n\",le=\"5\"}",
                "0x60",
            ),
            (
                "controller_runtime_reconcile_time_seconds_bucket{controller=\"mlflow\",namespace=\"n\",le=\"10\"}",
                "0+10x60",
            ),
            (
                "controller_runtime_reconcile_time_seconds_bucket{controller=\"mlflow\",namespace=\"n\",le=\"+Inf\"}",
                "0+10x60",
            ),
        ],
        quiet: &[
            (
                "controller_runtime_reconcile_time_seconds_bucket{controller=\"mlflow\",namespace=\"n\",le=\"5\"}",
                "0+10x60",
            ),
            (
                "controller_runtime_reconcile_time_seconds_bucket{controller=\"mlflow\",namespace=\"n\",le=\"+Inf\"}",
                "0+10x60",
            ),
        ],
    },
    Alert {
        name: "QuintetWritesAgainAndAgain",
        severity: "warning",
        lasting: "30m",
        expression: Cow::Borrowed(
            "sum by (namespace, controller, kind) (rate(quintet_writes_total{outcome=\"sent\"}[15m])) > 0.5",
        ),
        summary: "{{ $labels.controller }} keeps writing {{ $labels.kind }} objects",
        means: "At rest nothing is written. Most likely another program sets a field back as often as we set it.",
        act: "`kubectl get <kind> -o yaml --show-managed-fields` shows who else writes which field. Two platforms that want \
              the same object to be different have to be told apart by their settings.",
        fires: &[(
            "quintet_writes_total{controller=\"mlflow\",namespace=\"n\",kind=\"Deployment\",outcome=\"sent\"}",
            "0+300x90",
        )],
        quiet: &[(
            "quintet_writes_total{controller=\"mlflow\",namespace=\"n\",kind=\"Deployment\",outcome=\"skipped\"}",
            "0+60x90",
        )],
    },
    Alert {
        name: "QuintetRightMissing",
        severity: "warning",
        lasting: "5m",
        expression: Cow::Borrowed(
            "sum by (job, instance) (rate(rest_client_requests_total{code=\"403\"}[10m])) > 0 and on (job, instance) \
                     leader_election_master_status{name=~\"LEASES\"}",
        ),
        summary: "The API server refuses requests of {{ $labels.instance }}",
        means: "The account lacks a right: roles of another version, or somebody took one away.",
        act: "The log names verb and resource. `quintet install --rbac` prints the roles of this version ([rights](rights.md)).",
        fires: &[
            ("rest_client_requests_total{job=\"j\",instance=\"i\",code=\"403\"}", "0+5x60"),
            (
                "leader_election_master_status{job=\"j\",instance=\"i\",name=\"a5eb1b3b.opendatahub.io\"}",
                "1x60",
            ),
        ],
        quiet: &[
            ("rest_client_requests_total{job=\"j\",instance=\"other\",code=\"403\"}", "0+5x60"),
            (
                "leader_election_master_status{job=\"j\",instance=\"i\",name=\"a5eb1b3b.opendatahub.io\"}",
                "1x60",
            ),
        ],
    },
    Alert {
        name: "QuintetApiServerFails",
        severity: "warning",
        lasting: "10m",
        expression: Cow::Borrowed(
            "(sum by (job, instance) (rate(rest_client_requests_total{code=~\"5..|<error>\"}[10m])) / sum by (job, \
                     instance) (rate(rest_client_requests_total[10m])) > 0.1) and on (job, instance) \
                     leader_election_master_status{name=~\"LEASES\"}",
        ),
        summary: "{{ $value | humanizePercentage }} of the requests of {{ $labels.instance }} to the API server fail",
        means: "The API server, or the way to it, is not well.",
        act: "Look at the API server first. Nothing has to be done here: what failed is tried again.",
        fires: &[
            ("rest_client_requests_total{job=\"j\",instance=\"i\",code=\"<error>\"}", "0+5x60"),
            ("rest_client_requests_total{job=\"j\",instance=\"i\",code=\"200\"}", "0+5x60"),
            (
                "leader_election_master_status{job=\"j\",instance=\"i\",name=\"a5eb1b3b.opendatahub.io\"}",
                "1x60",
            ),
        ],
        quiet: &[
            ("rest_client_requests_total{job=\"j\",instance=\"i\",code=\"409\"}", "0+5x60"),
            ("rest_client_requests_total{job=\"j\",instance=\"i\",code=\"200\"}", "0+5x60"),
            (
                "leader_election_master_status{job=\"j\",instance=\"i\",name=\"a5eb1b3b.opendatahub.io\"}",
                "1x60",
            ),
        ],
    },
    Alert {
        name: "QuintetObjectsIgnored",
        severity: "warning",
        lasting: "0m",
        expression: Cow::Borrowed(
            "sum by (namespace, kind) (increase(quintet_cache_invalid_objects_total[15m])) > 0",
        ),
        summary: "Objects of kind {{ $labels.kind }} do not fit their type and are ignored",
        means: "Their definition is of another version than this program.",
        act: "The log names object and field. Install the definitions of this version (`quintet crds`).",
        fires: &[("quintet_cache_invalid_objects_total{namespace=\"n\",kind=\"MLflow\"}", "0x24 2x40")],
        quiet: &[("quintet_cache_invalid_objects_total{namespace=\"n\",kind=\"MLflow\"}", "0x60")],
    },
    Alert {
        name: "MaasApiFails",
        severity: "critical",
        lasting: "10m",
        expression: Cow::Borrowed(
            "sum by (namespace) (rate(maas_api_requests_total{code=~\"5..\"}[10m])) / sum by (namespace) \
                     (rate(maas_api_requests_total[10m])) > 0.05",
        ),
        summary: "{{ $value | humanizePercentage }} of the requests to maas-api fail",
        means: "Keys cannot be made or validated, so that the gateway turns callers away.",
        act: "`/readyz` says which part is not well; most likely its database. The log has a line per failure.",
        fires: &[
            ("maas_api_requests_total{namespace=\"n\",method=\"POST\",code=\"500\"}", "0+5x60"),
            ("maas_api_requests_total{namespace=\"n\",method=\"POST\",code=\"200\"}", "0+5x60"),
        ],
        quiet: &[
            ("maas_api_requests_total{namespace=\"n\",method=\"POST\",code=\"401\"}", "0+5x60"),
            ("maas_api_requests_total{namespace=\"n\",method=\"POST\",code=\"200\"}", "0+5x60"),
        ],
    },
    Alert {
        name: "PayloadPluginSlow",
        severity: "warning",
        lasting: "10m",
        expression: Cow::Borrowed(
            "histogram_quantile(0.99, sum by (namespace, plugin_type, le) (rate(bbr_plugin_duration_seconds_bucket\
                     {plugin_type!=\"nemo-request-guard\"}[10m]))) > 0.05",
        ),
        summary: "Plugin {{ $labels.plugin_type }} takes {{ $value | humanizeDuration }} for one request in a hundred",
        means: "Plugins work in memory; every request waits for them.",
        act: "Is the process out of CPU (`kubectl top pod`)? Are bodies unusually large?",
        fires: &[
            (
                "bbr_plugin_duration_seconds_bucket{namespace=\"n\",plugin_type=\"api-translation\",le=\"0.05\"}",
                "0x60",
            ),
            (
                "bbr_plugin_duration_seconds_bucket{namespace=\"n\",plugin_type=\"api-translation\",le=\"0.1\"}",
                "0+10x60",
            ),
            (
                "bbr_plugin_duration_seconds_bucket{namespace=\"n\",plugin_type=\"api-translation\",le=\"+Inf\"}",
                "0+10x60",
            ),
        ],
        quiet: &[
            (
                "bbr_plugin_duration_seconds_bucket{namespace=\"n\",plugin_type=\"api-translation\",le=\"0.05\"}",
                "0+10x60",
            ),
            (
                "bbr_plugin_duration_seconds_bucket{namespace=\"n\",plugin_type=\"api-translation\",le=\"+Inf\"}",
                "0+10x60",
            ),
        ],
    },
];

const RUNBOOK: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/runbook.md");

const MADE: &str = "# Made from the code; do not edit: UPDATE=1 cargo test --workspace --test deploy\n";

fn groups(alerts: &[Alert]) -> Value {
    let rule = |alert: &Alert| {
        json!({
            "alert": alert.name,
            "expr": alert.expression,
            "for": alert.lasting,
            "labels": {"severity": alert.severity},
            "annotations": {
                "summary": alert.summary,
                "description": alert.means,
                "runbook_url": format!("{RUNBOOK}#{}", alert.name.to_lowercase()),
            },
        })
    };
    json!({"groups": [{"name": "quintet", "rules": alerts.iter().map(rule).collect::<Vec<_>>()}]})
}

/// A rule file of Prometheus.
pub(super) fn rules(alerts: &[Alert]) -> Result<String> {
    Ok(MADE.to_owned() + &document(&groups(alerts), Format::Yaml)?)
}

/// The same for the Prometheus operator.
pub(super) fn prometheus_rule(alerts: &[Alert]) -> Result<String> {
    let object = json!({
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": "quintet", "labels": {"app.kubernetes.io/name": "quintet"}},
        "spec": groups(alerts),
    });
    Ok(MADE.to_owned() + &document(&object, Format::Yaml)?)
}

/// When all samples have had their effect, for those of [`TABLE`].
const LOOKED_AT: &str = "37m";

/// For each rule, samples under which it fires, and some under which none does: `promtool test rules`.
pub(super) fn tests(alerts: &[Alert]) -> Result<String> {
    let test = |name: String, samples: Samples, query: String, expected: Value| {
        let series = samples.iter().map(|(series, values)| json!({"series": series, "values": values}));
        json!({
            "name": name,
            "interval": "1m",
            "input_series": series.collect::<Vec<_>>(),
            "promql_expr_test": [{"expr": query, "eval_time": LOOKED_AT, "exp_samples": expected}],
        })
    };
    let tests = alerts.iter().flat_map(|alert| {
        let name = alert.name;
        let fires = format!("count(ALERTS{{alertname=\"{name}\",alertstate=\"firing\"}})");
        let quiet = "count(ALERTS{alertstate=\"firing\"})".to_owned();
        [
            test(format!("{name} fires"), alert.fires, fires, json!([{"labels": "{}", "value": 1}])),
            test(format!("{name} is quiet"), alert.quiet, quiet, json!([])),
        ]
    });
    let tests: Vec<Value> = tests.collect();
    let file = json!({"rule_files": ["alerts.yaml"], "evaluation_interval": "1m", "tests": tests});
    Ok(MADE.to_owned() + &document(&file, Format::Yaml)?)
}

#[cfg(test)]
mod checks {
    use super::*;
    use crate::deploy::monitoring::families;
    use quintet_kit::metrics::MetricKind;

    #[test]
    fn every_rule_asks_for_families_that_there_are() {
        let mut known: Vec<String> = vec![];
        for family in families().unwrap() {
            let name = family.described.name;
            if family.described.kind == MetricKind::Histogram {
                known.push(format!("{name}_bucket"));
            } else {
                known.push(name);
            }
        }
        for alert in all().unwrap() {
            let words = alert.expression.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
            let asked: Vec<&str> = words.filter(|w| known.iter().any(|k| k == w)).collect();
            assert!(!asked.is_empty(), "{}: {}", alert.name, alert.expression);
            let prefixes = [
                "controller_runtime_",
                "workqueue_",
                "quintet_",
                "leader_",
                "rest_client_",
                "maas_api_",
                "bbr_",
            ];
            for word in alert.expression.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')) {
                let is_family = prefixes.iter().any(|prefix| word.starts_with(prefix));
                assert!(!is_family || asked.contains(&word), "{}: nothing is called {word}", alert.name);
            }
            assert!(!alert.expression.contains("LEASES") && !alert.expression.contains("CONTROLLERS"));
        }
    }
}
