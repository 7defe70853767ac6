//! Workloads on the plane, through the API: Deployments become available, roll, fail and are explained.

use std::time::Duration;

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::{Event, Pod};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::runtime::wait::await_condition;
use kube::{Api, Client, ResourceExt};
use plane::Plane;
use plane::workloads::{SIMULATED, Script, Workloads};
use serde_json::{Value, json};

fn plane() -> Plane {
    Plane::builder().workloads(Workloads::new()).build()
}

fn deployment(replicas: i32, annotations: Value) -> Deployment {
    serde_json::from_value(json!({
        "metadata": { "name": "web" },
        "spec": {
            "replicas": replicas,
            "selector": { "matchLabels": { "app": "web" } },
            "template": {
                "metadata": { "labels": { "app": "web" }, "annotations": annotations },
                "spec": { "containers": [{ "name": "c", "image": "nginx:1" }] },
            },
        },
    }))
    .unwrap()
}

fn api<K: kube::Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>>(
    client: &Client,
) -> Api<K> {
    Api::default_namespaced(client.clone())
}

/// Waits (in virtual time) until the object is as wanted.
async fn until<K>(api: &Api<K>, name: &str, what: &str, wanted: impl Fn(&K) -> bool) -> K
where
    K: kube::Resource + Clone + std::fmt::Debug + serde::de::DeserializeOwned + Send + 'static,
    K::DynamicType: Default,
{
    let condition = await_condition(api.clone(), name, |object: Option<&K>| object.is_some_and(&wanted));
    match tokio::time::timeout(Duration::from_secs(3600), condition).await {
        Ok(found) => found.unwrap().unwrap(),
        Err(_) => panic!("never {what}: {:#?}", api.get(name).await),
    }
}

fn condition(deployment: &Deployment, kind: &str) -> Option<(String, String)> {
    let conditions = deployment.status.as_ref()?.conditions.as_ref()?;
    let found = conditions.iter().find(|condition| condition.type_ == kind)?;
    Some((found.status.clone(), found.reason.clone().unwrap_or_default()))
}

fn is(deployment: &Deployment, kind: &str, status: &str, reason: &str) -> bool {
    condition(deployment, kind) == Some((status.into(), reason.into()))
}

fn is_complete(deployment: &Deployment) -> bool {
    let seen = deployment.status.as_ref().and_then(|status| status.observed_generation);
    seen == deployment.metadata.generation && is(deployment, "Progressing", "True", "NewReplicaSetAvailable")
}

#[tokio::test(start_paused = true)]
async fn a_deployment_becomes_available() {
    let plane = plane();
    let client = plane.client();
    let deployments: Api<Deployment> = api(&client);
    deployments.create(&PostParams::default(), &deployment(2, json!({}))).await.unwrap();
    let done = until(&deployments, "web", "complete", is_complete).await;
    assert!(is(&done, "Available", "True", "MinimumReplicasAvailable"));
    assert_eq!(done.annotations()["deployment.kubernetes.io/revision"], "1");
    let status = done.status.unwrap();
    assert_eq!(
        (status.replicas, status.ready_replicas, status.available_replicas),
        (Some(2), Some(2), Some(2))
    );
    let pods = api::<Pod>(&client).list(&ListParams::default().labels("app=web")).await.unwrap().items;
    assert_eq!(pods.len(), 2);
    for pod in &pods {
        assert_eq!(pod.annotations()[SIMULATED], "true");
        assert_eq!(pod.spec.as_ref().unwrap().node_name.as_deref(), Some("local"));
        assert_eq!(pod.status.as_ref().unwrap().phase.as_deref(), Some("Running"));
    }
    let events = api::<Event>(&client).list(&ListParams::default()).await.unwrap().items;
    let told = |reason: &str| events.iter().filter(|event| event.reason.as_deref() == Some(reason)).count();
    assert_eq!((told("ScalingReplicaSet"), told("SuccessfulCreate"), told("Scheduled")), (1, 2, 2));
}

#[tokio::test(start_paused = true)]
async fn nothing_is_written_at_rest() {
    let plane = plane();
    let deployments: Api<Deployment> = api(&plane.client());
    deployments.create(&PostParams::default(), &deployment(3, json!({}))).await.unwrap();
    until(&deployments, "web", "complete", is_complete).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let before = plane.store().revision();
    tokio::time::sleep(Duration::from_secs(1800)).await;
    assert_eq!(plane.store().revision(), before);
}

