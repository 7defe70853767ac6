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

fn from<K: serde::de::DeserializeOwned>(value: Value) -> K {
    serde_json::from_value(value).unwrap()
}

fn job(spec: Value, script: &str) -> k8s_openapi::api::batch::v1::Job {
    let mut job = json!({
        "metadata": { "name": "j" },
        "spec": { "template": {
            "metadata": { "annotations": { "local.quintet.dev/script": script } },
            "spec": { "restartPolicy": "Never", "containers": [{ "name": "c", "image": "i" }] } } },
    });
    for (key, value) in spec.as_object().unwrap() {
        job["spec"][key] = value.clone();
    }
    from(job)
}

fn job_condition(job: &k8s_openapi::api::batch::v1::Job, kind: &str) -> Option<String> {
    let conditions = job.status.as_ref()?.conditions.as_ref()?;
    conditions.iter().find(|c| c.type_ == kind && c.status == "True")?.reason.clone()
}

#[tokio::test(start_paused = true)]
async fn a_job_completes_and_every_pod_counts_once() {
    let plane = plane();
    let client = plane.client();
    let jobs: Api<k8s_openapi::api::batch::v1::Job> = api(&client);
    let wanted = job(json!({ "completions": 5, "parallelism": 2 }), "{}");
    jobs.create(&PostParams::default(), &wanted).await.unwrap();
    let done = until(&jobs, "j", "complete", |job| job_condition(job, "Complete").is_some()).await;
    let status = done.status.clone().unwrap();
    assert_eq!((status.succeeded, status.failed, status.active), (Some(5), None, None));
    assert!(status.completion_time.is_some() && job_condition(&done, "SuccessCriteriaMet").is_some());
    let pods = api::<Pod>(&client).list(&ListParams::default()).await.unwrap().items;
    assert_eq!(pods.len(), 5);
    assert!(pods.iter().all(|pod| pod.finalizers().is_empty()), "no finalizer is left");
}

