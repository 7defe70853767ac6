//! The specification's acceptance scenarios of the model catalog, through the API.

use http::StatusCode;
use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{ConfigMap, PersistentVolumeClaim, Secret, Service, ServiceAccount},
    networking::v1::NetworkPolicy,
    rbac::v1::{ClusterRoleBinding, RoleBinding},
};
use kube::api::PostParams;
use quintet_api::{
    crd,
    foreign::{
        openshift::{Ingress, Route},
        platform::{Auth, ModelRegistryComponent},
    },
};
use quintet_harness::faults::Asked;
use quintet_stage::server::install;
use serde_json::{Value, json};

use super::support::{
    Objects, assert_hold, at, case_for, container, covers,
    stage::{CATALOG, NAMESPACE, OPENSHIFT, PLAIN, PLATFORM, Stage},
};

/// The objects of the specification's case, in our namespace and domain, without those that depend on the cluster.
fn wanted(without: &[&str]) -> Objects {
    let words = [("odh-model-registries", NAMESPACE), ("apps.example.com", "example.com")];
    let mut objects = case_for("catalog-openshift", &words);
    objects.retain(|id, _| !without.contains(&id.as_str()) && !id.starts_with("Secret/"));
    objects
}

async fn assert_stored(stage: &Stage, wanted: &Objects) {
    let mut stored = stage.children().await;
    assert!(stored.remove("Secret/model-catalog-postgres").is_some());
    assert_hold(&stored, wanted);
}

const ON_OPENSHIFT: [&str; 2] = ["Route/model-catalog-https", "NetworkPolicy/model-catalog-https-route"];
const BINDING: &str = "RoleBinding/model-catalog-admin-binding";

#[tokio::test(start_paused = true)]
async fn scenario_30_catalog_on_plain_kubernetes() {
    let stage = Stage::new(PLAIN, CATALOG).await;
    assert_stored(&stage, &wanted(&[ON_OPENSHIFT[0], ON_OPENSHIFT[1], BINDING])).await;
    let secret = stage.get::<Secret>("model-catalog-postgres").await.unwrap();
    let keys: Vec<_> = secret["data"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(keys, ["database-name", "database-password", "database-user"]);
    stage.assert_at_rest().await;
}

#[tokio::test(start_paused = true)]
async fn scenario_31_catalog_on_openshift() {
    let stage = Stage::new(OPENSHIFT, CATALOG).await;
    assert_stored(&stage, &wanted(&[BINDING])).await;
    assert_eq!(
        at(&stage.get::<Route>("model-catalog-https").await.unwrap(), "spec.host"),
        "model-catalog.example.com"
    );
    stage.assert_at_rest().await;
}

#[tokio::test(start_paused = true)]
async fn scenario_32_default_sources_drift() {
    let stage = Stage::new(PLAIN, CATALOG).await;
    let edited = json!({ "data": { "sources.yaml": "catalogs: [{id: mine, name: M, type: yaml}]" } });
    stage.edit::<ConfigMap>("default-catalog-sources", edited.clone()).await;
    stage.edit::<ConfigMap>("model-catalog-sources", edited.clone()).await;
    let default = stage.get::<ConfigMap>("default-catalog-sources").await.unwrap();
    assert!(
        default["data"]["sources.yaml"].as_str().unwrap().starts_with("catalogs:\n  - name: Red Hat AI\n")
    );
    assert_eq!(stage.get::<ConfigMap>("model-catalog-sources").await.unwrap()["data"], edited["data"]);
}

fn config_map(name: &str, text: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name }, "data": { "sources.yaml": text } })
}

#[tokio::test(start_paused = true)]
async fn scenario_33_old_default_catalog() {
    let mut stage = Stage::without_operator(PLAIN, CATALOG).await;
    let text = "catalogs:\n- {id: default_catalog, name: D, type: yaml}\n- {id: custom_catalog, name: C, type: yaml}\n";
    stage.put(config_map("model-catalog-sources", text)).await;
    stage.start().await;
    let sources = |map: Value| map["data"]["sources.yaml"].as_str().unwrap().to_owned();
    let left = sources(stage.get::<ConfigMap>("model-catalog-sources").await.unwrap());
    assert!(left.contains("custom_catalog") && !left.contains("default_catalog"), "{left}");
    // What a user adds later is the user's.
    stage.edit::<ConfigMap>("model-catalog-sources", json!({ "data": { "sources.yaml": text } })).await;
    assert_eq!(sources(stage.get::<ConfigMap>("model-catalog-sources").await.unwrap()), text);
}