#[tokio::test(start_paused = true)]
async fn a_new_image_rolls_out_and_the_old_pods_go() {
    let plane = plane();
    let client = plane.client();
    let deployments: Api<Deployment> = api(&client);
    deployments.create(&PostParams::default(), &deployment(3, json!({}))).await.unwrap();
    until(&deployments, "web", "complete", is_complete).await;
    let patch = json!({ "spec": { "template": { "spec": { "containers": [{ "name": "c", "image": "nginx:2" }] } } } });
    deployments.patch("web", &PatchParams::default(), &Patch::Strategic(patch)).await.unwrap();
    let done = until(&deployments, "web", "rolled", is_complete).await;
    assert_eq!(done.annotations()["deployment.kubernetes.io/revision"], "2");
    let sets = api::<ReplicaSet>(&client).list(&ListParams::default()).await.unwrap().items;
    let mut sizes: Vec<i32> = sets.iter().map(|set| set.spec.as_ref().unwrap().replicas.unwrap()).collect();
    sizes.sort_unstable();
    assert_eq!(sizes, [0, 3]);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let pods = api::<Pod>(&client).list(&ListParams::default()).await.unwrap().items;
    assert!(
        pods.iter().all(|pod| pod.spec.as_ref().unwrap().containers[0].image.as_deref() == Some("nginx:2"))
    );
    assert_eq!(pods.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_deployment_whose_pods_never_become_ready_times_out() {
    let plane = plane();
    let deployments: Api<Deployment> = api(&plane.client());
    let script = json!({ "local.quintet.dev/script": r#"{"ready": "never"}"# });
    deployments.create(&PostParams::default(), &deployment(1, script)).await.unwrap();
    let stuck = until(&deployments, "web", "timed out", |d| {
        is(d, "Progressing", "False", "ProgressDeadlineExceeded")
    })
    .await;
    assert!(is(&stuck, "Available", "False", "MinimumReplicasUnavailable"));
}

#[tokio::test(start_paused = true)]
async fn a_test_tells_pods_what_to_do() {
    let crash =
        Workloads::new().directed(|pod| (pod.labels().get("app")? == "web").then(|| Script::exits(1)));
    let plane = Plane::builder().workloads(crash).build();
    let client = plane.client();
    api::<Deployment>(&client).create(&PostParams::default(), &deployment(1, json!({}))).await.unwrap();
    let pods: Api<Pod> = api(&client);
    let name = loop {
        if let Some(pod) = pods.list(&ListParams::default()).await.unwrap().items.first() {
            break pod.name_any();
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    };
    until(&pods, &name, "restarted twice", |pod| {
        let statuses = pod.status.as_ref().and_then(|status| status.container_statuses.as_ref());
        statuses.is_some_and(|all| all[0].restart_count >= 2)
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_pod_waits_for_the_secret_it_names() {
    let plane = plane();
    let client = plane.client();
    let pods: Api<Pod> = api(&client);
    let pod: Pod = serde_json::from_value(json!({
        "metadata": { "name": "p" },
        "spec": { "containers": [{ "name": "c", "image": "i", "env": [
            { "name": "A", "valueFrom": { "secretKeyRef": { "name": "s", "key": "k" } } }] }] },
    }))
    .unwrap();
    pods.create(&PostParams::default(), &pod).await.unwrap();
    let waiting = until(&pods, "p", "waiting", |pod| {
        let statuses = pod.status.as_ref().and_then(|status| status.container_statuses.as_ref());
        let state = statuses.and_then(|all| all[0].state.as_ref()).and_then(|state| state.waiting.as_ref());
        state.is_some_and(|waiting| waiting.reason.as_deref() == Some("CreateContainerConfigError"))
    })
    .await;
    let message = waiting.status.unwrap().container_statuses.unwrap()[0]
        .state
        .clone()
        .unwrap()
        .waiting
        .unwrap()
        .message;
    assert_eq!(message.as_deref(), Some(r#"secret "s" not found"#));
    let secret =
        serde_json::from_value(json!({ "metadata": { "name": "s" }, "stringData": { "k": "v" } })).unwrap();
    api::<k8s_openapi::api::core::v1::Secret>(&client).create(&PostParams::default(), &secret).await.unwrap();
    until(&pods, "p", "running", |pod| {
        pod.status.as_ref().is_some_and(|status| status.phase.as_deref() == Some("Running"))
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn deleting_a_deployment_takes_its_pods_along() {
    let plane = plane();
    let client = plane.client();
    let deployments: Api<Deployment> = api(&client);
    deployments.create(&PostParams::default(), &deployment(2, json!({}))).await.unwrap();
    until(&deployments, "web", "complete", is_complete).await;
    deployments.delete("web", &DeleteParams::default()).await.unwrap();
    let pods: Api<Pod> = api(&client);
    let gone = async {
        while !pods.list(&ListParams::default()).await.unwrap().items.is_empty() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(600), gone).await.expect("the pods went");
}
