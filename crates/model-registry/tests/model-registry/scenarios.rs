//! The specification's acceptance scenarios of a registry, through the API: one test each, named after its number. Those
//! of the catalog are in `catalog.rs`, those about what the API server refuses in `admission.rs` and in the webhook's own
//! tests.

use std::time::Duration;

use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{ConfigMap, PersistentVolumeClaim, Secret, Service, ServiceAccount},
    networking::v1::NetworkPolicy,
    rbac::v1::{ClusterRoleBinding, Role, RoleBinding},
};
use plane::faults::{Effect, Fault};
use quintet_api::{
    foreign::{
        openshift::{Group, Ingress, Route},
        platform::Auth,
    },
    model_registry::ModelRegistry,
};
use quintet_kit::{Context, Select, run::Settings};
use quintet_model_registry::Apis;
use serde_json::{Value, json};

use super::support::{
    at, base, case, container, covers, difference,
    stage::{BYOIDC, NAMESPACE, NO_CATALOG, OPENSHIFT, PLAIN, PLATFORM, Serves, Stage, install, registry},
    with,
};

pub(crate) fn condition(status: &str, reason: &str, message: &str) -> Option<(String, String, String)> {
    Some((status.into(), reason.into(), message.into()))
}

const UP: (&str, &str, &str) = ("True", "DeploymentAvailable", "Deployment is available");
const DONE: (&str, &str, &str) = ("False", "CreatedDeployment", "Deployment was successfully created");

async fn plain() -> Stage {
    Stage::new(PLAIN, NO_CATALOG).await
}

async fn openshift() -> Stage {
    Stage::new(OPENSHIFT, NO_CATALOG).await
}

fn args(deployment: &Value, name: &str) -> Vec<String> {
    let args = container(deployment, name)["args"].as_array().cloned().unwrap_or_default();
    args.iter().map(|arg| arg.as_str().unwrap_or_default().to_owned()).collect()
}

#[tokio::test(start_paused = true)]
async fn scenario_01_plain_kubernetes_postgres() {
    let stage = Stage::new(PLAIN, &[("ENABLE_MODEL_CATALOG", "false")]).await;
    let postgres = json!({ "host": "model-registry-db", "database": "model-registry", "username": "modelregistryuser",
        "passwordSecret": { "name": "model-registry-db", "key": "database-password" } });
    let mut object = registry("modelregistry-sample", json!({ "rest": {}, "postgres": postgres }));
    object["metadata"]["namespace"] = json!("other");
    stage.put(object).await;
    let children = stage.children().await;
    let mut wanted = case("postgres");
    for object in wanted.values_mut() {
        object["metadata"]["namespace"] = json!("other");
    }
    assert_eq!(children.keys().collect::<Vec<_>>(), wanted.keys().collect::<Vec<_>>());
    for (id, wanted) in &wanted {
        let pair = |object: &Value| [(id.clone(), object.clone())].into();
        assert!(covers(&children[id], wanted), "{id}:\n{}", difference(&pair(wanted), &pair(&children[id])));
    }
    let api: kube::Api<ModelRegistry> = kube::Api::namespaced(stage.admin.clone(), "other");
    let stored = api.get("modelregistry-sample").await.unwrap();
    assert_eq!(stored.metadata.finalizers.unwrap(), ["modelregistry.opendatahub.io/finalizer"]);
    let events: kube::Api<k8s_openapi::api::events::v1::Event> =
        kube::Api::namespaced(stage.admin.clone(), "other");
    let events = events.list(&Default::default()).await.unwrap().items;
    let text = "Created service for custom resource modelregistry-sample in namespace other";
    assert!(
        events
            .iter()
            .any(|e| e.reason.as_deref() == Some("ServiceCreated") && e.note.as_deref() == Some(text))
    );
    assert_eq!(events[0].reporting_controller.as_deref(), Some("modelregistry-controller"));
    stage.assert_at_rest().await;
}

