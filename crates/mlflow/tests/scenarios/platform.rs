//! Route, console link and metrics: APIs that a cluster may lack.

use k8s_openapi::api::apps::v1::Deployment;
use kube::Api;
use quintet_api::{
    crd,
    foreign::{console::ConsoleLink, gateway::HTTPRoute, monitoring::ServiceMonitor},
};
use serde_json::{Value, json};

use crate::{
    condition,
    support::{
        at, base, container, pod,
        server::{OPENSHIFT, PLAIN, Serves, install},
        stage::Stage,
    },
};

const GATEWAY: Serves = Serves { http_route: true, ..PLAIN };
const URL: (&str, &str) = ("MLFLOW_URL", "https://gw.test");

#[tokio::test(start_paused = true)]
async fn scenario_08_the_route_has_three_rules_and_gives_the_url() {
    let stage = Stage::new(GATEWAY, &[URL]).await;
    stage.create(base()).await;
    let rule = |path: &str, rewritten: Option<&str>| {
        let mut rule = json!({
            "matches": [{ "path": { "type": "PathPrefix", "value": path } }],
            "backendRefs": [{ "name": "mlflow", "port": 8443, "weight": 1 }],
        });
        if let Some(prefix) = rewritten {
            let path = json!({ "type": "ReplacePrefixMatch", "replacePrefixMatch": prefix });
            rule["filters"] = json!([{ "type": "URLRewrite", "urlRewrite": { "path": path } }]);
        }
        rule
    };
    let route = stage.get::<HTTPRoute>("mlflow").await.unwrap();
    let rules =
        json!([rule("/mlflow/api", Some("/api")), rule("/mlflow/v1", Some("/v1")), rule("/mlflow", None)]);
    assert_eq!(at(&route, "spec.rules"), &rules);
    assert_eq!(stage.status().await["url"], "https://gw.test/mlflow");
}

#[tokio::test(start_paused = true)]
async fn scenario_09_without_a_configured_url_there_is_a_route_but_no_url() {
    let stage = Stage::new(GATEWAY, &[]).await;
    stage.create(base()).await;
    assert!(stage.get::<HTTPRoute>("mlflow").await.is_some());
    assert!(stage.status().await.get("url").is_none());
}

#[tokio::test(start_paused = true)]
async fn an_empty_url_counts_as_the_placeholder_configured_on_purpose() {
    let stage = Stage::new(GATEWAY, &[("MLFLOW_URL", "")]).await;
    stage.create(base()).await;
    assert_eq!(stage.status().await["url"], "https://mlflow.example.com/mlflow");
}

#[tokio::test(start_paused = true)]
async fn scenario_10_without_the_route_api_there_is_no_url() {
    let stage = Stage::new(PLAIN, &[URL]).await;
    stage.create(base()).await;
    assert!(stage.status().await.get("url").is_none());
}

#[tokio::test(start_paused = true)]
async fn scenario_11_the_gateway_is_the_configured_one() {
    let stage = Stage::new(GATEWAY, &[("GATEWAY_NAME", "my-gw")]).await;
    stage.create(base()).await;
    let route = stage.get::<HTTPRoute>("mlflow").await.unwrap();
    assert_eq!(
        at(&route, "spec.parentRefs"),
        &json!([{ "name": "my-gw", "namespace": "openshift-ingress" }])
    );
}

#[tokio::test(start_paused = true)]
async fn scenario_12_the_console_link_carries_url_section_and_one_label() {
    let stage = Stage::new(OPENSHIFT, &[URL, ("SECTION_TITLE", "AI")]).await;
    stage.create(base()).await;
    let link = Api::<ConsoleLink>::all(stage.admin.clone()).get("mlflow").await.unwrap();
    let link = serde_json::to_value(link).unwrap();
    assert_eq!(at(&link, "metadata.labels"), &json!({ "app": "mlflow" }));
    assert_eq!(at(&link, "spec.text"), "MLflow");
    assert_eq!(at(&link, "spec.href"), "https://gw.test/mlflow");
    assert_eq!(at(&link, "spec.applicationMenu.section"), "AI");
}

#[tokio::test(start_paused = true)]
async fn scenario_26_metrics_on_plain_kubernetes() {
    let stage = Stage::new(Serves { service_monitor: true, ..PLAIN }, &[]).await;
    stage.create(base()).await;
    assert_eq!(metrics(&stage).await, (json!({ "insecureSkipVerify": true }), json!(420)));
}

