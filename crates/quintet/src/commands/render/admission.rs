//! What an API server that has our definitions says to an object: schema, rules and unknown fields, in its own words.

use anyhow::{Context, Result};
use http::Request;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api, Client,
    api::{Patch, PatchParams, PostParams},
};
use plane::Plane;
use serde_json::{Value, json};

use super::group;
use crate::client::manifests::Manifest;
use crate::errors::{Exit, Refusal};
use crate::systems::Systems;

/// An API server in this process with the definitions of all systems.
pub(super) struct Admission {
    client: Client,
    definitions: Vec<CustomResourceDefinition>,
}

impl Admission {
    pub(super) async fn new(systems: &Systems) -> Result<Self> {
        let client = Plane::new().client();
        let definitions: Vec<_> = systems.iter().flat_map(|system| system.crds()).collect();
        let api: Api<CustomResourceDefinition> = Api::all(client.clone());
        for definition in &definitions {
            api.create(&PostParams::default(), definition).await.context("installing our own definitions")?;
        }
        Ok(Admission { client, definitions })
    }

    /// Refuses what the server would refuse. Nothing is stored.
    pub(super) async fn check(&self, manifest: &Manifest) -> Result<()> {
        let is_its = |d: &&CustomResourceDefinition| {
            d.spec.group == group(manifest.api_version()) && d.spec.names.kind == manifest.kind()
        };
        let Some(definition) = self.definitions.iter().find(is_its) else { return Ok(()) }; // not ours to define
        let served = definition.spec.versions.iter().filter(|version| version.served);
        let served: Vec<String> = served.map(|v| format!("{}/{}", definition.spec.group, v.name)).collect();
        if !served.iter().any(|version| version == manifest.api_version()) {
            let what = format!("{} is not served as {}", manifest.kind(), manifest.api_version());
            return Err(Refusal::new(Exit::Failed, what)
                .next(format!("apiVersion: {}", served.join(", ")))
                .into());
        }
        let mut place = format!("/apis/{}", manifest.api_version());
        if definition.spec.scope == "Namespaced" {
            let namespace = manifest.namespace().unwrap_or("default");
            self.make_namespace(namespace).await?;
            place.push_str(&format!("/namespaces/{namespace}"));
        }
        let uri = format!("{place}/{}?dryRun=All&fieldValidation=Strict", definition.spec.names.plural);
        let request = Request::post(uri).header("content-type", "application/json");
        let body = serde_json::to_vec(&as_written(&manifest.object)).context("writing the object as JSON")?;
        self.client.request::<Value>(request.body(body).context("asking")?).await?;
        Ok(())
    }

    async fn make_namespace(&self, name: &str) -> Result<()> {
        let api: Api<k8s_openapi::api::core::v1::Namespace> = Api::all(self.client.clone());
        let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
        api.patch(name, &PatchParams::apply("quintet"), &Patch::Apply(&namespace)).await?;
        Ok(())
    }
}

/// The object without what a server fills in, so that one that was read from a cluster can be asked about.
fn as_written(object: &Value) -> Value {
    const WRITTEN: [&str; 4] = ["name", "namespace", "labels", "annotations"];
    let mut object = object.clone();
    if let Some(fields) = object.as_object_mut() {
        fields.remove("status");
        if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.retain(|field, _| WRITTEN.contains(&field.as_str()));
        }
    }
    object
}
