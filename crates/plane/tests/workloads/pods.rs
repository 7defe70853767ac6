//! Pods: what they wait for, what makes them behave otherwise, what every namespace has.

use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ContainerStatus, Pod};
use kube::api::{DeleteParams, ListParams, PostParams};
use kube::{Api, ResourceExt};
use plane::Plane;
use plane::workloads::{Exit, Script, Step, Workloads};
use serde_json::json;

use super::{api, create, deployment, from, plane, told, until};

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
async fn every_namespace_has_an_account_and_the_root_certificate() {
    let plane = Plane::builder().workloads(Workloads::new().root_ca("PEM")).build();
    let client = plane.client();
    let namespaces: Api<k8s_openapi::api::core::v1::Namespace> = Api::all(client.clone());
    namespaces.create(&PostParams::default(), &from(json!({ "metadata": { "name": "new" } }))).await.unwrap();
    let accounts: Api<k8s_openapi::api::core::v1::ServiceAccount> = Api::namespaced(client.clone(), "new");
    until(&accounts, "default", "there", |_| true).await;
    let maps: Api<k8s_openapi::api::core::v1::ConfigMap> = Api::namespaced(client, "new");
    let root = until(&maps, "kube-root-ca.crt", "there", |_| true).await;
    assert_eq!(root.data.unwrap()["ca.crt"], "PEM");
    maps.delete("kube-root-ca.crt", &DeleteParams::default()).await.unwrap();
    until(&maps, "kube-root-ca.crt", "put back", |_| true).await;
}

