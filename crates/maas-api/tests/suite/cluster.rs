//! What is read from Kubernetes, on a plane: an API server in this process.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use k8s_openapi::{
    api::core::v1::{Namespace, Secret},
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, Client, Resource,
    api::{Patch, PatchParams, PostParams},
    core::NamespaceResourceScope,
};
use plane::Plane;
use quintet_api::maas::{MaaSModelRef, MaaSSubscription};
use quintet_kit::Clock;
use quintet_maas_api::{
    Embedded, Options,
    cli::run_with,
    cluster::{Cluster, LiveCluster},
    config::Settings,
    subscriptions::Caller,
};
use serde_json::{Value, json};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

const NAMESPACE: &str = "models-as-a-service";

async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let start = Instant::now();
    while !holds().await {
        assert!(start.elapsed() < Duration::from_secs(30), "never: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn install(client: &Client) {
    for name in [NAMESPACE, "llm", "maas-api"] {
        let namespace = json!({"metadata": {"name": name}});
        let api = Api::<Namespace>::all(client.clone());
        api.create(&PostParams::default(), &serde_json::from_value(namespace).unwrap()).await.unwrap();
    }
    let crds = Api::<CustomResourceDefinition>::all(client.clone());
    for crd in quintet_api::maas::crds() {
        crds.create(&PostParams::default(), &crd).await.unwrap();
    }
}

async fn put<K>(client: &Client, namespace: &str, object: Value)
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + std::fmt::Debug
        + serde::Serialize
        + serde::de::DeserializeOwned,
{
    let (api, status) = (Api::<K>::namespaced(client.clone(), namespace), object["status"].clone());
    let name = object["metadata"]["name"].as_str().expect("a name").to_owned();
    let mut object = object;
    object["apiVersion"] = K::api_version(&()).into();
    object["kind"] = K::kind(&()).into();
    let params = PatchParams::apply("test").force();
    let mut desired = object.clone();
    desired.as_object_mut().expect("an object").remove("status");
    api.patch(&name, &params, &Patch::Apply(desired)).await.unwrap();
    if !status.is_null() {
        api.patch_status(&name, &PatchParams::default(), &Patch::Merge(json!({"status": status})))
            .await
            .unwrap();
    }
}

fn gold(priority: i32) -> Value {
    json!({
        "metadata": {"name": "gold", "annotations": {"openshift.io/display-name": "Gold"}},
        "spec": {
            "owner": {"groups": [{"name": "g1"}]}, "priority": priority,
            "modelRefs": [{"name": "llama", "namespace": "llm", "tokenRateLimits": [{"limit": 100, "window": "1m"}]}],
        },
        "status": {"phase": "Active"},
    })
}

#[tokio::test]
async fn subscriptions_and_models_are_followed() {
    let plane = Plane::new();
    let client = plane.client();
    let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
    let cluster = LiveCluster::start(client.clone(), NAMESPACE, &tasks, &stop);
    let missing = ["maassubscriptions.maas.opendatahub.io", "maasmodelrefs.maas.opendatahub.io"];
    assert_eq!(cluster.unsynced(), missing, "there are no such kinds yet");
    install(&client).await;
    until("both are read once their kinds exist", async || cluster.unsynced().is_empty()).await;
    put::<MaaSSubscription>(&client, NAMESPACE, gold(1)).await;
    put::<MaaSSubscription>(&client, "llm", gold(2)).await; // of another namespace: none of ours
    let model = json!({
        "metadata": {"name": "llama"}, "spec": {"modelRef": {"kind": "ExternalModel", "name": "x"}},
        "status": {"phase": "Ready", "endpoint": "https://h/llm/llama"},
    });
    put::<MaaSModelRef>(&client, "llm", model).await;
    until("both are seen", async || {
        cluster.subscriptions().iter().any(|s| s.phase == "Active")
            && cluster.models().iter().any(|m| m.ready)
    })
    .await;
    let seen = cluster.subscriptions();
    assert_eq!((seen.len(), seen[0].priority, seen[0].display_name.as_str()), (1, 1, "Gold"));
    assert_eq!(cluster.models()[0].url.as_deref(), Some("https://h/llm/llama"));
    put::<MaaSSubscription>(&client, NAMESPACE, gold(7)).await;
    until("a change is seen", async || cluster.subscriptions()[0].priority == 7).await;
    Api::<MaaSSubscription>::namespaced(client, NAMESPACE).delete("gold", &Default::default()).await.unwrap();
    until("a deletion is seen", async || cluster.subscriptions().is_empty()).await;
    stop.cancel();
    tasks.close();
    tasks.wait().await;
}

#[tokio::test]
async fn an_administrator_is_who_may_create_policies() {
    let plane = Plane::new();
    let client = plane.client();
    install(&client).await;
    for (kind, object) in [
        (
            "roles",
            json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "maas-admin"},
                "rules": [{"apiGroups": ["maas.opendatahub.io"], "resources": ["maasauthpolicies"], "verbs": ["create"]}],
            }),
        ),
        (
            "rolebindings",
            json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "maas-admin"},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "maas-admin"},
                "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "maas-admins"}],
            }),
        ),
    ] {
        let uri = format!("/apis/rbac.authorization.k8s.io/v1/namespaces/{NAMESPACE}/{kind}");
        let request = axum::http::Request::post(uri).header("content-type", "application/json");
        client.request::<Value>(request.body(object.to_string().into_bytes()).unwrap()).await.unwrap();
    }
    let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
    let cluster = LiveCluster::start(client, NAMESPACE, &tasks, &stop);
    for (groups, expected) in [(["maas-admins"], true), (["team-a"], false)] {
        let groups = groups.map(str::to_owned);
        let allowed = cluster.review_admin(Caller { username: "alice", groups: &groups }).await.unwrap();
        assert_eq!(allowed, expected, "{groups:?}");
    }
    stop.cancel();
}

