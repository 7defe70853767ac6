//! Deployments: rollouts, their limits, conditions and history.

use std::time::Duration;

use futures::TryStreamExt;
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::{Event, Pod};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, ResourceExt};
use plane::workloads::SIMULATED;
use serde_json::{Value, json};

use super::{api, deployment, from, is, is_complete, plane, until};

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

fn image(image: &str) -> Patch<Value> {
    Patch::Strategic(
        json!({ "spec": { "template": { "spec": { "containers": [{ "name": "c", "image": image }] } } } }),
    )
}

/// Rolls from one image to another; the fewest available and the most existing Pods that were seen on the way.
async fn roll(strategy: Value) -> (i32, i32) {
    let plane = plane();
    let deployments: Api<Deployment> = api(&plane.client());
    // Pods take a moment to become ready, else there would be nothing to see.
    let mut wanted = deployment(4, json!({ "local.quintet.dev/script": r#"{"ready": "5s"}"# }));
    wanted.spec.as_mut().unwrap().strategy = Some(from(strategy));
    deployments.create(&PostParams::default(), &wanted).await.unwrap();
    until(&deployments, "web", "complete", is_complete).await;
    deployments.patch("web", &PatchParams::default(), &image("nginx:2")).await.unwrap();
    let changes = watcher(deployments, watcher::Config::default()).applied_objects();
    let (mut fewest, mut most) = (i32::MAX, 0);
    futures::pin_mut!(changes);
    while let Some(seen) = changes.try_next().await.unwrap() {
        let status = seen.status.clone().unwrap();
        fewest = fewest.min(status.available_replicas.unwrap_or(0));
        most = most.max(status.replicas.unwrap_or(0));
        if is_complete(&seen) && status.updated_replicas == Some(4) {
            break;
        }
    }
    (fewest, most)
}

#[tokio::test(start_paused = true)]
async fn a_rollout_stays_within_its_limits() {
    let limits = |surge: i32, unavailable: i32| json!({ "type": "RollingUpdate", "rollingUpdate": { "maxSurge": surge, "maxUnavailable": unavailable } });
    assert_eq!(roll(limits(1, 0)).await, (4, 5));
    assert_eq!(roll(limits(0, 2)).await, (2, 4));
    assert_eq!(roll(json!({ "type": "Recreate" })).await.0, 0);
}

#[tokio::test(start_paused = true)]
async fn a_paused_rollout_waits_until_it_is_resumed() {
    let plane = plane();
    let client = plane.client();
    let deployments: Api<Deployment> = api(&client);
    deployments.create(&PostParams::default(), &deployment(2, json!({}))).await.unwrap();
    until(&deployments, "web", "complete", is_complete).await;
    let pause = |paused: bool| Patch::Merge(json!({ "spec": { "paused": paused } }));
    deployments.patch("web", &PatchParams::default(), &pause(true)).await.unwrap();
    until(&deployments, "web", "paused", |d| is(d, "Progressing", "Unknown", "DeploymentPaused")).await;
    deployments.patch("web", &PatchParams::default(), &image("nginx:2")).await.unwrap();
    let scale = Patch::Merge(json!({ "spec": { "replicas": 3 } }));
    deployments.patch("web", &PatchParams::default(), &scale).await.unwrap();
    until(&deployments, "web", "scaled", |d| d.status.as_ref().unwrap().available_replicas == Some(3)).await;
    assert_eq!(api::<ReplicaSet>(&client).list(&ListParams::default()).await.unwrap().items.len(), 1);
    deployments.patch("web", &PatchParams::default(), &pause(false)).await.unwrap();
    let done = until(&deployments, "web", "rolled", |d| {
        is_complete(d) && d.status.as_ref().unwrap().updated_replicas == Some(3)
    })
    .await;
    assert_eq!(done.annotations()["deployment.kubernetes.io/revision"], "2");
}

#[tokio::test(start_paused = true)]
async fn history_is_kept_up_to_its_limit_and_one_can_go_back() {
    let plane = plane();
    let client = plane.client();
    let deployments: Api<Deployment> = api(&client);
    let mut wanted = deployment(1, json!({}));
    wanted.spec.as_mut().unwrap().revision_history_limit = Some(2);
    deployments.create(&PostParams::default(), &wanted).await.unwrap();
    until(&deployments, "web", "complete", is_complete).await;
    for tag in ["nginx:2", "nginx:3", "nginx:4", "nginx:3"] {
        let asked = deployments.patch("web", &PatchParams::default(), &image(tag)).await.unwrap();
        let generation = asked.metadata.generation;
        let rolled = |d: &Deployment| d.metadata.generation >= generation && is_complete(d);
        until(&deployments, "web", "rolled", rolled).await;
    }
    let done = deployments.get("web").await.unwrap();
    assert_eq!(done.annotations()["deployment.kubernetes.io/revision"], "5");
    tokio::time::sleep(Duration::from_secs(1)).await;
    let sets = api::<ReplicaSet>(&client).list(&ListParams::default()).await.unwrap().items;
    assert_eq!(sets.len(), 3, "the active one and two old ones");
    let active = sets.iter().find(|set| set.spec.as_ref().unwrap().replicas == Some(1)).unwrap();
    assert_eq!(active.annotations()["deployment.kubernetes.io/revision"], "5");
    assert_eq!(active.annotations()["deployment.kubernetes.io/revision-history"], "3");
}

#[tokio::test(start_paused = true)]
async fn pods_that_may_not_be_made_are_told_as_a_failure() {
    use k8s_openapi::api::admissionregistration::v1::{
        ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding,
    };
    let plane = plane();
    let client = plane.client();
    let rule =
        json!({ "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"] });
    let policy = json!({ "metadata": { "name": "none" }, "spec": { "matchConstraints": { "resourceRules": [rule] },
        "validations": [{ "expression": "false", "message": "no Pods today" }] } });
    let binding = json!({ "metadata": { "name": "none" }, "spec": { "policyName": "none", "validationActions": ["Deny"] } });
    let policies: Api<ValidatingAdmissionPolicy> = Api::all(client.clone());
    policies.create(&PostParams::default(), &from(policy)).await.unwrap();
    let bindings: Api<ValidatingAdmissionPolicyBinding> = Api::all(client.clone());
    bindings.create(&PostParams::default(), &from(binding)).await.unwrap();
    let deployments: Api<Deployment> = api(&client);
    deployments.create(&PostParams::default(), &deployment(1, json!({}))).await.unwrap();
    let failed =
        until(&deployments, "web", "failed", |d| is(d, "ReplicaFailure", "True", "FailedCreate")).await;
    let conditions = failed.status.unwrap().conditions.unwrap();
    let failure = conditions.into_iter().find(|condition| condition.type_ == "ReplicaFailure").unwrap();
    assert!(failure.message.as_ref().unwrap().contains("no Pods today"), "{failure:?}");
}
