//! Every family that one of our processes shows, with what it means and what to do about it.

use anyhow::{Result, bail};
use quintet_kit::metrics::{Described, MetricKind, Metrics};

use Part::{MaasApi, Managers, Payload};

/// Which process shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// `quintet run` and `/manager`.
    Managers,
    /// `quintet maas-api`.
    MaasApi,
    /// `quintet payload-processing`.
    Payload,
}

impl Part {
    pub(super) const ALL: [Part; 3] = [Managers, MaasApi, Payload];

    /// As a heading.
    pub(super) fn title(self) -> &'static str {
        match self {
            Managers => "Managers",
            MaasApi => "maas-api",
            Payload => "Payload processing",
        }
    }
}

/// A family, as the code describes it and as people need it described.
#[derive(Clone, Debug)]
pub struct Family {
    /// Which process shows it.
    pub part: Part,
    /// Its name, kind and the help that a scrape shows.
    pub described: Described,
    /// The labels that a graph tells apart.
    pub by: &'static [&'static str],
    /// What it tells, and when to act.
    pub means: &'static str,
}

/// All families. An error if one of the code's is not explained here, or one that is explained is not the code's.
pub fn families() -> Result<Vec<Family>> {
    let of = |part, all: Vec<Described>| all.into_iter().map(move |described| (part, described));
    let described: Vec<(Part, Described)> = of(Managers, Metrics::new().described().to_vec())
        .chain(of(MaasApi, quintet_maas_api::metrics::Metrics::described()))
        .chain(of(Payload, quintet_payload::metrics::Metrics::default().described().to_vec()))
        .collect();
    if let Some((part, name, ..)) =
        MEANINGS.iter().find(|(part, name, ..)| !described.iter().any(|(p, d)| p == part && d.name == *name))
    {
        bail!("{name} of {} is explained, but no code counts it", part.title());
    }
    let explained = described.into_iter().map(|(part, described)| {
        let found = MEANINGS.iter().find(|(p, name, ..)| *p == part && *name == described.name);
        let Some((_, _, by, means)) = found else {
            bail!("{} of {} is not explained in MEANINGS", described.name, part.title());
        };
        Ok(Family { part, described, by, means })
    });
    explained.collect()
}

impl Family {
    /// The query of a graph; `within` is how far back a rate looks.
    pub(super) fn query(&self, within: &str) -> String {
        let name = &self.described.name;
        let by = self.by.join(", ");
        match self.described.kind {
            MetricKind::Counter => format!("sum by ({by}) (rate({name}[{within}]))"),
            MetricKind::Gauge => format!("sum by ({by}) ({name})"),
            MetricKind::Histogram => {
                let by = [&["le"], self.by].concat().join(", ");
                format!("histogram_quantile(0.99, sum by ({by}) (rate({name}_bucket[{within}])))")
            }
        }
    }
}