fn settings(environment: &[(&str, &str)]) -> Settings {
    let environment = environment.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    Settings::read(&environment, &[]).expect("settings")
}

async fn secret(client: &Client, data: Value) {
    let secret = json!({"metadata": {"name": "maas-db-config"}, "stringData": data});
    let api = Api::<Secret>::namespaced(client.clone(), "maas-api");
    api.create(&PostParams::default(), &serde_json::from_value(secret).unwrap()).await.unwrap();
}

#[tokio::test]
async fn a_start_that_fails_says_what_to_do() {
    let plane = Plane::new();
    let client = plane.client();
    install(&client).await;
    let start = async |environment: &[(&str, &str)]| {
        let started = run_with(settings(environment), client.clone(), CancellationToken::new(), |_| ()).await;
        started.expect_err("it cannot start").to_string()
    };
    let error = start(&[("SECURE", "true")]).await;
    let expected =
        "configuration validation failed: --secure requires either --tls-cert/--tls-key or --tls-self-signed";
    assert_eq!(error, expected);
    let error = start(&[]).await;
    assert!(
        error.starts_with("failed to load database URL: failed to read secret maas-api/maas-db-config: "),
        "{error}"
    );
    assert!(error.ends_with(" (ensure the secret exists before starting maas-api)"), "{error}");
    secret(&client, json!({"DB_CONNECTION_URL": "  "})).await;
    let error = start(&[]).await;
    let expected = "failed to load database URL: key \"DB_CONNECTION_URL\" not found or empty in secret maas-api/maas-db-config";
    assert_eq!(error, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_program_runs_from_start_to_stop() {
    let Some(url) = crate::common::database("the_program_runs_from_start_to_stop") else { return };
    let plane = Plane::new();
    let client = plane.client();
    install(&client).await;
    put::<MaaSSubscription>(&client, NAMESPACE, gold(1)).await;
    secret(&client, json!({"DB_CONNECTION_URL": format!("{url}\n")})).await;
    let stop = CancellationToken::new();
    let (address, told) = tokio::sync::oneshot::channel();
    let settings = settings(&[("ADDRESS", "127.0.0.1:0"), ("TLS_SELF_SIGNED", "true")]);
    let run = tokio::spawn(run_with(settings, client, stop.clone(), |at| {
        address.send(at).expect("somebody waits")
    }));
    let base = format!("https://{}", told.await.expect("it listens"));
    let http = reqwest::Client::builder().no_proxy().tls_danger_accept_invalid_certs(true).build().unwrap();
    until("it is healthy", async || {
        http.get(format!("{base}/health")).send().await.is_ok_and(|answer| answer.status() == 200)
    })
    .await;
    let create = http.post(format!("{base}/v1/api-keys")).header("x-maas-username", "alice");
    let created = create.header("x-maas-group", r#"["g1"]"#).body(r#"{"name":"k"}"#).send().await.unwrap();
    assert_eq!(created.status(), 201);
    let key = created.json::<Value>().await.unwrap()["key"].clone();
    let body = json!({"key": key}).to_string();
    let answer = http.post(format!("{base}/internal/v1/api-keys/validate")).body(body).send().await.unwrap();
    assert_eq!(answer.json::<Value>().await.unwrap()["subscription"], "gold");
    stop.cancel();
    run.await.expect("no panic").expect("a clean end");
}

#[tokio::test]
async fn embedded_it_keeps_its_keys_in_a_file() {
    let plane = Plane::new();
    install(&plane.client()).await;
    put::<MaaSSubscription>(&plane.client(), NAMESPACE, gold(1)).await;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("keys.db");
    let start = async || {
        let embedded = Embedded::start(plane.client(), NAMESPACE, &file, Options::default(), Clock::system());
        Arc::new(embedded.await.expect("started"))
    };
    let send = async |embedded: &Embedded, method: &str, path: &str, body: String| {
        let request = axum::http::Request::builder().method(method).uri(path);
        let request = request.header("x-maas-username", "alice").header("x-maas-group", r#"["g1"]"#);
        let request = request.body(axum::body::Body::from(body)).unwrap();
        let response = tower::ServiceExt::oneshot(embedded.router.clone(), request).await.unwrap();
        let bytes = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
        serde_json::from_slice::<Value>(&bytes).unwrap()
    };
    let embedded = start().await;
    until("it is ready", async || {
        send(&embedded, "GET", "/readyz", String::new()).await["status"] == "ready"
            && !send(&embedded, "GET", "/v1/subscriptions", String::new())
                .await
                .as_array()
                .is_none_or(Vec::is_empty)
    })
    .await;
    let key = send(&embedded, "POST", "/v1/api-keys", r#"{"name":"k"}"#.into()).await["key"].clone();
    let verdict = embedded.app.keys().validate(key.as_str().expect("a key")).await.expect("a verdict");
    assert!(
        verdict.into_json().starts_with(br#"{"valid":true"#),
        "without HTTP, for a gateway in the same process"
    );
    Arc::into_inner(embedded).expect("the only one").stop().await;
    let embedded = start().await;
    until("it is ready again", async || {
        send(&embedded, "GET", "/readyz", String::new()).await["status"] == "ready"
    })
    .await;
    let body = json!({"key": key}).to_string();
    assert_eq!(send(&embedded, "POST", "/internal/v1/api-keys/validate", body).await["valid"], true);
}
