//! What operators expect to find on a cluster: namespaces, definitions, an account with its rights.

use anyhow::{Context, Result};
use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use k8s_openapi::api::core::v1::{Namespace, Service, ServiceAccount};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Patch, PatchParams};
use kube::runtime::wait::{await_condition, conditions};
use kube::{Api, Client, Resource, ResourceExt};
use quintet_kit::install::{Installed, Site, announced};
use quintet_kit::rights::{Holder, RightsObjects, rights};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::fmt::Debug;

use super::parts::{self, IN_PROCESS};
use super::standins::{self, Platform};
use crate::commands::install::{definitions, operators};
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
    let site = Site {
        namespace: namespace.into(),
        image: IN_PROCESS.into(),
        platform: platform.into(),
        webhook_url: None,
    };
    let operators = operators(systems, &site)?;
    let installed: Vec<Installed<'_>> = operators.iter().map(|(operator, rows)| (operator, rows)).collect();
    let ours = definitions(systems, &site, &installed)?.into_iter().map(serde_json::from_value);
    let ours: Vec<CustomResourceDefinition> = ours.collect::<Result<_, _>>()?;
    let all: Vec<_> = ours.into_iter().chain(standins::definitions(platform)).collect();
    stream::iter(all).map(Ok).try_for_each_concurrent(8, |definition| define(client, definition)).await?;
    for one in &installed {
        for object in announced(&site, *one, &parts::labels(one.0.system)) {
            announce(client, namespace, &object).await?;
        }
    }
    Ok(())
}

/// Tells the API server of a webhook: its Service, and its configurations.
async fn announce(client: &Client, namespace: &str, object: &Value) -> Result<()> {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    match object["kind"].as_str() {
        Some("Service") => apply(&Api::<Service>::namespaced(client.clone(), namespace), name, object).await,
        Some("MutatingWebhookConfiguration") => {
            apply(&Api::<MutatingWebhookConfiguration>::all(client.clone()), name, object).await
        }
        _ => apply(&Api::<ValidatingWebhookConfiguration>::all(client.clone()), name, object).await,
    }
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