#[tokio::test(start_paused = true)]
async fn a_pod_tells_what_it_wrote() {
    let plane = plane();
    let pods: Api<Pod> = api(&plane.client());
    let pod = json!({
        "metadata": { "name": "p", "annotations": { "local.quintet.dev/script": r#"{"log": ["one", "two", "three"]}"# } },
        "spec": { "containers": [{ "name": "c", "image": "i" }] },
    });
    pods.create(&PostParams::default(), &from(pod)).await.unwrap();
    until(&pods, "p", "running", |pod| {
        pod.status.as_ref().is_some_and(|s| s.phase.as_deref() == Some("Running"))
    })
    .await;
    let all = kube::api::LogParams::default();
    assert_eq!(pods.logs("p", &all).await.unwrap(), "one\ntwo\nthree\n");
    let tail = kube::api::LogParams { tail_lines: Some(1), ..kube::api::LogParams::default() };
    assert_eq!(pods.logs("p", &tail).await.unwrap(), "three\n");
    let other = kube::api::LogParams { container: Some("zz".into()), ..kube::api::LogParams::default() };
    let kube::Error::Api(status) = pods.logs("p", &other).await.unwrap_err() else { panic!("no refusal") };
    assert_eq!((status.code, status.message.as_str()), (400, "container zz is not valid for pod p"));
}

fn container(pod: &Pod) -> Option<&ContainerStatus> {
    pod.status.as_ref()?.container_statuses.as_ref()?.first()
}

fn waits_for(reason: &str) -> impl Fn(&Pod) -> bool {
    move |pod| {
        let waiting = container(pod).and_then(|status| status.state.as_ref()?.waiting.as_ref());
        waiting.is_some_and(|waiting| waiting.reason.as_deref() == Some(reason))
    }
}

fn is_phase(phase: &str) -> impl Fn(&Pod) -> bool {
    move |pod| pod.status.as_ref().is_some_and(|status| status.phase.as_deref() == Some(phase))
}

/// A Pod with this script in its annotation; its own plane and client come along.
async fn scripted(script: &str, policy: &str) -> (Plane, Api<Pod>) {
    let plane = plane();
    let pod = json!({
        "metadata": { "name": "p", "annotations": { "local.quintet.dev/script": script } },
        "spec": { "restartPolicy": policy, "containers": [{ "name": "c", "image": "i:1" }] },
    });
    create::<Pod>(&plane.client(), pod).await;
    let pods = api(&plane.client());
    (plane, pods)
}

#[tokio::test(start_paused = true)]
async fn an_annotation_makes_a_pod_crash() {
    let (plane, pods) = scripted(r#"{"exit": {"code": 9, "after": "1s"}}"#, "Always").await;
    let crashed = until(&pods, "p", "crashed", waits_for("CrashLoopBackOff")).await;
    let end = container(&crashed).unwrap().last_state.clone().unwrap().terminated.unwrap();
    assert_eq!((end.exit_code, end.reason.as_deref()), (9, Some("Error")));
    until(&pods, "p", "restarted", |pod| container(pod).is_some_and(|status| status.restart_count == 3))
        .await;
    assert!(told(&plane.client(), "BackOff").await[0].contains("restarting failed container c"));
}

#[tokio::test(start_paused = true)]
async fn an_annotation_keeps_a_pod_unready() {
    let (_plane, pods) = scripted(r#"{"ready": "never"}"#, "Always").await;
    until(&pods, "p", "running", is_phase("Running")).await;
    tokio::time::sleep(Duration::from_secs(600)).await;
    let pod = pods.get("p").await.unwrap();
    let ready = pod.status.unwrap().conditions.unwrap().into_iter().find(|c| c.type_ == "Ready").unwrap();
    assert_eq!((ready.status.as_str(), ready.reason.as_deref()), ("False", Some("ContainersNotReady")));
    assert_eq!(ready.message.as_deref(), Some("containers with unready status: [c]"));
}

#[tokio::test(start_paused = true)]
async fn an_annotation_makes_a_pull_fail() {
    let (plane, pods) = scripted(r#"{"pull": "fail"}"#, "Always").await;
    until(&pods, "p", "backing off", waits_for("ImagePullBackOff")).await;
    assert!(told(&plane.client(), "Failed").await[0].contains(r#""i:1""#));
}

#[tokio::test(start_paused = true)]
async fn an_annotation_ends_a_pod_with_a_code() {
    for (code, phase) in [(0, "Succeeded"), (3, "Failed")] {
        let (_plane, pods) = scripted(&format!(r#"{{"exit": {{"code": {code}}}}}"#), "Never").await;
        let done = until(&pods, "p", phase, is_phase(phase)).await;
        let end = container(&done).unwrap().state.clone().unwrap().terminated.unwrap();
        assert_eq!(end.exit_code, code);
    }
}

#[tokio::test(start_paused = true)]
async fn a_mistake_in_the_annotation_is_told_where_one_looks() {
    let (plane, pods) = scripted(r#"{"raedy": "never"}"#, "Always").await;
    let waiting = until(&pods, "p", "refused", waits_for("CreateContainerError")).await;
    let message = container(&waiting).unwrap().state.clone().unwrap().waiting.unwrap().message.unwrap();
    assert!(message.contains("raedy") && message.contains("local.quintet.dev/script"), "{message}");
    assert!(told(&plane.client(), "InvalidScript").await[0].contains("raedy"));
}

#[tokio::test(start_paused = true)]
async fn a_test_makes_pods_fail_in_every_way() {
    for (script, wanted) in [
        (Script::pull_fails(), "ImagePullBackOff"),
        (Script::exits(1), "CrashLoopBackOff"),
        (Script { pull: Step::After(Duration::from_secs(100)), ..Script::default() }, "ContainerCreating"),
    ] {
        let plane =
            Plane::builder().workloads(Workloads::new().directed(move |_| Some(script.clone()))).build();
        let pod =
            json!({ "metadata": { "name": "p" }, "spec": { "containers": [{ "name": "c", "image": "i" }] } });
        create::<Pod>(&plane.client(), pod).await;
        until(&api(&plane.client()), "p", wanted, waits_for(wanted)).await;
    }
    let log = Script { log: vec!["hello".into()], exit: Exit::Never, ..Script::default() };
    let plane = Plane::builder().workloads(Workloads::new().directed(move |_| Some(log.clone()))).build();
    let pod = json!({ "metadata": { "name": "p" }, "spec": { "restartPolicy": "Never", "containers": [{ "name": "c", "image": "i" }] } });
    let pods: Api<Pod> = api(&plane.client());
    create::<Pod>(&plane.client(), pod).await;
    until(&pods, "p", "running", is_phase("Running")).await;
    assert_eq!(pods.logs("p", &kube::api::LogParams::default()).await.unwrap(), "hello\n");
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_no_node_can_take_says_why() {
    let plane = plane();
    let pod = json!({ "metadata": { "name": "p" }, "spec": { "nodeSelector": { "gpu": "h100" }, "containers": [{ "name": "c", "image": "i" }] } });
    create::<Pod>(&plane.client(), pod).await;
    let unplaced = |pod: &Pod| {
        let conditions = pod.status.as_ref().and_then(|status| status.conditions.clone()).unwrap_or_default();
        conditions.iter().any(|c| c.type_ == "PodScheduled" && c.reason.as_deref() == Some("Unschedulable"))
    };
    until(&api(&plane.client()), "p", "unschedulable", unplaced).await;
    assert!(
        told(&plane.client(), "FailedScheduling").await[0]
            .contains("didn't match Pod's node affinity/selector")
    );
}

#[tokio::test(start_paused = true)]
async fn a_claim_binds_to_a_volume_that_fits_or_to_one_made_for_it() {
    let plane = plane();
    let client = plane.client();
    let volumes: Api<k8s_openapi::api::core::v1::PersistentVolume> = Api::all(client.clone());
    let volume = json!({ "metadata": { "name": "mine" }, "spec": { "accessModes": ["ReadWriteOnce"], "capacity": { "storage": "1Gi" },
        "storageClassName": "manual", "hostPath": { "path": "/tmp/x" } } });
    volumes.create(&PostParams::default(), &from(volume)).await.unwrap();
    let classes: Api<k8s_openapi::api::storage::v1::StorageClass> = Api::all(client.clone());
    let fast = json!({ "metadata": { "name": "fast" }, "provisioner": "example.com/disks" });
    classes.create(&PostParams::default(), &from(fast)).await.unwrap();
    for (name, class, wanted) in [("a", "manual", "mine"), ("b", "fast", "pvc-")] {
        let claim = json!({ "metadata": { "name": name }, "spec": { "accessModes": ["ReadWriteOnce"], "storageClassName": class,
            "resources": { "requests": { "storage": "1Gi" } } } });
        create::<k8s_openapi::api::core::v1::PersistentVolumeClaim>(&client, claim).await;
        let claims: Api<k8s_openapi::api::core::v1::PersistentVolumeClaim> = api(&client);
        let bound = until(&claims, name, "bound", |claim| {
            claim.status.as_ref().is_some_and(|status| status.phase.as_deref() == Some("Bound"))
        })
        .await;
        assert!(bound.spec.unwrap().volume_name.unwrap().starts_with(wanted), "{name}");
    }
}