/// Part, name, labels to tell apart, meaning.
const MEANINGS: &[(Part, &str, &[&str], &str)] = &[
    (
        Managers,
        "controller_runtime_reconcile_total",
        &["controller", "result"],
        "Reconciles by result. `requeue_after` is a reconcile that wants to look again later, no failure.",
    ),
    (
        Managers,
        "controller_runtime_reconcile_errors_total",
        &["controller"],
        "Reconciles that failed. A few are normal (conflicts, an API server that restarts); a steady rate is not: \
         `quintet_reconcile_failures_total` says why, the log says about which object.",
    ),
    (
        Managers,
        "controller_runtime_terminal_reconcile_errors_total",
        &["controller"],
        "Failures that only a change can mend. Look at the resource's conditions and events.",
    ),
    (
        Managers,
        "controller_runtime_reconcile_panics_total",
        &["controller"],
        "Reconciles that panicked. Always a bug of ours: please report the log line with it. Others go on.",
    ),
    (
        Managers,
        "controller_runtime_reconcile_time_seconds",
        &["controller"],
        "How long a reconcile takes. Milliseconds at rest; seconds mean a slow API server or webhook.",
    ),
    (Managers, "controller_runtime_active_workers", &["controller"], "Reconciles under way."),
    (
        Managers,
        "controller_runtime_max_concurrent_reconciles",
        &["controller"],
        "How many may be under way at once; as many for long means that work waits.",
    ),
    (Managers, "workqueue_depth", &["name"], "Keys that could be worked on now. Should return to 0."),
    (
        Managers,
        "workqueue_adds_total",
        &["name"],
        "Keys added. A high rate at rest is somebody writing again and again.",
    ),
    (Managers, "workqueue_retries_total", &["name"], "Keys tried again after a failure."),
    (Managers, "workqueue_queue_duration_seconds", &["name"], "How long a key waits before it is worked on."),
    (Managers, "workqueue_work_duration_seconds", &["name"], "How long it is worked on."),
    (
        Managers,
        "workqueue_unfinished_work_seconds",
        &["name"],
        "Time spent so far on keys that are being worked on; grows while something hangs.",
    ),
    (
        Managers,
        "workqueue_longest_running_processor_seconds",
        &["name"],
        "The longest of these. Minutes mean that a reconcile hangs, most likely on the network.",
    ),
    (
        Managers,
        "quintet_reconcile_failures_total",
        &["controller", "reason"],
        "Failed reconciles by reason; the reasons are listed under [events](#events).",
    ),
    (
        Managers,
        "quintet_writes_total",
        &["controller", "kind", "outcome"],
        "Writes that were `sent`, `skipped` since nothing differed, or `failed`. At rest nothing is sent: a steady rate \
         of `sent` is a fight with another writer over a field, and `kind` says of which objects.",
    ),
    (Managers, "quintet_cache_objects", &["kind"], "Objects kept in memory, by kind."),
    (
        Managers,
        "quintet_cache_invalid_objects_total",
        &["kind"],
        "Objects that did not fit their type and are ignored until they change; the log names them.",
    ),
    (Managers, "quintet_events_lost_total", &[], "Events that could not be recorded; nothing else is lost."),
    (
        Managers,
        "leader_election_master_status",
        &["name"],
        "1 in the process that writes for this lease, 0 in those that stand by. The sum over all should be 1.",
    ),
    (
        Managers,
        "rest_client_requests_total",
        &["code", "method"],
        "Requests to the API server by answer; `<error>` is one without an answer. 403 means that a right is missing, 409 \
         is normal, 429 and 5xx are the server's.",
    ),
    (
        Managers,
        "controller_runtime_webhook_requests_total",
        &["webhook", "code"],
        "Reviews that the API server asked for, by the answer's status. A refusal is a 200 too; 500 is a review that could \
         not be judged, and the log says why.",
    ),
    (
        Managers,
        "controller_runtime_webhook_requests_in_flight",
        &["webhook"],
        "Reviews under way. Should return to 0.",
    ),
    (
        Managers,
        "controller_runtime_webhook_latency_seconds",
        &["webhook"],
        "How long a review takes. Each write of such a resource waits for it: milliseconds, or the process lacks CPU.",
    ),
    (
        Managers,
        "quintet_storage_migration_objects",
        &["resource", "state"],
        "Stored objects by what a storage-version migration made of them: `pending`, `migrated` or `failed`. What failed is \
         tried again every ten minutes; events about the definition say why.",
    ),
    (MaasApi, "maas_api_requests_total", &["method", "code"], "Requests by method and status."),
    (
        MaasApi,
        "maas_api_validation_cache_hits_total",
        &[],
        "Keys validated from memory. With the misses: how much the database is spared.",
    ),
    (MaasApi, "maas_api_validation_cache_misses_total", &[], "Keys validated by asking the database."),
    (MaasApi, "sar_cache_hits_total", &[], "Checks for an administrator that were answered from memory."),
    (MaasApi, "sar_cache_misses_total", &[], "Checks for an administrator that asked the API server."),
    (MaasApi, "promhttp_metric_handler_requests_total", &["code"], "Scrapes."),
    (MaasApi, "promhttp_metric_handler_requests_in_flight", &[], "Scrapes under way."),
    (MaasApi, "process_cpu_seconds_total", &["instance"], "CPU time of the process."),
    (MaasApi, "process_resident_memory_bytes", &["instance"], "Memory of the process."),
    (MaasApi, "process_open_fds", &["instance"], "Open files and sockets of the process."),
    (Payload, "bbr_success_total", &[], "Request bodies processed without error."),
    (
        Payload,
        "bbr_body_field_not_found_total",
        &["field"],
        "Bodies without the field that routing needs, such as `model`. A client's mistake, unless it is all of them.",
    ),
    (Payload, "bbr_body_field_empty_total", &["field"], "Bodies in which that field is empty."),
    (
        Payload,
        "bbr_plugin_duration_seconds",
        &["plugin_type", "extension_point"],
        "How long a plugin takes. Well below a millisecond, but for those that ask somebody else (guardrails).",
    ),
    (Payload, "bbr_info", &["commit", "build_ref"], "The build that runs; always 1."),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_family_is_explained_and_nothing_else_is() {
        let families = families().unwrap();
        assert_eq!(families.len(), MEANINGS.len());
        assert!(families.iter().all(|family| family.means.ends_with('.')));
    }

    #[test]
    fn a_query_suits_its_kind() {
        let queries: Vec<String> = families().unwrap().iter().map(|family| family.query("5m")).collect();
        for expected in [
            "sum by (controller, result) (rate(controller_runtime_reconcile_total[5m]))",
            "sum by (name) (workqueue_depth)",
            "histogram_quantile(0.99, sum by (le, name) (rate(workqueue_queue_duration_seconds_bucket[5m])))",
            "sum by () (rate(quintet_events_lost_total[5m]))",
        ] {
            assert!(queries.iter().any(|query| query == expected), "{expected} is not in {queries:#?}");
        }
    }
}
