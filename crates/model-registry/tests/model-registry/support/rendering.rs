//! `quintet render` equals what the controller applies: looked at after every step of every scenario.

use futures::{FutureExt, future::BoxFuture};
use kube::{
    Api, ResourceExt,
    api::{DynamicObject, ListParams},
};
use quintet_stage::{Stage, objects::id, rendering::compare, stage::condition};
use serde_json::json;

/// Every registry: what cannot be rendered is reported in the same words; where the API refused a child, the status says
/// so. A password is made once, and a database stays when nothing asks for it any more.
pub(super) fn look(stage: &Stage) -> BoxFuture<'_, ()> {
    async {
        let registries: Api<DynamicObject> = Api::all_with(stage.admin.clone(), &stage.play.subject.resource);
        for registry in registries.list(&ListParams::default()).await.expect("registries") {
            if registry.metadata.deletion_timestamp.is_none() {
                look_at(stage, registry).await;
            }
        }
    }
    .boxed()
}

async fn look_at(stage: &Stage, mut registry: DynamicObject) {
    let resource = &stage.play.subject.resource;
    registry.types =
        Some(kube::core::TypeMeta { api_version: resource.api_version.clone(), kind: resource.kind.clone() });
    let (status, _, message) = condition(&registry, "Available").unwrap_or_default();
    let is_failing = message.starts_with("unexpected reconcile error: ");
    let stored = stage.everything().await;
    let is_owned = |object: &&DynamicObject| {
        object.owner_references().iter().any(|owner| Some(&owner.uid) == registry.metadata.uid.as_ref())
    };
    let owned = stored.iter().filter(is_owned).map(|object| id(&json!(object)));
    let owned: Vec<String> = owned.collect();
    let database = format!("/{}-postgres", registry.name_any());
    let is_generated = registry.data["spec"]["postgres"]["generateDeployment"] == true;
    let stays =
        |id: &str| id.starts_with("Secret/") || is_failing || (!is_generated && id.contains(&database));
    let rendered = compare(&*stage.play.system, &registry, stored, owned, |_| is_failing, stays);
    if let Err(refusal) = rendered {
        assert_eq!((status.as_str(), message.as_str()), ("False", refusal.as_str()));
    }
}
