//! StatefulSets and DaemonSets.

use std::time::Duration;

use k8s_openapi::api::apps::v1::{ControllerRevision, DaemonSet, StatefulSet};
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

use super::{api, create, from, plane, told, until};

#[tokio::test(start_paused = true)]
async fn a_stateful_set_starts_in_order_with_its_claims() {
    let plane = plane();
    let client = plane.client();
    let sets: Api<StatefulSet> = api(&client);
    let set = json!({
        "metadata": { "name": "st" },
        "spec": {
            "replicas": 2, "serviceName": "st", "selector": { "matchLabels": { "app": "st" } },
            "template": { "metadata": { "labels": { "app": "st" } }, "spec": { "containers": [{ "name": "c", "image": "i:1" }] } },
            "volumeClaimTemplates": [{ "metadata": { "name": "data" }, "spec": { "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } } }],
        },
    });
    sets.create(&PostParams::default(), &from(set)).await.unwrap();
    let ready = |set: &StatefulSet| {
        set.status.as_ref().is_some_and(|status| {
            status.ready_replicas == Some(2) && status.current_revision == status.update_revision
        })
    };
    until(&sets, "st", "ready", ready).await;
    let pods: Api<Pod> = api(&client);
    let second = pods.get("st-1").await.unwrap();
    assert_eq!(second.labels()["apps.kubernetes.io/pod-index"], "1");
    let claims: Api<PersistentVolumeClaim> = api(&client);
    let bound = until(&claims, "data-st-1", "bound", |claim| {
        claim.status.as_ref().is_some_and(|s| s.phase.as_deref() == Some("Bound"))
    })
    .await;
    assert!(bound.spec.unwrap().volume_name.is_some());
    let patch =
        json!({ "spec": { "template": { "spec": { "containers": [{ "name": "c", "image": "i:2" }] } } } });
    sets.patch("st", &PatchParams::default(), &Patch::Strategic(patch)).await.unwrap();
    let rolled = until(&sets, "st", "rolled", |set| {
        ready(set) && set.status.as_ref().unwrap().observed_generation == set.metadata.generation
    })
    .await;
    assert_eq!(rolled.status.unwrap().updated_replicas, Some(2));
    assert_eq!(pods.get("st-0").await.unwrap().spec.unwrap().containers[0].image.as_deref(), Some("i:2"));
}

#[tokio::test(start_paused = true)]
async fn a_daemon_set_runs_once_on_the_node() {
    let plane = plane();
    let client = plane.client();
    let sets: Api<DaemonSet> = api(&client);
    let set = json!({ "metadata": { "name": "ds" }, "spec": { "selector": { "matchLabels": { "app": "ds" } },
        "template": { "metadata": { "labels": { "app": "ds" } }, "spec": { "containers": [{ "name": "c", "image": "i" }] } } } });
    sets.create(&PostParams::default(), &from(set)).await.unwrap();
    until(&sets, "ds", "ready", |set| set.status.as_ref().is_some_and(|status| status.number_ready == 1))
        .await;
    assert_eq!(api::<Pod>(&client).list(&ListParams::default()).await.unwrap().items.len(), 1);
}

fn stateful(replicas: i32, more: Value) -> Value {
    let template = json!({ "metadata": { "labels": { "app": "st" } }, "spec": { "containers": [{ "name": "c", "image": "i:1" }] } });
    let mut spec = json!({ "replicas": replicas, "serviceName": "st", "selector": { "matchLabels": { "app": "st" } }, "template": template });
    for (key, value) in more.as_object().unwrap() {
        spec[key] = value.clone();
    }
    json!({ "metadata": { "name": "st" }, "spec": spec })
}

async fn ready(client: &Client, replicas: i32) -> StatefulSet {
    until(&api::<StatefulSet>(client), "st", "ready", |set| {
        let status = set.status.clone().unwrap_or_default();
        status.observed_generation == set.metadata.generation
            && status.ready_replicas.unwrap_or(0) == replicas
            && status.replicas == replicas
    })
    .await
}

async fn patch(client: &Client, patch: Value) {
    api::<StatefulSet>(client).patch("st", &PatchParams::default(), &Patch::Strategic(patch)).await.unwrap();
}

fn image(image: &str) -> Value {
    json!({ "spec": { "template": { "spec": { "containers": [{ "name": "c", "image": image }] } } } })
}

async fn images(client: &Client) -> Vec<String> {
    let mut pods = api::<Pod>(client).list(&ListParams::default()).await.unwrap().items;
    pods.sort_by_key(ResourceExt::name_any);
    pods.into_iter().map(|pod| pod.spec.unwrap().containers.remove(0).image.unwrap()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_stateful_set_shrinks_from_the_end_and_keeps_its_claims() {
    let plane = plane();
    let client = plane.client();
    let claims = json!([{ "metadata": { "name": "data" }, "spec": { "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } } }]);
    create::<StatefulSet>(&client, stateful(3, json!({ "volumeClaimTemplates": claims }))).await;
    ready(&client, 3).await;
    patch(&client, json!({ "spec": { "replicas": 1 } })).await;
    ready(&client, 1).await;
    let deleted = told(&client, "SuccessfulDelete").await;
    assert_eq!(deleted.len(), 2);
    assert!(deleted.contains(&"Delete Pod st-2 in StatefulSet st successful".to_string()), "{deleted:?}");
    assert!(api::<Pod>(&client).get_opt("st-0").await.unwrap().is_some());
    assert_eq!(
        api::<PersistentVolumeClaim>(&client).list(&ListParams::default()).await.unwrap().items.len(),
        3
    );
}

#[tokio::test(start_paused = true)]
async fn claims_go_with_the_set_where_its_policy_says_so() {
    let plane = plane();
    let client = plane.client();
    let claims = json!([{ "metadata": { "name": "data" }, "spec": { "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } } }]);
    let policy = json!({ "whenDeleted": "Delete", "whenScaled": "Delete" });
    let more = json!({ "volumeClaimTemplates": claims, "persistentVolumeClaimRetentionPolicy": policy });
    create::<StatefulSet>(&client, stateful(2, more)).await;
    ready(&client, 2).await;
    patch(&client, json!({ "spec": { "replicas": 1 } })).await;
    ready(&client, 1).await;
    let left = async |wanted: usize| {
        let count = async || {
            api::<PersistentVolumeClaim>(&client).list(&ListParams::default()).await.unwrap().items.len()
        };
        let waits = async {
            while count().await != wanted {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(600), waits)
            .await
            .unwrap_or_else(|_| panic!("never {wanted}"));
    };
    left(1).await;
    api::<StatefulSet>(&client).delete("st", &DeleteParams::default()).await.unwrap();
    left(0).await;
}

#[tokio::test(start_paused = true)]
async fn a_partition_holds_the_first_pods_back_even_when_they_are_made_anew() {
    let plane = plane();
    let client = plane.client();
    let strategy =
        json!({ "updateStrategy": { "type": "RollingUpdate", "rollingUpdate": { "partition": 2 } } });
    create::<StatefulSet>(&client, stateful(3, strategy)).await;
    ready(&client, 3).await;
    patch(&client, image("i:2")).await;
    until(&api::<StatefulSet>(&client), "st", "updated", |set| {
        let status = set.status.clone().unwrap_or_default();
        status.updated_replicas == Some(1) && status.ready_replicas == Some(3)
    })
    .await;
    assert_eq!(images(&client).await, ["i:1", "i:1", "i:2"]);
    let first = api::<Pod>(&client).get("st-0").await.unwrap();
    api::<Pod>(&client).delete("st-0", &DeleteParams::default()).await.unwrap();
    until(&api::<Pod>(&client), "st-0", "another", |pod| pod.uid() != first.uid()).await;
    ready(&client, 3).await;
    assert_eq!(images(&client).await, ["i:1", "i:1", "i:2"]);
}

#[tokio::test(start_paused = true)]
async fn pods_of_a_parallel_set_do_not_wait_for_each_other() {
    let plane = plane();
    let client = plane.client();
    let mut set = stateful(3, json!({ "podManagementPolicy": "Parallel" }));
    set["spec"]["template"]["metadata"]["annotations"] =
        json!({ "local.quintet.dev/script": r#"{"ready": "never"}"# });
    create::<StatefulSet>(&client, set).await;
    until(&api::<StatefulSet>(&client), "st", "started", |set| {
        set.status.as_ref().is_some_and(|s| s.replicas == 3)
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_unready_pod_holds_the_next_one_up() {
    let plane = plane();
    let client = plane.client();
    let mut set = stateful(3, json!({}));
    set["spec"]["template"]["metadata"]["annotations"] =
        json!({ "local.quintet.dev/script": r#"{"ready": "never"}"# });
    create::<StatefulSet>(&client, set).await;
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(images(&client).await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn both_kinds_record_their_templates() {
    let plane = plane();
    let client = plane.client();
    create::<StatefulSet>(&client, stateful(1, json!({ "revisionHistoryLimit": 1 }))).await;
    for tag in ["i:2", "i:3", "i:4"] {
        patch(&client, image(tag)).await;
        until(&api::<StatefulSet>(&client), "st", "rolled", |set| {
            let status = set.status.clone().unwrap_or_default();
            status.observed_generation == set.metadata.generation
                && status.current_revision == status.update_revision
                && status.ready_replicas == Some(1)
        })
        .await;
    }
    tokio::time::sleep(Duration::from_secs(5)).await;
    let revisions = async || {
        let mut all = api::<ControllerRevision>(&client).list(&ListParams::default()).await.unwrap().items;
        all.sort_by_key(|revision| revision.revision);
        all
    };
    let kept: Vec<i64> = revisions().await.iter().map(|revision| revision.revision).collect();
    assert_eq!(kept, [3, 4], "the present one and one before");
    api::<StatefulSet>(&client).delete("st", &DeleteParams::default()).await.unwrap();

    let template = json!({ "metadata": { "labels": { "app": "ds" } }, "spec": { "containers": [{ "name": "c", "image": "i:1" }] } });
    create::<DaemonSet>(&client, json!({ "metadata": { "name": "ds" }, "spec": { "selector": { "matchLabels": { "app": "ds" } }, "template": template } })).await;
    let sets: Api<DaemonSet> = api(&client);
    let rolled = |set: &DaemonSet| {
        let status = set.status.clone().unwrap_or_default();
        status.observed_generation == set.metadata.generation
            && status.updated_number_scheduled == Some(1)
            && status.number_ready == 1
    };
    until(&sets, "ds", "ready", rolled).await;
    sets.patch("ds", &PatchParams::default(), &Patch::Strategic(image("i:2"))).await.unwrap();
    until(&sets, "ds", "rolled", rolled).await;
    let own: Vec<String> = revisions()
        .await
        .iter()
        .filter(|r| r.name_any().starts_with("ds-"))
        .map(ResourceExt::name_any)
        .collect();
    assert_eq!(own.len(), 2, "{own:?}");
    let pods = api::<Pod>(&client).list(&ListParams::default().labels("app=ds")).await.unwrap().items;
    let hash = &pods[0].labels()["controller-revision-hash"];
    assert_eq!(own[1], format!("ds-{hash}"), "the newest is what runs");
}
