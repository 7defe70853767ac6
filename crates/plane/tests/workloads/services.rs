//! Services, Endpoints and EndpointSlices.

use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Endpoints, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::Api;
use kube::api::{DeleteParams, ListParams, PostParams};
use kube::runtime::wait::await_condition;
use serde_json::json;

use super::{api, create, deployment, from, is_complete, plane, until};

#[tokio::test(start_paused = true)]
async fn a_service_has_an_address_and_knows_its_pods() {
    let plane = plane();
    let client = plane.client();
    let services: Api<Service> = api(&client);
    let service = json!({ "metadata": { "name": "web" }, "spec": { "selector": { "app": "web" }, "ports": [{ "port": 80, "targetPort": 8080 }] } });
    let made = services.create(&PostParams::default(), &from(service)).await.unwrap();
    assert!(made.spec.unwrap().cluster_ip.is_some_and(|ip| ip.starts_with("10.96.")));
    api::<Deployment>(&client).create(&PostParams::default(), &deployment(2, json!({}))).await.unwrap();
    let endpoints: Api<Endpoints> = api(&client);
    let ready = |endpoints: &Endpoints| {
        let subsets = endpoints.subsets.clone().unwrap_or_default();
        subsets.len() == 1 && subsets[0].addresses.as_ref().is_some_and(|all| all.len() == 2)
    };
    let known = until(&endpoints, "web", "with two addresses", ready).await;
    assert_eq!(known.subsets.unwrap()[0].ports.as_ref().unwrap()[0].port, 8080);
    let slices: Api<EndpointSlice> = api(&client);
    let slices =
        slices.list(&ListParams::default().labels("kubernetes.io/service-name=web")).await.unwrap().items;
    assert_eq!(slices.iter().flat_map(|slice| slice.endpoints.iter().flatten()).count(), 2);
    services.delete("web", &DeleteParams::default()).await.unwrap();
    let uid = known.metadata.uid.unwrap();
    let gone = kube::runtime::conditions::is_deleted(&uid);
    tokio::time::timeout(Duration::from_secs(60), await_condition(endpoints, "web", gone))
        .await
        .expect("gone")
        .unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_slice_that_somebody_spoils_is_put_right_and_then_left_alone() {
    let plane = plane();
    let client = plane.client();
    api::<Deployment>(&client).create(&PostParams::default(), &deployment(2, json!({}))).await.unwrap();
    until(&api::<Deployment>(&client), "web", "complete", is_complete).await;
    for (name, spec) in [
        ("plain", json!({ "selector": { "app": "web" }, "ports": [{ "port": 80 }] })),
        (
            "named",
            json!({ "selector": { "app": "web" }, "ports": [{ "name": "a", "port": 80, "targetPort": "http" }] }),
        ),
        ("headless", json!({ "selector": { "app": "web" }, "clusterIP": "None" })),
        ("empty", json!({ "selector": { "app": "nobody" }, "ports": [{ "port": 80 }] })),
    ] {
        create::<Service>(&client, json!({ "metadata": { "name": name }, "spec": spec })).await;
    }
    tokio::time::sleep(Duration::from_secs(5)).await;
    let before = plane.store().revision();
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(plane.store().revision(), before, "nothing is written at rest");

    let slices: Api<EndpointSlice> = api(&client);
    let of = ListParams::default().labels("kubernetes.io/service-name=plain");
    let mut slice = slices.list(&of).await.unwrap().items.remove(0);
    let (name, endpoints) = (slice.metadata.name.clone().unwrap(), slice.endpoints.take());
    slices
        .replace(&name, &PostParams::default(), &EndpointSlice { endpoints: Some(vec![]), ..slice })
        .await
        .unwrap();
    until(&slices, &name, "put right", |slice| slice.endpoints == endpoints).await;
    slices.delete(&name, &DeleteParams::default()).await.unwrap();
    let put_back = async {
        while slices.list(&of).await.unwrap().items.is_empty() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), put_back).await.expect("it was made again");
}