#[tokio::test(start_paused = true)]
async fn malformed_sources_are_reported_left_alone_and_do_not_keep_the_others_from_being_cleaned() {
    let mut stage = Stage::without_operator(PLAIN, CATALOG).await;
    let bad = "catalogs:\n- {id: default_catalog, surprise: 1}\n";
    stage.put(config_map("model-catalog-sources", bad)).await;
    stage.put(config_map("mcp-catalog-sources", "catalogs: [{id: default_catalog}]\n")).await;
    stage.start().await;
    assert_eq!(stage.get::<ConfigMap>("model-catalog-sources").await.unwrap()["data"]["sources.yaml"], bad);
    assert_eq!(stage.get::<ConfigMap>("mcp-catalog-sources").await.unwrap()["data"]["sources.yaml"], "{}\n");
    let events = stage.events().await;
    assert_eq!(events.iter().filter(|(reason, _)| reason == "SourcesUnreadable").count(), 1, "{events:?}");
    // Once it is mended it is cleaned, too: the original never comes back to it.
    let mended = json!({ "data": { "sources.yaml": "catalogs: [{id: default_catalog}, {id: x, name: X, type: yaml}]\n" } });
    stage.edit::<ConfigMap>("model-catalog-sources", mended).await;
    stage.delete::<ServiceAccount>("model-catalog").await;
    let left = stage.get::<ConfigMap>("model-catalog-sources").await.unwrap()["data"]["sources.yaml"].clone();
    assert!(!left.as_str().unwrap().contains("default_catalog"), "{left}");
}

#[tokio::test(start_paused = true)]
async fn scenario_34_labelled_source() {
    let stage = Stage::new(PLAIN, CATALOG).await;
    let mut extra = config_map("extra", "catalogs: []");
    extra["metadata"]["labels"] = json!({ "opendatahub.io/catalog-source": "true" });
    stage.put(extra).await;
    let mut useless = config_map("a.b", "catalogs: []");
    useless["metadata"]["labels"] = json!({ "opendatahub.io/catalog-source": "true" });
    stage.put(useless).await;
    let parts = |deployment: &Value| {
        let args = container(deployment, "catalog")["args"].as_array().unwrap().clone();
        let place = args.iter().position(|a| a == "--catalogs-path=/data/labeled-sources/extra/sources.yaml");
        let mounts = container(deployment, "catalog")["volumeMounts"].as_array().unwrap().clone();
        let mount = mounts.iter().any(|m| {
            covers(m, &json!({ "name": "labeled-extra", "mountPath": "/data/labeled-sources/extra" }))
        });
        let volumes = at(deployment, "spec.template.spec.volumes").as_array().unwrap().clone();
        let volume = volumes
            .iter()
            .any(|v| covers(v, &json!({ "name": "labeled-extra", "configMap": { "name": "extra" } })));
        (place, mount, volume, args.len())
    };
    let with = stage.get::<Deployment>("model-catalog").await.unwrap();
    assert_eq!(parts(&with), (Some(4), true, true, 6), "after the mcp path, before the metrics");
    assert!(
        stage.events().await.iter().any(|(reason, text)| reason == "SourceIgnored" && text.contains("name"))
    );
    // Taking the label off is enough.
    let label = json!({ "metadata": { "labels": { "opendatahub.io/catalog-source": null } } });
    stage.edit::<ConfigMap>("extra", label).await;
    let without = stage.get::<Deployment>("model-catalog").await.unwrap();
    assert_eq!(parts(&without), (None, false, false, 5));
    let label = json!({ "metadata": { "labels": { "opendatahub.io/catalog-source": "true" } } });
    stage.edit::<ConfigMap>("extra", label).await;
    assert_eq!(parts(&stage.get::<Deployment>("model-catalog").await.unwrap()), parts(&with));
    stage.delete::<ConfigMap>("extra").await;
    assert_eq!(parts(&stage.get::<Deployment>("model-catalog").await.unwrap()), parts(&without));
    // What cannot be used is told of once, and not at every look.
    let both = json!({ "metadata": { "labels": { "opendatahub.io/catalog-source": "true" } }, "data": null });
    stage.edit::<ConfigMap>("model-catalog-sources", both).await;
    let told = async || stage.events().await.iter().filter(|(reason, _)| reason == "SourceIgnored").count();
    assert_eq!(told().await, 2);
    stage.delete::<ServiceAccount>("model-catalog").await;
    assert_eq!(told().await, 2);
}

