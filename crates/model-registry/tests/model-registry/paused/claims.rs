//! Claims that are bound, as no provisioner does on a control plane without storage.

use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use serde_json::json;

use crate::support::{at, stage::Stage};

#[tokio::test(start_paused = true)]
async fn a_claim_that_somebody_enlarged_stays_so() {
    let stage = Stage::plain().await;
    stage.create(json!({ "rest": {}, "postgres": { "generateDeployment": true } })).await;
    stage.report::<PersistentVolumeClaim>("reg-postgres-storage", json!({ "phase": "Bound" })).await;
    let larger = json!({ "spec": { "resources": { "requests": { "storage": "20Gi" } } } });
    stage.edit::<PersistentVolumeClaim>("reg-postgres-storage", larger).await;
    stage.patch(json!({ "rest": { "port": 9000 } })).await;
    let claim = stage.get::<PersistentVolumeClaim>("reg-postgres-storage").await.unwrap();
    assert_eq!(at(&claim, "spec.resources.requests.storage"), "20Gi");
    let is_failing = stage.condition("Available").await.is_some_and(|(_, _, m)| m.contains("unexpected"));
    assert!(!is_failing);
}
