//! `quintet run` and `/manager` as processes: what they serve, count, log and trace, who may write, and how they end.

mod cluster;
mod collector;
mod manager;
mod process;
mod refusals;
mod registry;
mod registry_manager;

use std::time::Duration;

use cluster::Cluster;
use collector::Collector;
use process::{Process, get, read};
use serde_json::Value;

const LEASE: &str = "a5eb1b3b.opendatahub.io";
const JSON: &[&str] = &["--log-format", "json"];

#[tokio::test(flavor = "multi_thread")]
async fn a_system_gets_ready_when_its_kinds_come_and_says_what_it_waits_for() {
    let cluster = Cluster::bare().await;
    let mut run = Process::run(&cluster, JSON, &[]);
    let health = run.address("serving health", None).await;
    assert_eq!(get(&format!("http://{health}/healthz")).await, (200, "ok".into()));
    let (code, said) = run
        .until("it waits", async |_| {
            let answer = get(&format!("http://{health}/readyz/mlflow")).await;
            answer.1.contains("MLflow").then_some(answer)
        })
        .await;
    assert!(code == 503 && said.contains("not served by the cluster"), "{code} {said}");
    let (code, said) = get(&format!("http://{health}/readyz")).await;
    assert!(code == 503 && said.starts_with("mlflow: waiting for"), "{code} {said}");
    assert_eq!(get(&format!("http://{health}/readyz/mlfow")).await.0, 404);

    cluster.install_mlflow().await;
    let ready = run.until("it is ready", async |_| {
        let (code, said) = get(&format!("http://{health}/readyz/mlflow")).await;
        (code == 200).then_some(said)
    });
    assert_eq!(ready.await, "ready\n");
    assert_eq!(get(&format!("http://{health}/readyz")).await, (200, "mlflow: ready\n".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn dashboards_of_the_originals_find_their_metrics() {
    let cluster = Cluster::with_mlflow().await;
    cluster.create_mlflow().await;
    let mut run = Process::run(&cluster, JSON, &[]);
    let plain = run.address("Serving metrics server", Some(false)).await;
    let metrics = run
        .until("it reconciled, and had nothing more to do", async |_| {
            let (_, text) = get(&format!("http://{plain}/metrics")).await;
            let skipped =
                |line: &str| line.contains("kind=\"Deployment\"") && line.contains("outcome=\"skipped\"");
            text.lines().any(skipped).then_some(text)
        })
        .await;
    for start in [
        "controller_runtime_reconcile_total{controller=\"mlflow\",result=\"success\"} ",
        "controller_runtime_reconcile_errors_total{controller=\"mlflow\"} ",
        "controller_runtime_reconcile_time_seconds_count{controller=\"mlflow\"} ",
        "controller_runtime_active_workers{controller=\"mlflow\"} ",
        "controller_runtime_max_concurrent_reconciles{controller=\"mlflow\"} ",
        "workqueue_depth{name=\"mlflow\",controller=\"mlflow\"} ",
        "workqueue_adds_total{name=\"mlflow\",controller=\"mlflow\"} ",
        "workqueue_queue_duration_seconds_count{name=\"mlflow\",controller=\"mlflow\"} ",
        "workqueue_work_duration_seconds_count{name=\"mlflow\",controller=\"mlflow\"} ",
        "rest_client_requests_total{code=\"200\",method=\"GET\",host=\"127.0.0.1",
        "quintet_writes_total{controller=\"mlflow\",group=\"apps\",kind=\"Deployment\",policy=\"Apply\",outcome=\"sent\"} ",
        "quintet_writes_total{controller=\"mlflow\",group=\"apps\",kind=\"Deployment\",policy=\"Apply\",outcome=\"skipped\"} ",
        "quintet_cache_objects{group=\"mlflow.opendatahub.io\",kind=\"MLflow\",selection=\"all\"} 1",
        "leader_election_master_status{name=\"a5eb1b3b.opendatahub.io\"} 1",
    ] {
        assert!(metrics.lines().any(|line| line.starts_with(start)), "no {start} in\n{metrics}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_over_tls_are_for_those_who_may() {
    let cluster = Cluster::with_mlflow().await;
    cluster.let_scraper_read().await;
    let mut run = Process::run(&cluster, JSON, &[]);
    let address = run.address("Serving metrics server", Some(true)).await;
    let client = reqwest::Client::builder().tls_danger_accept_invalid_certs(true).build().unwrap();
    let ask = |token: &'static str| client.get(format!("https://{address}/metrics")).bearer_auth(token);
    assert_eq!(read(client.get(format!("https://{address}/metrics"))).await.0, 401);
    assert_eq!(read(ask("guess")).await, (401, "Unauthorized\n".into()));
    assert_eq!(read(ask("nobody")).await, (403, "Authorization denied for user nobody\n".into()));
    let answer = ask("scraper").send().await.unwrap();
    assert_eq!((answer.status().as_u16(), answer.version()), (200, reqwest::Version::HTTP_11));
    assert!(answer.text().await.unwrap().contains("controller_runtime_reconcile_total"));
    assert_eq!(get(&format!("http://{address}/metrics")).await.0, 0, "not in plain text");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_is_clean_and_gives_the_lease_back() {
    let cluster = Cluster::with_mlflow().await;
    cluster.create_mlflow().await;
    let mut run = Process::run(&cluster, JSON, &[("POD_NAME", "quintet-0")]);
    run.until("it leads and writes", async |_| cluster.wrote(0, "deployments").then_some(())).await;
    let held = cluster.lease(LEASE).await.expect("a lease");
    assert!(held.holder_identity.as_deref().unwrap().starts_with("quintet-0_"), "{held:?}");
    assert_eq!(held.lease_duration_seconds, Some(60), "the original's");

    let (status, took) = run.terminate().await;
    assert!(status.success(), "{status}\n{}", run.log().join("\n"));
    assert!(took < Duration::from_secs(25), "within the grace period, not {took:?}");
    let released = cluster.lease(LEASE).await.expect("a lease");
    assert_eq!(released.holder_identity.as_deref(), Some(""));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_replica_is_ready_and_writes_nothing_until_the_first_stops() {
    let cluster = Cluster::with_mlflow().await;
    let mut first = Process::run(&cluster, JSON, &[("POD_NAME", "one")]);
    first.until("it leads", async |_| cluster.lease(LEASE).await.map(drop)).await;
    let mark = cluster.plane.requests().mark();
    let mut second = Process::run(&cluster, JSON, &[("POD_NAME", "two")]);
    let health = second.address("serving health", None).await;
    let said = second.until("it stands by", async |_| {
        let (code, said) = get(&format!("http://{health}/readyz/mlflow")).await;
        (code == 200).then_some(said)
    });
    let said = said.await;
    assert!(said.starts_with("ready, standing by: one_"), "{said}");
    assert!(!cluster.wrote(mark, "mlflows"), "the standby wrote");

    assert!(first.terminate().await.0.success());
    cluster.create_mlflow().await;
    second.until("it takes over", async |_| cluster.wrote(mark, "deployments").then_some(())).await;
    let lease = cluster.lease(LEASE).await.unwrap();
    assert!(lease.holder_identity.unwrap().starts_with("two_"));
    assert_eq!(lease.lease_transitions, Some(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_original_that_holds_the_lease_is_never_written_against() {
    let cluster = Cluster::with_mlflow().await;
    cluster.create_mlflow().await;
    cluster.hold(LEASE, "mlflow-operator-controller-manager-abc_1234").await;
    let mark = cluster.plane.requests().mark();
    let mut run = Process::run(&cluster, JSON, &[]);
    let health = run.address("serving health", None).await;
    let said = run.until("it stands by", async |_| {
        let (code, said) = get(&format!("http://{health}/readyz/mlflow")).await;
        (code == 200).then_some(said)
    });
    assert!(said.await.contains("mlflow-operator-controller-manager-abc_1234 holds the lease"));
    let written = cluster.plane.requests().writes(mark);
    assert!(written.is_empty(), "{written:?}");
    assert!(run.terminate().await.0.success());
    assert_eq!(
        cluster.lease(LEASE).await.unwrap().holder_identity.as_deref(),
        Some("mlflow-operator-controller-manager-abc_1234"),
        "what is not ours is not given back"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn logs_are_json_for_machines_and_text_for_eyes() {
    let cluster = Cluster::with_mlflow().await;
    let mut run = Process::run(&cluster, JSON, &[]);
    run.address("serving health", None).await;
    let line = run.json().into_iter().find(|line| line["fields"]["message"] == "serving health").unwrap();
    assert_eq!(line["level"], "INFO");
    assert!(line["timestamp"].as_str().unwrap().ends_with('Z') && line["target"].is_string(), "{line}");
    run.terminate().await;

    let mut run = Process::run(&cluster, &["--log", "quintet=info"], &[]);
    let line = run
        .until("it says something", async |run| {
            run.log().into_iter().find(|line| line.contains("serving health"))
        })
        .await;
    assert!(serde_json::from_str::<Value>(&line).is_err() && line.contains("INFO"), "{line}");
    assert!(!line.contains('\x1b'), "no colours where nobody sees them: {line}");
}

#[tokio::test(flavor = "multi_thread")]
async fn reconciles_are_traced_when_a_collector_is_named() {
    let cluster = Cluster::with_mlflow().await;
    cluster.create_mlflow().await;
    let collector = Collector::default();
    let url = collector.start().await;
    let mut run = Process::run(&cluster, JSON, &[("OTEL_EXPORTER_OTLP_ENDPOINT", &url)]);
    run.until("it works", async |_| cluster.wrote(0, "deployments").then_some(())).await;
    let (status, _) = run.terminate().await; // sends what is still held
    assert!(status.success(), "{}", run.log().join("\n"));
    for text in ["reconcile", "controller", "mlflow", "quintet"] {
        assert!(collector.has(text), "no {text} among the spans\n{}", run.log().join("\n"));
    }
}