#[tokio::test(start_paused = true)]
async fn a_job_that_keeps_failing_gives_up() {
    let plane = plane();
    let jobs: Api<k8s_openapi::api::batch::v1::Job> = api(&plane.client());
    jobs.create(&PostParams::default(), &job(json!({ "backoffLimit": 2 }), r#"{"exit": {"code": 1}}"#))
        .await
        .unwrap();
    let failed = until(&jobs, "j", "failed", |job| job_condition(job, "Failed").is_some()).await;
    assert_eq!(job_condition(&failed, "Failed").as_deref(), Some("BackoffLimitExceeded"));
    assert_eq!(failed.status.unwrap().failed, Some(3));
}

#[tokio::test(start_paused = true)]
async fn a_job_is_suspended_resumed_and_expires() {
    let plane = plane();
    let jobs: Api<k8s_openapi::api::batch::v1::Job> = api(&plane.client());
    let wanted = job(json!({ "suspend": true, "ttlSecondsAfterFinished": 30 }), "{}");
    jobs.create(&PostParams::default(), &wanted).await.unwrap();
    until(&jobs, "j", "suspended", |job| job_condition(job, "Suspended").as_deref() == Some("JobSuspended"))
        .await;
    let resume = Patch::Merge(json!({ "spec": { "suspend": false } }));
    jobs.patch("j", &PatchParams::default(), &resume).await.unwrap();
    until(&jobs, "j", "complete", |job| job_condition(job, "Complete").is_some()).await;
    let uid = jobs.get("j").await.unwrap().uid().unwrap();
    let gone = kube::runtime::conditions::is_deleted(&uid);
    tokio::time::timeout(Duration::from_secs(120), await_condition(jobs.clone(), "j", gone))
        .await
        .expect("expired")
        .unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_cron_job_fires_on_time() {
    let plane = plane();
    let client = plane.client();
    let crons: Api<k8s_openapi::api::batch::v1::CronJob> = api(&client);
    let template = json!({ "spec": { "template": { "spec": { "restartPolicy": "Never", "containers": [{ "name": "c", "image": "i" }] } } } });
    let cron = json!({ "metadata": { "name": "cj" }, "spec": { "schedule": "*/5 * * * *", "jobTemplate": template } });
    crons.create(&PostParams::default(), &from(cron)).await.unwrap();
    tokio::time::sleep(Duration::from_secs(3600)).await;
    let cron = crons.get("cj").await.unwrap();
    let status = cron.status.unwrap();
    assert!(status.last_schedule_time.is_some() && status.last_successful_time.is_some());
    let jobs =
        api::<k8s_openapi::api::batch::v1::Job>(&client).list(&ListParams::default()).await.unwrap().items;
    assert_eq!(jobs.len(), 3, "the history limit holds");
    assert!(jobs.iter().all(|job| job.name_any().starts_with("cj-")));
}

#[tokio::test(start_paused = true)]
async fn a_stateful_set_starts_in_order_with_its_claims() {
    let plane = plane();
    let client = plane.client();
    let sets: Api<k8s_openapi::api::apps::v1::StatefulSet> = api(&client);
    let set = json!({
        "metadata": { "name": "st" },
        "spec": {
            "replicas": 2, "serviceName": "st", "selector": { "matchLabels": { "app": "st" } },
            "template": { "metadata": { "labels": { "app": "st" } }, "spec": { "containers": [{ "name": "c", "image": "i:1" }] } },
            "volumeClaimTemplates": [{ "metadata": { "name": "data" }, "spec": { "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } } }],
        },
    });
    sets.create(&PostParams::default(), &from(set)).await.unwrap();
    let ready = |set: &k8s_openapi::api::apps::v1::StatefulSet| {
        set.status.as_ref().is_some_and(|status| {
            status.ready_replicas == Some(2) && status.current_revision == status.update_revision
        })
    };
    until(&sets, "st", "ready", ready).await;
    let pods: Api<Pod> = api(&client);
    let second = pods.get("st-1").await.unwrap();
    assert_eq!(second.labels()["apps.kubernetes.io/pod-index"], "1");
    let claims: Api<k8s_openapi::api::core::v1::PersistentVolumeClaim> = api(&client);
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
    let sets: Api<k8s_openapi::api::apps::v1::DaemonSet> = api(&client);
    let set = json!({ "metadata": { "name": "ds" }, "spec": { "selector": { "matchLabels": { "app": "ds" } },
        "template": { "metadata": { "labels": { "app": "ds" } }, "spec": { "containers": [{ "name": "c", "image": "i" }] } } } });
    sets.create(&PostParams::default(), &from(set)).await.unwrap();
    until(&sets, "ds", "ready", |set| set.status.as_ref().is_some_and(|status| status.number_ready == 1))
        .await;
    assert_eq!(api::<Pod>(&client).list(&ListParams::default()).await.unwrap().items.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_service_has_an_address_and_knows_its_pods() {
    let plane = plane();
    let client = plane.client();
    let services: Api<k8s_openapi::api::core::v1::Service> = api(&client);
    let service = json!({ "metadata": { "name": "web" }, "spec": { "selector": { "app": "web" }, "ports": [{ "port": 80, "targetPort": 8080 }] } });
    let made = services.create(&PostParams::default(), &from(service)).await.unwrap();
    assert!(made.spec.unwrap().cluster_ip.is_some_and(|ip| ip.starts_with("10.96.")));
    api::<Deployment>(&client).create(&PostParams::default(), &deployment(2, json!({}))).await.unwrap();
    let endpoints: Api<k8s_openapi::api::core::v1::Endpoints> = api(&client);
    let ready = |endpoints: &k8s_openapi::api::core::v1::Endpoints| {
        let subsets = endpoints.subsets.clone().unwrap_or_default();
        subsets.len() == 1 && subsets[0].addresses.as_ref().is_some_and(|all| all.len() == 2)
    };
    let known = until(&endpoints, "web", "with two addresses", ready).await;
    assert_eq!(known.subsets.unwrap()[0].ports.as_ref().unwrap()[0].port, 8080);
    let slices: Api<k8s_openapi::api::discovery::v1::EndpointSlice> = api(&client);
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