fn auth(groups: &[&str]) -> Value {
    json!({ "apiVersion": "services.platform.opendatahub.io/v1alpha1", "kind": "Auth", "metadata": { "name": "auth" },
        "spec": { "adminGroups": groups } })
}

#[tokio::test(start_paused = true)]
async fn scenario_35_admin_groups() {
    let stage = Stage::new(PLATFORM, CATALOG).await;
    assert!(stage.get::<RoleBinding>("model-catalog-admin-binding").await.is_none());
    stage.put(auth(&["g1", "g2"])).await;
    let binding = stage.get::<RoleBinding>("model-catalog-admin-binding").await.unwrap();
    let group =
        |name: &str| json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": name });
    assert_eq!(binding["subjects"], json!([group("g1"), group("g2")]));
    assert_eq!(at(&binding, "roleRef.name"), "model-catalog-admin");
    stage.edit::<Auth>("auth", json!({ "spec": { "adminGroups": [] } })).await;
    assert!(stage.get::<RoleBinding>("model-catalog-admin-binding").await.is_none());
}

#[tokio::test(start_paused = true)]
async fn the_platforms_component_owns_the_catalog() {
    let stage = Stage::new(PLATFORM, CATALOG).await;
    let component = json!({ "apiVersion": "components.platform.opendatahub.io/v1alpha1", "kind": "ModelRegistry",
        "metadata": { "name": "default-modelregistry" }, "spec": {} });
    stage.put(component).await;
    let uid =
        at(&stage.get::<ModelRegistryComponent>("default-modelregistry").await.unwrap(), "metadata.uid")
            .clone();
    for object in [
        stage.get::<Deployment>("model-catalog").await,
        stage.get::<ServiceAccount>("model-catalog").await,
        stage.get::<Secret>("model-catalog-postgres").await,
        stage.get::<PersistentVolumeClaim>("model-catalog-postgres").await,
    ] {
        assert_eq!(at(&object.unwrap(), "metadata.ownerReferences.0.uid"), &uid);
    }
    let users = stage.get::<ConfigMap>("model-catalog-sources").await.unwrap();
    assert!(at(&users, "metadata.ownerReferences").is_null(), "what is the users' has no owner");
    let service = stage.get::<Service>("model-catalog").await.unwrap();
    assert_eq!(at(&service, "metadata.ownerReferences.0.kind"), "Deployment");
}

#[tokio::test(start_paused = true)]
async fn an_owner_that_cannot_be_read_is_not_forgotten() {
    let mut stage = Stage::new(PLATFORM, CATALOG).await;
    let component = json!({ "apiVersion": "components.platform.opendatahub.io/v1alpha1", "kind": "ModelRegistry",
        "metadata": { "name": "default-modelregistry" }, "spec": {} });
    stage.put(component).await;
    let owners = async || {
        let account = stage.get::<ServiceAccount>("model-catalog").await.unwrap();
        at(&account, "metadata.ownerReferences").clone()
    };
    let before = owners().await;
    assert_eq!(before[0]["name"], "default-modelregistry");
    let is_read = |asked: &Asked| !asked.is_write() && asked.resource == "modelregistries";
    stage.edge.refuse(is_read, StatusCode::INTERNAL_SERVER_ERROR, "not today");
    stage.start().await;
    stage.rest().await;
    assert!(stage.edge.refusals() > 0);
    let account = stage.get::<ServiceAccount>("model-catalog").await.unwrap();
    assert_eq!(at(&account, "metadata.ownerReferences"), &before);
}

#[tokio::test(start_paused = true)]
async fn a_database_may_be_kept_in_its_pod() {
    let scratch = [CATALOG, &[("QUINTET_DIFFERENCES", "registry-catalog-scratch=on")]].concat();
    let stage = Stage::new(PLAIN, &scratch).await;
    let deployment = stage.get::<Deployment>("model-catalog-postgres").await.unwrap();
    let volume = at(&deployment, "spec.template.spec.volumes.0");
    assert!(volume["emptyDir"].is_object() && volume["persistentVolumeClaim"].is_null(), "{volume}");
    assert!(stage.get::<PersistentVolumeClaim>("model-catalog-postgres").await.is_none());
}

