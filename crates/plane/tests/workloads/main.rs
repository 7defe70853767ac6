//! Workloads on the plane, through the API and in virtual time: what the stock controllers and a kubelet would do.

mod deployments;
mod jobs;
mod pods;
mod services;
mod sets;

use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Event;
use kube::api::{ListParams, PostParams};
use kube::runtime::wait::await_condition;
use kube::{Api, Client};
use plane::Plane;
use plane::workloads::Workloads;
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

fn from<K: serde::de::DeserializeOwned>(value: Value) -> K {
    serde_json::from_value(value).unwrap()
}

/// Creates an object from its JSON.
async fn create<K>(client: &Client, object: Value) -> K
where
    K: kube::Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>
        + Clone
        + std::fmt::Debug
        + serde::Serialize
        + serde::de::DeserializeOwned,
{
    api::<K>(client).create(&PostParams::default(), &from(object)).await.unwrap()
}

/// Messages of the Events with this reason, oldest first.
async fn told(client: &Client, reason: &str) -> Vec<String> {
    let events = api::<Event>(client).list(&ListParams::default()).await.unwrap().items;
    let of = events.into_iter().filter(|event| event.reason.as_deref() == Some(reason));
    of.map(|event| event.message.unwrap_or_default()).collect()
}
