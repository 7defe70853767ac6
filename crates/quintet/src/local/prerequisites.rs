//! What operators expect to find on a cluster: namespaces, definitions, rights.

use anyhow::{Context, Result};
use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Patch, PatchParams};
use kube::runtime::wait::{await_condition, conditions};
use kube::{Api, Client, ResourceExt};
use serde_json::json;

use super::standins::{self, Platform};
use crate::systems::Systems;

const MANAGER: &str = "quintet-up";

/// Makes them; running it again changes nothing.
pub async fn install(client: &Client, systems: &Systems, platform: Platform, namespace: &str) -> Result<()> {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let home = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
    namespaces
        .patch(namespace, &PatchParams::apply(MANAGER).force(), &Patch::Apply(home))
        .await
        .with_context(|| format!("making namespace {namespace}"))?;
    let ours = systems.iter().flat_map(|s| s.crds());
    let all: Vec<_> = ours.chain(standins::definitions(platform)).collect();
    stream::iter(all).map(Ok).try_for_each_concurrent(8, |definition| define(client, definition)).await
}

async fn define(client: &Client, definition: CustomResourceDefinition) -> Result<()> {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    let name = definition.name_any();
    api.patch(&name, &PatchParams::apply(MANAGER).force(), &Patch::Apply(&definition))
        .await
        .with_context(|| format!("installing {name}"))?;
    await_condition(api, &name, conditions::is_crd_established())
        .await
        .with_context(|| format!("waiting for {name} to be served"))?;
    Ok(())
}