#[tokio::test(start_paused = true)]
async fn scenario_36_catalog_disabled() {
    let mut stage = Stage::new(OPENSHIFT, CATALOG).await;
    assert!(stage.get::<Deployment>("model-catalog").await.is_some());
    stage.stop();
    let cookie = json!({ "name": "model-catalog-oauth-cookie-secret" }); // as an earlier release left it
    stage.put(json!({ "apiVersion": "v1", "kind": "Secret", "metadata": cookie })).await;
    let off = [CATALOG, &[("ENABLE_MODEL_CATALOG", "false")]].concat();
    stage.start_with(&off).await;
    let left = async || stage.children().await.into_keys().collect::<Vec<_>>();
    let kept = [
        "ConfigMap/default-catalog-sources",
        "ConfigMap/mcp-catalog-sources",
        "ConfigMap/model-catalog-sources",
    ];
    stage.until("the rest goes", async || (left().await == kept).then_some(())).await;
    assert!(stage.get::<ClusterRoleBinding>("model-catalog-auth-delegator").await.is_none());
    assert!(stage.get::<Secret>("model-catalog-oauth-cookie-secret").await.is_none());
    stage.assert_at_rest().await;
}

#[tokio::test(start_paused = true)]
async fn a_catalog_that_is_off_leaves_the_database_of_somebody_else() {
    let mut stage = Stage::new(PLAIN, CATALOG).await;
    let off = [("ENABLE_MODEL_CATALOG", "false"), ("SKIP_MODEL_CATALOG_DB_CREATION", "true")];
    stage.start_with(&[CATALOG, &off].concat()).await;
    assert!(stage.get::<Deployment>("model-catalog").await.is_none());
    assert!(stage.get::<Deployment>("model-catalog-postgres").await.is_some());
    assert!(stage.get::<Secret>("model-catalog-postgres").await.is_some());
}

#[tokio::test(start_paused = true)]
async fn a_forbidden_write_never_deletes_the_catalogs_deployments() {
    let stage = Stage::new(PLAIN, CATALOG).await;
    let writes = |asked: &Asked| asked.is_write() && asked.resource == "deployments";
    stage.edge.refuse(writes, StatusCode::FORBIDDEN, "exceeded quota: field is immutable");
    let mark = stage.mark();
    for name in ["model-catalog", "model-catalog-postgres"] {
        stage.edit::<Deployment>(name, json!({ "spec": { "replicas": 3 } })).await;
    }
    assert!(stage.edge.refusals() > 1);
    assert!(stage.writes(mark).iter().all(|write| !write.starts_with("delete")));
    stage.edge.relent();
    let is_mended = async || {
        let one = stage.get::<Deployment>("model-catalog").await?;
        (at(&one, "spec.replicas") == 1).then_some(())
    };
    stage.until("it is as wanted in the end", is_mended).await;
}

#[tokio::test(start_paused = true)]
async fn apis_that_are_installed_later_are_picked_up() {
    let stage = Stage::new(PLAIN, &[("REGISTRIES_NAMESPACE", NAMESPACE)]).await;
    install(&stage.admin, crd::of::<Route>()).await;
    stage
        .until("the routers are let in", async || {
            stage.get::<NetworkPolicy>("model-catalog-https-route").await
        })
        .await;
    assert!(stage.get::<Route>("model-catalog-https").await.is_none(), "no Route without a host");
    let told = async || {
        let events = stage.events_about(&["Deployment"]).await;
        events.into_iter().find(|(reason, text)| reason == "DomainUnknown" && text.contains("DEFAULT_DOMAIN"))
    };
    stage.until("it says why", told).await;
    install(&stage.admin, crd::of::<Ingress>()).await;
    stage.put(json!({ "apiVersion": "config.openshift.io/v1", "kind": "Ingress", "metadata": { "name": "cluster" },
        "spec": { "domain": "apps.test" } })).await;
    let route = stage.until("a Route", async || stage.get::<Route>("model-catalog-https").await).await;
    assert_eq!(at(&route, "spec.host"), "model-catalog.apps.test");
    install(&stage.admin, crd::of::<Auth>()).await;
    stage.put(auth(&["g1"])).await;
    stage
        .until("administrators", async || stage.get::<RoleBinding>("model-catalog-admin-binding").await)
        .await;
}

