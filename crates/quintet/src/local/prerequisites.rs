//! What operators expect to find on a cluster: namespaces, definitions, an account with its rights.

use anyhow::{Context, Result};
use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Patch, PatchParams};
use kube::runtime::wait::{await_condition, conditions};
use kube::{Api, Client, Resource, ResourceExt};
use quintet_kit::rights::{Holder, RightsObjects, rights};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use std::fmt::Debug;

use super::standins::{self, Platform};
use crate::systems::Systems;

const MANAGER: &str = "quintet-up";

/// The ServiceAccount that the operators run as: locally, too, they have just the rights that their wiring needs.
pub const ACCOUNT: &str = "quintet";

/// Makes them; running it again changes nothing.
pub async fn install(client: &Client, systems: &Systems, platform: Platform, namespace: &str) -> Result<()> {
    let home = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
    apply(&Api::<Namespace>::all(client.clone()), namespace, &home).await?;
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": ACCOUNT}});
    apply(&Api::<ServiceAccount>::namespaced(client.clone(), namespace), ACCOUNT, &account).await?;
    for rows in systems.rows() {
        let name = format!("quintet-{}", rows.system);
        grant(client, &rights(&rows).objects(&name, &name, Holder { namespace, account: ACCOUNT })).await?;
    }
    let ours = systems.iter().flat_map(|s| s.crds());
    let all: Vec<_> = ours.chain(standins::definitions(platform)).collect();
    stream::iter(all).map(Ok).try_for_each_concurrent(8, |definition| define(client, definition)).await
}

async fn grant(client: &Client, objects: &RightsObjects) -> Result<()> {
    if let Some((role, binding)) = &objects.cluster {
        apply(&Api::<ClusterRole>::all(client.clone()), &role.name_any(), role).await?;
        apply(&Api::<ClusterRoleBinding>::all(client.clone()), &binding.name_any(), binding).await?;
    }
    for (role, binding) in &objects.namespaced {
        let place = role.namespace().unwrap_or_default();
        apply(&Api::<Role>::namespaced(client.clone(), &place), &role.name_any(), role).await?;
        apply(&Api::<RoleBinding>::namespaced(client.clone(), &place), &binding.name_any(), binding).await?;
    }
    Ok(())
}

/// Applies one object.
pub(super) async fn apply<K>(api: &Api<K>, name: &str, object: &(impl Serialize + Debug)) -> Result<()>
where
    K: Clone + Debug + DeserializeOwned + Resource<DynamicType = ()>,
{
    let params = PatchParams::apply(MANAGER).force();
    let applied = api.patch(name, &params, &Patch::Apply(object)).await;
    applied.map(drop).with_context(|| format!("making {} {name}", K::kind(&())))
}

pub(super) async fn define(client: &Client, definition: CustomResourceDefinition) -> Result<()> {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    let name = definition.name_any();
    apply(&api, &name, &definition).await?;
    await_condition(api, &name, conditions::is_crd_established())
        .await
        .with_context(|| format!("waiting for {name} to be served"))?;
    Ok(())
}