#[tokio::test(start_paused = true)]
async fn scenario_02_becomes_available() {
    let stage = plain().await;
    stage.create(base()).await;
    stage.up("reg").await;
    assert_eq!(stage.condition("Available").await, condition(UP.0, UP.1, UP.2));
    assert_eq!(stage.condition("Progressing").await, condition(DONE.0, DONE.1, DONE.2));
    let status = stage.status().await;
    assert_eq!(status["hosts"], json!(["reg.mr.svc.cluster.local", "reg.mr", "reg"]));
    assert_eq!(status["hostsStr"], "reg.mr.svc.cluster.local,reg.mr,reg");
    assert!(status["conditions"].as_array().unwrap().iter().all(|c| c["observedGeneration"] == 1));
    stage.assert_at_rest().await;
}

#[tokio::test(start_paused = true)]
async fn scenario_03_mysql() {
    let stage = plain().await;
    stage.create(base()).await;
    let deployment = stage.get::<Deployment>("reg").await.unwrap();
    let args = args(&deployment, "rest-container");
    assert!(args.contains(&"--embedmd-database-type=mysql".into()), "{args:?}");
    let dsn = "--embedmd-database-dsn=u:$(MYSQL_PASSWORD)@tcp(db:3306)/d?charset=utf8mb4";
    assert!(args.contains(&dsn.into()), "{args:?}");
    let env =
        json!([{ "name": "MYSQL_PASSWORD", "valueFrom": { "secretKeyRef": { "name": "s", "key": "p" } } }]);
    assert!(covers(&container(&deployment, "rest-container")["env"], &env));
}

#[tokio::test(start_paused = true)]
async fn scenario_04_openshift_with_user_api() {
    let stage = openshift().await;
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
    assert!(stage.get::<ModelRegistry>("reg").await.is_none(), "deletion does not wait for a Group");
    let asked = stage.plane.requests().writes(0);
    assert!(asked.iter().all(|request| request.resource != "groups"), "no Group call is made");
}

#[tokio::test(start_paused = true)]
async fn scenario_06_and_07_the_http_route_comes_and_goes() {
    let stage = openshift().await;
    stage.create(with(json!({ "rest": { "serviceRoute": "enabled" } }))).await;
    let route = stage.get::<Route>("reg-http").await.unwrap();
    assert_eq!(at(&route, "spec.port.targetPort"), "http-api");
    assert!(at(&route, "spec.host").is_null() && at(&route, "spec.tls").is_null());
    stage.patch(json!({ "rest": { "serviceRoute": "disabled" } })).await;
    assert!(stage.get::<Route>("reg-http").await.is_none());
    let mark = stage.plane.requests().mark();
    stage.patch(json!({ "rest": { "port": 8081 } })).await;
    let deletes: Vec<_> = stage.writes(mark).into_iter().filter(|w| w.starts_with("delete")).collect();
    assert!(deletes.is_empty(), "what is not there is not deleted: {deletes:?}");
}

fn admitted(status: &str) -> Value {
    json!({ "ingress": [{ "host": "reg-rest.example.com", "conditions": [
        { "type": "Admitted", "status": status, "reason": "HostAlreadyClaimed", "message": "m" } ] }] })
}

async fn admit(stage: &Stage, status: &str) {
    let routes: kube::Api<Route> = kube::Api::namespaced(stage.admin.clone(), NAMESPACE);
    let patch = kube::api::Patch::Merge(json!({ "status": admitted(status) }));
    routes.patch_status("reg-https", &Default::default(), &patch).await.unwrap();
    stage.settle().await;
}

