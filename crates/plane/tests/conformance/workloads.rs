//! What the stock controllers do.

use serde_json::{Value, json};

use super::objects::deployment;
use crate::support::Case;

#[tokio::test]
async fn a_deployment_becomes_available() {
    let case = Case::new().await;
    let path = deployment(&case, 2).await;
    let done = |answer: &crate::support::Answer| {
        answer.at("/status/availableReplicas") == 2 && answer.at("/status/observedGeneration") == 1
    };
    let ready = case.until(&path, done).await;
    let conditions = ready.at("/status/conditions").as_array().cloned().unwrap_or_default();
    let available = conditions.iter().find(|c| c["type"] == "Available").cloned().unwrap_or_default();
    assert_eq!(
        (&available["status"], &available["reason"]),
        (&json!("True"), &json!("MinimumReplicasAvailable"))
    );
    let sets = case.get(&case.path("replicasets.apps/v1")).await;
    assert_eq!(sets.at("/items/0/metadata/ownerReferences/0/kind"), "Deployment");
    assert_eq!(sets.at("/items/0/spec/replicas"), 2);
}

#[tokio::test]
async fn a_new_template_rolls_out_and_the_old_set_stays_empty() {
    let case = Case::new().await;
    let path = deployment(&case, 1).await;
    case.until(&path, |answer| answer.at("/status/availableReplicas") == 1).await;
    let body = json!({"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "j"}]}}}});
    case.patch("strategic", &path, body).await;
    let done = |a: &crate::support::Answer| {
        a.at("/status/observedGeneration") == 2
            && a.at("/status/updatedReplicas") == 1
            && a.at("/status/availableReplicas") == 1
            && a.at("/status/replicas") == 1
    };
    let rolled = case.until(&path, done).await;
    assert_eq!(rolled.at("/metadata/annotations/deployment.kubernetes.io~1revision"), "2");
    let sets = case.get(&case.path("replicasets.apps/v1")).await;
    let mut replicas: Vec<&Value> =
        sets.at("/items").as_array().into_iter().flatten().map(|set| &set["spec"]["replicas"]).collect();
    replicas.sort_by_key(|value| value.as_u64());
    assert_eq!(replicas, [&json!(0), &json!(1)]);
}

#[tokio::test]
async fn a_deleted_pod_is_replaced() {
    let case = Case::new().await;
    let path = deployment(&case, 1).await;
    case.until(&path, |answer| answer.at("/status/availableReplicas") == 1).await;
    let first = case.get(&case.path("pods")).await.text("/items/0/metadata/name").to_owned();
    case.delete(&case.path(&format!("pods/{first}"))).await;
    let other = |answer: &crate::support::Answer| {
        answer.at("/items/0/metadata/name") != first.as_str()
            && answer.at("/items/0/status/phase") == "Running"
    };
    case.until(&case.path("pods"), other).await;
}

#[tokio::test]
async fn a_job_completes() {
    let case = Case::new().await;
    let pod = json!({"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]});
    let body = json!({"metadata": {"name": "j"}, "spec": {"template": {"spec": pod}}});
    let made = case.post(&case.path("jobs.batch/v1"), body).await;
    assert_eq!(made.code, 201, "{}", made.body);
    let complete = |answer: &crate::support::Answer| {
        let conditions = answer.at("/status/conditions").as_array().cloned().unwrap_or_default();
        conditions.iter().any(|c| c["type"] == "Complete" && c["status"] == "True")
    };
    let done = case.until(&case.path("jobs.batch/v1/j"), complete).await;
    assert_eq!(done.at("/status/succeeded"), 1);
}

#[tokio::test]
async fn a_stateful_set_numbers_its_pods() {
    let case = Case::new().await;
    let template =
        json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let spec = json!({"replicas": 2, "serviceName": "s", "selector": {"matchLabels": {"a": "b"}}, "template": template});
    case.post(&case.path("statefulsets.apps/v1"), json!({"metadata": {"name": "st"}, "spec": spec})).await;
    case.until(&case.path("statefulsets.apps/v1/st"), |answer| answer.at("/status/readyReplicas") == 2).await;
    for name in ["st-0", "st-1"] {
        let pod = case.get(&case.path(&format!("pods/{name}"))).await;
        assert_eq!(pod.at("/spec/hostname"), name);
    }
}

#[tokio::test]
async fn a_service_finds_its_pods() {
    let case = Case::new().await;
    let path = deployment(&case, 1).await;
    case.until(&path, |answer| answer.at("/status/availableReplicas") == 1).await;
    let spec = json!({"selector": {"a": "b"}, "ports": [{"port": 80}]});
    let made = case.post(&case.path("services"), json!({"metadata": {"name": "s"}, "spec": spec})).await;
    assert!(made.text("/spec/clusterIP").starts_with("10."), "{}", made.body);
    let slices =
        case.path("endpointslices.discovery.k8s.io/v1?labelSelector=kubernetes.io%2Fservice-name%3Ds");
    let ready = |answer: &crate::support::Answer| answer.at("/items/0/endpoints/0/conditions/ready") == true;
    case.until(&slices, ready).await;
}

#[tokio::test]
async fn deleting_a_deployment_leaves_nothing() {
    let case = Case::new().await;
    let path = deployment(&case, 1).await;
    case.until(&path, |answer| answer.at("/status/availableReplicas") == 1).await;
    case.delete(&path).await;
    let empty = |answer: &crate::support::Answer| answer.at("/items").as_array().is_some_and(Vec::is_empty);
    case.until(&case.path("replicasets.apps/v1"), empty).await;
    case.until(&case.path("pods"), empty).await;
}
