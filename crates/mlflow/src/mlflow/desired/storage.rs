//! The volume for databases and artifacts in files.

use k8s_openapi::{
    api::core::v1::{PersistentVolumeClaim, PersistentVolumeClaimSpec, VolumeResourceRequirements},
    apimachinery::pkg::api::resource::Quantity,
};
use quintet_kit::parts::quantity;

use super::plan::Plan;

/// The claim, if the resource asks for storage. Of what it asks, only size, class and first access mode count.
pub(super) fn claim(plan: &Plan<'_>) -> Option<PersistentVolumeClaim> {
    let asked = plan.mlflow.spec.storage.as_ref()?;
    let mode = asked.access_modes.iter().flatten().next().cloned();
    let size = asked.resources.as_ref().and_then(|r| r.requests.as_ref()?.get("storage"));
    let size = size.map_or_else(|| Quantity("2Gi".into()), quantity::canonical);
    Some(PersistentVolumeClaim {
        metadata: plan.meta(plan.names.claim()),
        spec: Some(PersistentVolumeClaimSpec {
            access_modes: Some(vec![mode.unwrap_or_else(|| "ReadWriteOnce".into())]),
            resources: Some(VolumeResourceRequirements {
                requests: Some([("storage".into(), size)].into()),
                limits: None,
            }),
            storage_class_name: asked.storage_class_name.clone().filter(|class| !class.is_empty()),
            ..PersistentVolumeClaimSpec::default()
        }),
        status: None,
    })
}