#[tokio::test(start_paused = true)]
async fn scenario_08_proxy_defaults_on_openshift() {
    let stage = openshift().await;
    stage.create(with(json!({ "kubeRBACProxy": {} }))).await;
    let deployment = stage.get::<Deployment>("reg").await.unwrap();
    let args = args(&deployment, "kube-rbac-proxy");
    assert!(args.contains(&"--secure-listen-address=0.0.0.0:8443".into()), "{args:?}");
    assert!(args.contains(&"--upstream=http://127.0.0.1:8080/".into()), "{args:?}");
    let service = stage.get::<Service>("reg").await.unwrap();
    assert!(covers(at(&service, "spec.ports"), &json!([{ "name": "https-api", "port": 8443 }])));
    let annotations = at(&service, "metadata.annotations");
    assert_eq!(annotations["service.beta.openshift.io/serving-cert-secret-name"], "reg-kube-rbac-proxy");
    assert_eq!(annotations["routing.opendatahub.io/external-address-rest"], "reg-rest.example.com:443");
    assert!(stage.get::<ConfigMap>("reg-kube-rbac-proxy-config").await.is_some());
    assert!(stage.get::<ClusterRoleBinding>("reg-auth-delegator").await.is_some());
    assert_eq!(at(&stage.get::<Route>("reg-https").await.unwrap(), "spec.host"), "reg-rest.example.com");
    let policy = stage.get::<NetworkPolicy>("reg-https-route").await.unwrap();
    assert_eq!(at(&policy, "spec.ingress.0.ports.0.port"), 8443);

    stage.up("reg").await;
    stage.pod("p", &["rest-container", "kube-rbac-proxy", "injected-by-a-mesh"], json!({})).await;
    admit(&stage, "True").await;
    let created = "kube-rbac-proxy was successfully created";
    assert_eq!(
        stage.condition("KubeRBACProxyAvailable").await,
        condition("True", "ResourcesAvailable", created)
    );
    assert_eq!(stage.condition("Available").await, condition(UP.0, UP.1, UP.2));
    let hosts = stage.status().await["hosts"].clone();
    assert_eq!(hosts, json!(["reg-rest.example.com", "reg.mr.svc.cluster.local", "reg.mr", "reg"]));
    stage.assert_at_rest().await;
}

#[tokio::test(start_paused = true)]
async fn scenario_09_proxy_with_own_certs() {
    let stage = openshift().await;
    let proxy = json!({ "tlsCertificateSecret": { "name": "c1", "key": "cert.pem" },
        "tlsKeySecret": { "name": "k1", "key": "key.pem" } });
    stage.create(with(json!({ "kubeRBACProxy": proxy }))).await;
    let deployment = stage.get::<Deployment>("reg").await.unwrap();
    let volumes = at(&deployment, "spec.template.spec.volumes").as_array().unwrap();
    for (name, secret) in [("kube-rbac-proxy-cert", "c1"), ("kube-rbac-proxy-key", "k1")] {
        let volume = json!({ "name": name, "secret": { "secretName": secret, "defaultMode": 384 } });
        assert!(volumes.iter().any(|v| covers(v, &volume)), "{volumes:?}");
    }
    let args = args(&deployment, "kube-rbac-proxy");
    assert!(args.contains(&"--tls-cert-file=/etc/tls/private-cert/cert.pem".into()), "{args:?}");
    assert!(args.contains(&"--tls-private-key-file=/etc/tls/private-key/key.pem".into()), "{args:?}");
    let service = stage.get::<Service>("reg").await.unwrap();
    assert!(
        at(&service, "metadata.annotations")["service.beta.openshift.io/serving-cert-secret-name"].is_null()
    );
}

