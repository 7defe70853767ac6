//! What OpenShift adds: group, Routes, the cluster's domain; and APIs that a cluster may lack.

use k8s_openapi::api::rbac::v1::RoleBinding;
use quintet_api::{
    crd,
    foreign::{
        openshift::{Group, Ingress, Route},
        platform::Auth,
    },
    model_registry::ModelRegistry,
};
use quintet_kit::{Context, Select, run::Settings};
use quintet_model_registry::Apis;
use quintet_stage::server::install;
use serde_json::json;

use super::support::{
    at, base, covers,
    stage::{BYOIDC, NAMESPACE, NO_CATALOG, OPENSHIFT, PLAIN, PLATFORM, Serves, Stage, registry},
    with,
};

#[tokio::test(start_paused = true)]
async fn scenario_04_openshift_with_user_api() {
    let stage = Stage::openshift().await;
    stage.create(base()).await;
    assert!(stage.get::<Group>("reg-users").await.is_some());
    let binding = stage.get::<RoleBinding>("reg-users").await.unwrap();
    assert_eq!(at(&binding, "roleRef.name"), "registry-user-reg");
    assert!(covers(at(&binding, "subjects.0"), &json!({ "kind": "Group", "name": "reg-users" })));
    // Members are the administrators' to add, and stay.
    stage.edit::<Group>("reg-users", json!({ "users": ["alice"] })).await;
    stage.patch(json!({ "rest": { "port": 9000 } })).await;
    assert_eq!(stage.get::<Group>("reg-users").await.unwrap()["users"], json!(["alice"]));
}

#[tokio::test(start_paused = true)]
async fn scenario_05_byoidc() {
    let stage = Stage::new(BYOIDC, NO_CATALOG).await;
    stage.create(base()).await;
    assert!(stage.get::<RoleBinding>("reg-users").await.is_some());
    stage.delete::<ModelRegistry>("reg").await;
    assert!(stage.subject().await.is_none(), "deletion does not wait for a Group");
    assert!(stage.writes(0).iter().all(|write| !write.contains("groups")), "no Group call is made");
}

#[tokio::test(start_paused = true)]
async fn scenario_06_http_route_on() {
    let stage = Stage::openshift().await;
    stage.create(with(json!({ "rest": { "serviceRoute": "enabled" } }))).await;
    let route = stage.get::<Route>("reg-http").await.unwrap();
    assert_eq!(at(&route, "spec.port.targetPort"), "http-api");
    assert_eq!(at(&route, "spec.to.name"), "reg");
    assert!(at(&route, "spec.host").is_null() && at(&route, "spec.tls").is_null());
}

#[tokio::test(start_paused = true)]
async fn scenario_07_http_route_off_again() {
    let stage = Stage::openshift().await;
    stage.create(with(json!({ "rest": { "serviceRoute": "enabled" } }))).await;
    assert!(stage.get::<Route>("reg-http").await.is_some());
    stage.patch(json!({ "rest": { "serviceRoute": "disabled" } })).await;
    assert!(stage.get::<Route>("reg-http").await.is_none());
    let mark = stage.mark();
    stage.patch(json!({ "rest": { "port": 8081 } })).await;
    let deletes: Vec<_> = stage.writes(mark).into_iter().filter(|w| w.starts_with("delete")).collect();
    assert!(deletes.is_empty(), "what is not there is not deleted: {deletes:?}");
}

#[tokio::test(start_paused = true)]
async fn an_api_that_is_installed_later_is_picked_up() {
    let stage = Stage::plain().await;
    stage.create(with(json!({ "rest": { "serviceRoute": "enabled" } }))).await;
    assert!(stage.get::<RoleBinding>("reg-users").await.is_none());
    install(&stage.admin, crd::of::<Route>()).await;
    install(&stage.admin, crd::of::<Group>()).await;
    stage.until("a Route", async || stage.get::<Route>("reg-http").await).await;
    stage.until("its users", async || stage.get::<RoleBinding>("reg-users").await).await;
    stage.until("their group", async || stage.get::<Group>("reg-users").await).await;
}

#[tokio::test(start_paused = true)]
async fn a_group_stays_for_a_namesake() {
    let stage = Stage::new(OPENSHIFT, &[("ENABLE_MODEL_CATALOG", "false")]).await;
    stage.create(base()).await;
    let mut namesake = registry("reg", base());
    namesake["metadata"]["namespace"] = json!("other");
    stage.put(namesake).await;
    stage.edit::<Group>("reg-users", json!({ "users": ["alice"] })).await;
    stage.delete::<ModelRegistry>("reg").await;
    assert!(stage.subject().await.is_none());
    let group = stage.get::<Group>("reg-users").await.expect("the other's users are in it");
    assert_eq!(group["users"], json!(["alice"]));
    let others: kube::Api<ModelRegistry> = kube::Api::namespaced(stage.admin.clone(), "other");
    others.delete("reg", &Default::default()).await.unwrap();
    stage.settle().await;
    assert!(stage.get::<Group>("reg-users").await.is_none());
}

#[tokio::test(start_paused = true)]
async fn the_clusters_domain_is_used_where_none_is_configured() {
    let stage =
        Stage::new(OPENSHIFT, &[("REGISTRIES_NAMESPACE", NAMESPACE), ("ENABLE_MODEL_CATALOG", "false")])
            .await;
    stage.create(with(json!({ "kubeRBACProxy": {} }))).await;
    stage.up().await;
    stage.pod("p", &["rest-container", "kube-rbac-proxy"], json!({})).await;
    assert!(stage.get::<Route>("reg-https").await.is_none(), "no Route without a host");
    let available = stage.condition("Available").await.unwrap();
    assert!(available.2.contains("the domain is not known"), "{available:?}");
    assert_eq!(stage.status().await["hosts"].as_array().unwrap().len(), 3);
    stage.put(json!({ "apiVersion": "config.openshift.io/v1", "kind": "Ingress", "metadata": { "name": "cluster" },
        "spec": { "domain": "apps.test" } })).await;
    assert_eq!(at(&stage.get::<Route>("reg-https").await.unwrap(), "spec.host"), "reg-rest.apps.test");
}

/// What the operator finds out about a cluster that serves these.
async fn capabilities(serves: Serves) -> Apis {
    let stage = Stage::without_operator(serves, NO_CATALOG).await;
    let context = Context::new(stage.admin.clone(), Settings::default());
    let hubs = context.hubs();
    let all = Select::all();
    let _watched =
        (hubs.of::<Route>(&all), hubs.of::<Group>(&all), hubs.of::<Ingress>(&all), hubs.of::<Auth>(&all));
    hubs.start();
    stage.settle().await;
    Apis::of(hubs)
}

#[tokio::test(start_paused = true)]
async fn scenario_40_capabilities() {
    assert_eq!(capabilities(PLATFORM).await, Apis { route: true, group: true, config: true, auth: true });
    assert_eq!(capabilities(PLAIN).await, Apis::default());
    assert_eq!(capabilities(BYOIDC).await, Apis { route: true, config: true, ..Apis::default() });
}