#[tokio::test(start_paused = true)]
async fn the_originals_copy_of_the_password_goes_from_the_catalogs_secret() {
    let mut stage = Stage::without_operator(PLAIN, CATALOG).await;
    let metadata = json!({ "name": "model-catalog-postgres", "annotations": { "banzaicloud.com/last-applied": "UEsDBBQ" } });
    let secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": { "database-password": "eA==" } });
    let params = PostParams { field_manager: Some("manager".into()), ..PostParams::default() };
    let object = serde_json::from_value(secret).unwrap();
    stage.api::<Secret>().create(&params, &object).await.unwrap();
    stage.start().await;
    let secret = stage.get::<Secret>("model-catalog-postgres").await.unwrap();
    assert!(at(&secret, "metadata.annotations")["banzaicloud.com/last-applied"].is_null(), "{secret}");
    assert_eq!(secret["data"]["database-password"], "eA==");
}

#[tokio::test(start_paused = true)]
async fn scenario_37_self_healing() {
    let stage = Stage::new(PLAIN, CATALOG).await;
    let uid =
        at(&stage.get::<NetworkPolicy>("model-catalog-postgres").await.unwrap(), "metadata.uid").clone();
    stage.delete::<NetworkPolicy>("model-catalog-postgres").await;
    let healed = stage.get::<NetworkPolicy>("model-catalog-postgres").await.unwrap();
    assert_ne!(at(&healed, "metadata.uid"), &uid);
    let labels = json!({ "component": "other", "app.kubernetes.io/created-by": "model-registry-operator" });
    stage
        .put(json!({ "apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy",
        "metadata": { "name": "foreign", "labels": labels }, "spec": { "podSelector": {} } }))
        .await;
    let (mark, passes) = (stage.mark(), stage.passes("modelcatalog"));
    stage.delete::<NetworkPolicy>("foreign").await;
    assert_eq!(stage.writes(mark), Vec::<String>::new());
    assert_eq!(stage.passes("modelcatalog"), passes, "nothing is looked at");
}

#[tokio::test(start_paused = true)]
async fn a_route_that_somebody_takes_away_is_made_again() {
    let stage = Stage::new(OPENSHIFT, CATALOG).await;
    stage.delete::<Route>("model-catalog-https").await;
    assert!(stage.get::<Route>("model-catalog-https").await.is_some());
}

#[tokio::test(start_paused = true)]
async fn what_the_api_refuses_is_an_event_about_the_catalog() {
    let stage = Stage::new(PLAIN, CATALOG).await;
    stage.refuse_writes("networkpolicies");
    stage.delete::<NetworkPolicy>("model-catalog-postgres").await;
    let told = async || {
        let events = stage.events_about(&["Deployment"]).await;
        events.into_iter().find(|(_, text)| text.contains("NetworkPolicy") && text.contains("no"))
    };
    stage.until("an event", told).await;
    stage.edge.relent();
    let again = async || stage.get::<NetworkPolicy>("model-catalog-postgres").await;
    stage.until("the policy", again).await;
}

#[tokio::test(start_paused = true)]
async fn scenario_38_secret_preserved() {
    let mut stage = Stage::without_operator(PLAIN, CATALOG).await;
    stage
        .put(json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "model-catalog-postgres" },
        "data": { "database-password": "eA==" } }))
        .await;
    stage.start().await;
    let secret = stage.get::<Secret>("model-catalog-postgres").await.unwrap();
    assert_eq!(secret["data"]["database-password"], "eA==");
    assert_eq!(secret["data"].as_object().unwrap().len(), 3);
    assert_eq!(at(&secret, "metadata.labels.component"), "model-catalog-postgres");
    stage.assert_at_rest().await;
}

#[tokio::test(start_paused = true)]
async fn a_database_of_somebody_else_is_left_alone() {
    let variables = [CATALOG, &[("SKIP_MODEL_CATALOG_DB_CREATION", "true")]].concat();
    let stage = Stage::new(PLAIN, &variables).await;
    assert!(stage.get::<Deployment>("model-catalog").await.is_some());
    assert!(stage.get::<Deployment>("model-catalog-postgres").await.is_none());
    assert!(stage.get::<Secret>("model-catalog-postgres").await.is_none());
}

#[tokio::test(start_paused = true)]
async fn without_a_namespace_there_is_no_catalog_and_no_loop() {
    let stage = Stage::new(PLAIN, &[]).await;
    assert!(stage.children().await.is_empty());
    stage.assert_at_rest().await;
}