#[tokio::test(start_paused = true)]
async fn scenario_10_proxy_without_route() {
    let stage = openshift().await;
    stage.create(with(json!({ "kubeRBACProxy": { "serviceRoute": "disabled" } }))).await;
    assert!(stage.get::<Route>("reg-https").await.is_none());
    assert!(stage.get::<NetworkPolicy>("reg-https-route").await.is_none());
    let service = stage.get::<Service>("reg").await.unwrap();
    assert!(at(&service, "metadata.annotations")["routing.opendatahub.io/external-address-rest"].is_null());
    assert!(stage.get::<ClusterRoleBinding>("reg-auth-delegator").await.is_some());
    stage.up("reg").await;
    stage.pod("p", &["rest-container", "kube-rbac-proxy"], json!({})).await;
    assert_eq!(stage.condition("Available").await, condition(UP.0, UP.1, UP.2));
    assert_eq!(stage.status().await["hosts"].as_array().unwrap().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn scenario_11_proxy_image_override() {
    let stage = plain().await;
    stage.create(with(json!({ "kubeRBACProxy": { "image": "my/proxy:1" } }))).await;
    let deployment = stage.get::<Deployment>("reg").await.unwrap();
    assert_eq!(container(&deployment, "kube-rbac-proxy")["image"], "my/proxy:1");
}

#[tokio::test(start_paused = true)]
async fn scenario_12_legacy_oauth_proxy_in_the_store() {
    let stage = openshift().await;
    let old = json!({ "port": 8443, "domain": "example.com", "image": "x" });
    stage.create(with(json!({ "oauthProxy": old }))).await;
    let spec = serde_json::to_value(stage.registry().await.spec).unwrap();
    assert!(spec.get("oauthProxy").is_none());
    assert_eq!(
        spec["kubeRBACProxy"],
        json!({ "port": 8443, "domain": "example.com", "routePort": 443, "serviceRoute": "enabled" })
    );
    let deployment = stage.get::<Deployment>("reg").await.unwrap();
    assert!(
        !container(&deployment, "kube-rbac-proxy").is_null()
            && container(&deployment, "oauth-proxy").is_null()
    );
    assert!(stage.get::<Route>("reg-https").await.is_some());
}

#[tokio::test(start_paused = true)]
async fn scenario_13_proxy_removed() {
    let stage = openshift().await;
    stage.create(with(json!({ "kubeRBACProxy": {} }))).await;
    stage.up("reg").await;
    stage.patch(json!({ "kubeRBACProxy": null })).await;
    assert!(stage.get::<ConfigMap>("reg-kube-rbac-proxy-config").await.is_none());
    assert!(stage.get::<ClusterRoleBinding>("reg-auth-delegator").await.is_none());
    assert!(stage.get::<Route>("reg-https").await.is_none());
    assert!(stage.get::<NetworkPolicy>("reg-https-route").await.is_none());
    let service = stage.get::<Service>("reg").await.unwrap();
    assert!(covers(at(&service, "spec.ports"), &json!([{ "name": "http-api", "port": 8080 }])));
    let deployment = stage.get::<Deployment>("reg").await.unwrap();
    assert_eq!(at(&deployment, "spec.template.spec.containers").as_array().unwrap().len(), 1);
    assert_eq!(stage.condition("KubeRBACProxyAvailable").await, None, "it tells of nothing any more");
}

#[tokio::test(start_paused = true)]
async fn scenario_14_auto_provisioned_database() {
    let stage = plain().await;
    stage.create(json!({ "rest": {}, "postgres": { "generateDeployment": true } })).await;
    let claim = stage.get::<PersistentVolumeClaim>("reg-postgres-storage").await.unwrap();
    assert_eq!(at(&claim, "spec.accessModes"), &json!(["ReadWriteOnce"]));
    assert_eq!(at(&claim, "spec.resources.requests.storage"), "5Gi");
    assert!(stage.get::<Deployment>("reg-postgres").await.is_some());
    assert!(stage.get::<Service>("reg-postgres").await.is_some());
    assert!(stage.get::<NetworkPolicy>("reg-postgres").await.is_some());
    let args = args(&stage.get::<Deployment>("reg").await.unwrap(), "rest-container");
    let dsn = "--embedmd-database-dsn=postgresql://modelregistry:$(POSTGRES_PASSWORD)@reg-postgres:5432/model_registry";
    assert!(args.contains(&dsn.into()), "{args:?}");
    let secret = stage.get::<Secret>("reg-postgres-credentials").await.unwrap();
    assert_eq!(secret["data"].as_object().unwrap().len(), 2);
    stage.patch(json!({ "rest": { "port": 9000 } })).await;
    let after = stage.get::<Secret>("reg-postgres-credentials").await.unwrap();
    assert_eq!(after["data"], secret["data"], "the password stays");
    let defaults = stage.status().await["specDefaults"].as_str().unwrap().to_owned();
    let defaults: Value = serde_json::from_str(&defaults).unwrap();
    let wanted = json!({ "database": "model_registry", "generateDeployment": null, "host": "reg-postgres", "sslMode": null,
        "passwordSecret": { "key": "password", "name": "reg-postgres-credentials" }, "username": "modelregistry" });
    assert_eq!(defaults["postgres"], wanted);
    stage.assert_at_rest().await;
}

#[tokio::test(start_paused = true)]
async fn scenario_15_external_database() {
    let stage = plain().await;
    stage.create(json!({ "rest": {}, "postgres": { "host": "db" } })).await;
    assert!(stage.get::<Deployment>("reg").await.is_some());
    assert!(stage.get::<Deployment>("reg-postgres").await.is_none());
    assert!(stage.get::<NetworkPolicy>("reg-postgres").await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_database_that_nothing_uses_any_more_is_told_of_and_left() {
    let stage = plain().await;
    stage.create(json!({ "rest": {}, "postgres": { "generateDeployment": true } })).await;
    stage.patch(json!({ "postgres": { "generateDeployment": null, "host": "db" } })).await;
    assert!(stage.get::<Deployment>("reg-postgres").await.is_some());
    let events = stage.events().await;
    assert_eq!(events.iter().filter(|(reason, _)| reason == "DatabaseLeft").count(), 1, "{events:?}");
}

#[tokio::test(start_paused = true)]
async fn scenario_16_annotations_copied() {
    let stage = plain().await;
    let mut object = registry("reg", base());
    object["metadata"]["annotations"] =
        json!({ "openshift.io/display-name": "A", "openshift.io/description": "B", "other": "C" });
    stage.put(object).await;
    let annotations = at(&stage.get::<Service>("reg").await.unwrap(), "metadata.annotations").clone();
    assert_eq!(annotations, json!({ "openshift.io/display-name": "A", "openshift.io/description": "B" }));
    let none = json!({ "openshift.io/display-name": null, "openshift.io/description": null });
    stage.edit::<ModelRegistry>("reg", json!({ "metadata": { "annotations": none } })).await;
    assert!(at(&stage.get::<Service>("reg").await.unwrap(), "metadata.annotations").is_null());
}

fn leftover(api_version: &str, kind: &str, name: &str, app: &str, spec: Value) -> Value {
    let labels = json!({ "app": app, "component": "model-registry", "app.kubernetes.io/created-by": "model-registry-operator" });
    json!({ "apiVersion": api_version, "kind": kind, "metadata": { "name": name, "labels": labels }, "spec": spec })
}

fn leftovers(prefix: &str, app: &str) -> [Value; 4] {
    let pods = json!({ "matchLabels": { "x": "y" } });
    let template = json!({ "metadata": { "labels": { "x": "y" } }, "spec": { "containers": [{ "name": "c", "image": "i" }] } });
    let catalog = format!("{prefix}-catalog");
    [
        leftover("apps/v1", "Deployment", &catalog, app, json!({ "selector": pods, "template": template })),
        leftover("v1", "Service", &catalog, app, json!({ "ports": [{ "port": 1 }] })),
        leftover(
            "route.openshift.io/v1",
            "Route",
            &format!("{catalog}-https"),
            app,
            json!({ "to": { "kind": "Service", "name": "x" } }),
        ),
        leftover(
            "networking.k8s.io/v1",
            "NetworkPolicy",
            &format!("{catalog}-https-route"),
            app,
            json!({ "podSelector": {} }),
        ),
    ]
}

#[tokio::test(start_paused = true)]
async fn scenario_17_legacy_catalog_leftovers() {
    let stage = openshift().await;
    for object in leftovers("reg", "reg") {
        stage.put(object).await;
    }
    stage.create(base()).await;
    assert!(stage.get::<Deployment>("reg-catalog").await.is_none());
    assert!(stage.get::<Service>("reg-catalog").await.is_none());
    assert!(stage.get::<Route>("reg-catalog-https").await.is_none());
    assert!(stage.get::<NetworkPolicy>("reg-catalog-https-route").await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_registry_called_model_does_not_touch_the_catalog() {
    let stage = openshift().await;
    // What the shared catalog has, and what a registry called x-catalog would have.
    for object in leftovers("model", "model-catalog").into_iter().chain(leftovers("x", "x-catalog")) {
        stage.put(object).await;
    }
    let mark = stage.plane.requests().mark();
    stage.put(registry("model", base())).await;
    stage.put(registry("x", base())).await;
    for name in ["model-catalog", "x-catalog"] {
        assert!(stage.get::<Deployment>(name).await.is_some());
        assert!(stage.get::<Service>(name).await.is_some());
        assert!(stage.get::<Route>(&format!("{name}-https")).await.is_some());
        assert!(stage.get::<NetworkPolicy>(&format!("{name}-https-route")).await.is_some());
    }
    assert!(stage.writes(mark).iter().all(|write| !write.starts_with("delete")));
    stage.assert_at_rest().await;
}

#[tokio::test(start_paused = true)]
async fn scenario_18_drift() {
    let stage = plain().await;
    stage.create(base()).await;
    stage.up("reg").await;
    let before = stage.get::<Deployment>("reg").await.unwrap();
    let api: kube::Api<Deployment> = kube::Api::namespaced(stage.admin.clone(), NAMESPACE);
    let mut edited = api.get("reg").await.unwrap();
    let spec = edited.spec.as_mut().unwrap();
    spec.replicas = Some(3);
    spec.template.spec.as_mut().unwrap().containers[0].args.as_mut().unwrap()[1] = "--port=1".into();
    api.replace("reg", &Default::default(), &edited).await.unwrap();
    stage.settle().await;
    let after = stage.get::<Deployment>("reg").await.unwrap();
    assert_eq!(after["spec"], before["spec"]);
    assert!(stage.events().await.iter().any(|(reason, _)| reason == "ServiceUpdated"));
    // That pass said so; the next one found nothing to do.
    assert_eq!(stage.condition("Progressing").await, condition(DONE.0, DONE.1, DONE.2));
}

#[tokio::test(start_paused = true)]
async fn what_others_add_stays_and_what_must_be_false_is_kept_so() {
    let stage = plain().await;
    stage.create(base()).await;
    let api: kube::Api<Deployment> = kube::Api::namespaced(stage.admin.clone(), NAMESPACE);
    let mut edited = api.get("reg").await.unwrap();
    let spec = edited.spec.as_mut().unwrap().template.spec.as_mut().unwrap();
    spec.containers[0].security_context.as_mut().unwrap().allow_privilege_escalation = Some(true);
    let sidecar = json!({ "name": "sidecar", "image": "mesh" });
    spec.containers.push(serde_json::from_value(sidecar).unwrap());
    api.replace("reg", &Default::default(), &edited).await.unwrap();
    stage.settle().await;
    stage.patch(json!({ "rest": { "port": 9000 } })).await;
    let after = stage.get::<Deployment>("reg").await.unwrap();
    assert_eq!(container(&after, "sidecar")["image"], "mesh");
    assert_eq!(container(&after, "rest-container")["securityContext"]["allowPrivilegeEscalation"], false);
}

#[tokio::test(start_paused = true)]
async fn scenario_19_immutable_selector() {
    let stage = plain().await;
    let pods = json!({ "matchLabels": { "old": "yes" } });
    let template = json!({ "metadata": { "labels": { "old": "yes" } }, "spec": { "containers": [{ "name": "c", "image": "i" }] } });
    let metadata =
        json!({ "name": "reg", "labels": { "app.kubernetes.io/created-by": "model-registry-operator" } });
    stage
        .put(json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata,
        "spec": { "selector": pods, "template": template } }))
        .await;
    let uid = at(&stage.get::<Deployment>("reg").await.unwrap(), "metadata.uid").clone();
    stage.create(base()).await;
    let deployment = stage.get::<Deployment>("reg").await.unwrap();
    assert_ne!(at(&deployment, "metadata.uid"), &uid);
    let selector = json!({ "app": "reg", "component": "model-registry", "app.kubernetes.io/name": "reg" });
    assert_eq!(at(&deployment, "spec.selector.matchLabels"), &selector);
}

#[tokio::test(start_paused = true)]
async fn a_forbidden_write_never_deletes_a_running_deployment() {
    let stage = plain().await;
    stage.create(base()).await;
    let uid = at(&stage.get::<Deployment>("reg").await.unwrap(), "metadata.uid").clone();
    let error = plane::status::Error::new(403, "Forbidden", "exceeded quota: field is immutable");
    let refused = Fault::new(Effect::Refuse(error)).on(|r| r.resource == "deployments" && r.verb == "patch");
    stage.plane.faults().add(refused);
    let mark = stage.plane.requests().mark();
    stage.patch(json!({ "rest": { "port": 9000 } })).await;
    assert!(stage.writes(mark).iter().all(|write| !write.starts_with("delete")));
    let message = stage.condition("Available").await.unwrap();
    assert_eq!((message.0.as_str(), message.1.as_str()), ("False", "DeploymentUnavailable"));
    assert!(
        message.2.starts_with("unexpected reconcile error: ") && message.2.contains("exceeded quota"),
        "{message:?}"
    );
    stage.plane.faults().clear();
    tokio::time::sleep(Duration::from_secs(600)).await;
    let deployment = stage.get::<Deployment>("reg").await.unwrap();
    assert_eq!(at(&deployment, "metadata.uid"), &uid, "the same Deployment");
    assert!(args(&deployment, "rest-container").contains(&"--port=9000".into()), "and in the end as wanted");
}

#[tokio::test(start_paused = true)]
async fn scenario_20_deletion() {
    let stage = openshift().await;
    stage.create(with(json!({ "kubeRBACProxy": {} }))).await;
    assert!(stage.get::<Group>("reg-users").await.is_some());
    stage.delete::<ModelRegistry>("reg").await;
    assert!(stage.get::<ModelRegistry>("reg").await.is_none());
    assert!(stage.get::<Group>("reg-users").await.is_none());
    assert!(
        stage.get::<ClusterRoleBinding>("reg-auth-delegator").await.is_none(),
        "the original leaves it behind"
    );
    assert_eq!(stage.children().await.keys().collect::<Vec<_>>(), Vec::<&String>::new(), "nothing is left");
    let text = "Custom Resource reg is being deleted from the namespace mr";
    assert!(stage.events().await.contains(&("Deleting".into(), text.into())));
}

#[tokio::test(start_paused = true)]
async fn a_registry_outside_the_allowed_namespace_says_where_it_may_be() {
    let stage = plain().await;
    let mut object = registry("reg", base());
    object["metadata"]["namespace"] = json!("other");
    stage.put(object).await;
    let api: kube::Api<ModelRegistry> = kube::Api::namespaced(stage.admin.clone(), "other");
    let status = api.get("reg").await.unwrap().status.unwrap();
    let available = status.conditions.iter().find(|c| c.type_ == "Available").unwrap();
    assert_eq!((available.status.as_str(), available.reason.as_str()), ("False", "ConfigurationError"));
    assert!(available.message.contains("namespace must be mr"), "{}", available.message);
    assert!(stage.children().await.is_empty());
    stage.assert_at_rest().await;
    // It can be deleted all the same.
    api.delete("reg", &Default::default()).await.unwrap();
    stage.settle().await;
    assert!(api.get_opt("reg").await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn two_registries_of_one_name_do_not_fight_over_the_cluster_role_binding() {
    let stage = Stage::new(PLAIN, &[("ENABLE_MODEL_CATALOG", "false")]).await;
    stage.create(with(json!({ "kubeRBACProxy": {} }))).await;
    let mut second = registry("reg", with(json!({ "kubeRBACProxy": {} })));
    second["metadata"]["namespace"] = json!("other");
    stage.put(second).await;
    let binding = stage.get::<ClusterRoleBinding>("reg-auth-delegator").await.unwrap();
    assert_eq!(at(&binding, "subjects.0.namespace"), NAMESPACE, "it stays the first one's");
    let api: kube::Api<ModelRegistry> = kube::Api::namespaced(stage.admin.clone(), "other");
    let status = api.get("reg").await.unwrap().status.unwrap();
    let message = &status.conditions.iter().find(|c| c.type_ == "Available").unwrap().message;
    assert!(message.contains("ClusterRoleBinding reg-auth-delegator exists"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn an_api_that_is_installed_later_is_picked_up() {
    let stage = plain().await;
    stage.create(with(json!({ "rest": { "serviceRoute": "enabled" } }))).await;
    assert!(stage.get::<RoleBinding>("reg-users").await.is_none());
    install(&stage.admin, quintet_api::crd::of::<Route>()).await;
    install(&stage.admin, quintet_api::crd::of::<Group>()).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(stage.get::<Route>("reg-http").await.is_some());
    assert!(stage.get::<RoleBinding>("reg-users").await.is_some());
    assert!(stage.get::<Group>("reg-users").await.is_some());
}

#[tokio::test(start_paused = true)]
async fn the_clusters_domain_is_used_where_none_is_configured() {
    let stage =
        Stage::new(OPENSHIFT, &[("REGISTRIES_NAMESPACE", NAMESPACE), ("ENABLE_MODEL_CATALOG", "false")])
            .await;
    stage.create(with(json!({ "kubeRBACProxy": {} }))).await;
    stage.up("reg").await;
    stage.pod("p", &["rest-container", "kube-rbac-proxy"], json!({})).await;
    assert!(stage.get::<Route>("reg-https").await.is_none(), "no Route without a host");
    let available = stage.condition("Available").await.unwrap();
    assert!(available.2.contains("the domain is not known"), "{available:?}");
    assert_eq!(stage.status().await["hosts"].as_array().unwrap().len(), 3);
    stage.put(json!({ "apiVersion": "config.openshift.io/v1", "kind": "Ingress", "metadata": { "name": "cluster" },
        "spec": { "domain": "apps.test" } })).await;
    assert_eq!(at(&stage.get::<Route>("reg-https").await.unwrap(), "spec.host"), "reg-rest.apps.test");
}

#[tokio::test(start_paused = true)]
async fn children_that_are_deleted_or_edited_are_mended() {
    let stage = plain().await;
    stage.create(with(json!({ "kubeRBACProxy": {} }))).await;
    stage.delete::<Role>("registry-user-reg").await;
    stage.delete::<ServiceAccount>("reg").await;
    stage
        .edit::<ConfigMap>(
            "reg-kube-rbac-proxy-config",
            json!({ "data": { "config-file.yaml": "authorization: {}" } }),
        )
        .await;
    assert!(stage.get::<Role>("registry-user-reg").await.is_some());
    assert!(stage.get::<ServiceAccount>("reg").await.is_some());
    let map = stage.get::<ConfigMap>("reg-kube-rbac-proxy-config").await.unwrap();
    assert!(
        at(&map, "data")["config-file.yaml"].as_str().unwrap().contains("name: reg"),
        "nobody is let in by an edit"
    );
    let ports = json!([{ "name": "https-api", "port": 9999, "protocol": "TCP" }]);
    stage.edit::<Service>("reg", json!({ "spec": { "ports": ports } })).await;
    let service = stage.get::<Service>("reg").await.unwrap();
    assert!(covers(at(&service, "spec.ports"), &json!([{ "name": "https-api", "port": 8443 }])), "{service}");
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_somebody_enlarged_stays_so() {
    let stage = plain().await;
    stage.create(json!({ "rest": {}, "postgres": { "generateDeployment": true } })).await;
    let claims: kube::Api<PersistentVolumeClaim> = kube::Api::namespaced(stage.admin.clone(), NAMESPACE);
    let bound = kube::api::Patch::Merge(json!({ "status": { "phase": "Bound" } }));
    claims.patch_status("reg-postgres-storage", &Default::default(), &bound).await.unwrap();
    let larger = json!({ "spec": { "resources": { "requests": { "storage": "20Gi" } } } });
    stage.edit::<PersistentVolumeClaim>("reg-postgres-storage", larger).await;
    stage.patch(json!({ "rest": { "port": 9000 } })).await;
    let claim = stage.get::<PersistentVolumeClaim>("reg-postgres-storage").await.unwrap();
    assert_eq!(at(&claim, "spec.resources.requests.storage"), "20Gi");
    let is_failing = stage.condition("Available").await.is_some_and(|(_, _, m)| m.contains("unexpected"));
    assert!(!is_failing);
}

#[tokio::test(start_paused = true)]
async fn foreign_secrets_and_config_maps_are_not_kept() {
    let stage = plain().await;
    stage.create(base()).await;
    for n in 0..40 {
        let object = |kind: &str| json!({ "apiVersion": "v1", "kind": kind, "metadata": { "name": format!("foreign-{n}") } });
        stage.try_put(object("Secret")).await.unwrap();
        stage.try_put(object("ConfigMap")).await.unwrap();
    }
    stage.settle().await;
    // Secret s is named by the registry, and not there; all others concern nobody.
    for kind in ["Secret", "ConfigMap"] {
        let gauge =
            format!("quintet_cache_objects{{group=\"\",kind=\"{kind}\",selection=\"namespace mr\"}} 0");
        let metrics = stage.metrics.encode();
        let shown: Vec<&str> = metrics.lines().filter(|line| line.contains("cache_objects")).collect();
        assert!(metrics.contains(&gauge), "{shown:#?}");
    }
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