#[tokio::test(start_paused = true)]
async fn scenario_26_metrics_on_openshift() {
    let stage = Stage::new(OPENSHIFT, &[]).await;
    stage.create(base()).await;
    let authority = json!({ "configMap": { "name": "openshift-service-ca.crt", "key": "service-ca.crt" } });
    let tls = json!({ "ca": authority, "serverName": "mlflow.opendatahub.svc" });
    assert_eq!(metrics(&stage).await, (tls, json!(416)));
}

/// How Prometheus checks the server, and the mode of the server's certificate.
async fn metrics(stage: &Stage) -> (Value, Value) {
    let monitor = stage.get::<ServiceMonitor>("mlflow-metrics-monitor").await.unwrap();
    let deployment = stage.get::<Deployment>("mlflow").await.unwrap();
    let args = &container(&deployment, "mlflow")["args"];
    assert_eq!(args.as_array().unwrap().last().unwrap(), "--expose-prometheus=/prometheus");
    let mode = pod(&deployment)["spec"]["volumes"][1]["secret"]["defaultMode"].clone();
    (at(&monitor, "spec.endpoints.0.tlsConfig").clone(), mode)
}

#[tokio::test(start_paused = true)]
async fn an_api_that_is_installed_later_is_picked_up() {
    let stage = Stage::new(PLAIN, &[URL]).await;
    stage.create(base()).await;
    install(&stage.admin, crd::of::<HTTPRoute>()).await;
    install(&stage.admin, crd::of::<ServiceMonitor>()).await;
    stage.until("a route", async || stage.get::<HTTPRoute>("mlflow").await).await;
    stage.until("a monitor", async || stage.get::<ServiceMonitor>("mlflow-metrics-monitor").await).await;
    stage.settle().await;
    assert_eq!(stage.status().await["url"], "https://gw.test/mlflow");
}

#[tokio::test(start_paused = true)]
async fn a_route_that_the_gateway_refuses_is_a_condition() {
    let stage = Stage::new(GATEWAY, &[URL]).await;
    stage.create(base()).await;
    assert_eq!(stage.condition("RouteAccepted").await, None);
    let said = |type_: &str, status: &str, reason: &str| {
        json!({ "type": type_, "status": status, "reason": reason, "message": "no such gateway",
            "lastTransitionTime": "2026-01-01T00:00:00Z" })
    };
    for (conditions, expected) in [
        (json!([said("Accepted", "False", "NoMatchingParent")]), "False"),
        (json!([said("Accepted", "True", "Accepted"), said("ResolvedRefs", "True", "ResolvedRefs")]), "True"),
        (
            json!([said("Accepted", "True", "Accepted"), said("ResolvedRefs", "False", "BackendNotFound")]),
            "False",
        ),
    ] {
        let parent =
            json!({ "parentRef": { "name": "g" }, "controllerName": "c.test/x", "conditions": conditions });
        stage.report::<HTTPRoute>("mlflow", json!({ "parents": [parent] })).await;
        assert_eq!(stage.condition("RouteAccepted").await.unwrap().0, expected);
        assert_eq!(stage.status().await["url"], "https://gw.test/mlflow", "the URL stays");
    }
}

#[tokio::test(start_paused = true)]
async fn a_link_that_cannot_be_written_leaves_the_url_as_it_was() {
    let stage = Stage::new(OPENSHIFT, &[URL]).await;
    stage.refuse_writes("consolelinks");
    stage.create(base()).await;
    let message = "Failed to reconcile ConsoleLink: no";
    assert_eq!(stage.condition("Available").await, condition("False", "ConsoleLinkFailed", message));
    assert_eq!(stage.condition("Progressing").await, None);
    assert!(stage.status().await.get("url").is_none());
}

#[tokio::test(start_paused = true)]
async fn a_route_that_cannot_be_written_takes_the_url_away() {
    let stage = Stage::new(GATEWAY, &[URL]).await;
    stage.create(base()).await;
    assert_eq!(stage.status().await["url"], "https://gw.test/mlflow");
    stage.refuse_writes("httproutes");
    let elsewhere = json!({ "spec": { "parentRefs": [{ "name": "elsewhere" }] } });
    let routes: Api<HTTPRoute> = Api::namespaced(stage.admin.clone(), "opendatahub");
    routes.patch("mlflow", &Default::default(), &kube::api::Patch::Merge(elsewhere)).await.unwrap();
    stage.settle().await;
    let message = "Failed to reconcile HttpRoute: no";
    assert_eq!(stage.condition("Available").await, condition("False", "HttpRouteFailed", message));
    assert_eq!(stage.condition("Progressing").await, None);
    assert!(stage.status().await.get("url").is_none());
    stage.edge.relent();
    stage.until("the URL is back", async || stage.status().await.get("url").cloned()).await;
}
